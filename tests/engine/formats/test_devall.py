"""DevAll graphs become topologies: what each field turns into, what is refused, what is told."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import yaml

from workbench.engine.formats import read_foreign

CASES = Path(__file__).parent / "data" / "devall"
S, T = {"id": "S", "type": "passthrough", "config": {}}, {"id": "T", "type": "passthrough", "config": {}}


def graph(nodes=(S, T), edges=(), **fields):
    return {"id": "g", "nodes": list(nodes), "edges": list(edges), "start": "S", "end": "T", **fields}


def imported(document, **root):
    document = {"graph": document, **root} if isinstance(document, dict) else document
    text = document if isinstance(document, str) else yaml.safe_dump(document, sort_keys=False)
    found = read_foreign("g.yaml", text)
    assert found.format == "devall"
    return found


def node(kind, **config):
    found = imported(graph([S, {"id": "N", "type": kind, "config": config}, T]))
    return found.topology["nodes"]["N"], found


def edge(**fields):
    found = imported(graph(edges=[{"from": "S", "to": "T", **fields}]))
    made = dict(found.topology["edges"][0])
    return {key: value for key, value in made.items() if key not in ("from", "to")}, found


def codes(found):
    return [(problem.code, problem.path) for problem in found.problems]


def said(found):
    return "\n".join([*found.notes, *(problem.message for problem in found.problems)])


NODES = [
    ("literal", {"content": "{{ x }}"}, {"content": "{{ x }}"}),
    ("literal", {"content": ""}, {"content": ""}),
    ("passthrough", {}, {}),
    ("passthrough", {"only_last_message": False}, {"all": True}),
    ("loop_counter", {}, {"count": 10, "message": "Loop limit reached (10)"}),
    ("loop_counter", {"max_iterations": 3, "message": "enough"}, {"count": 3, "message": "enough"}),
    ("loop_timer", {}, {"seconds": 60, "message": "Time limit reached (60 seconds)"}),
    (
        "loop_timer",
        {"max_duration": 1.5, "duration_unit": "minutes", "message": "m", "passthrough": True},
        {"seconds": 90.0, "message": "m", "forward": True},
    ),
    ("python", {}, {"timeout_s": 60}),
    ("python", {"timeout_seconds": 5, "interpreter": "python3"}, {"timeout_s": 5}),
    ("human", {"description": "Good, {{ user }}?"}, {"question": "Good, {{ '{{' }} user }}?"}),
    (
        "agent",
        {
            "provider": "openai", "name": "gpt-4o", "role": "Say {{ this }}.", "input_mode": "prompt",
            "params": {"temperature": 0.1, "max_tokens": 50, "stop": "END", "tool_loop_limit": 7},
            "tooling": [{"type": "function", "config": {"tools": [{"name": "read_file"}]}}],
        },
        {
            "system": "Say {{ '{{' }} this }}.", "prompt": "{{ inbox }}", "model": "openai_compatible/gpt-4o",
            "params": {"temperature": 0.1, "max_output_tokens": 50, "stop": ["END"]}, "tools": ["read_file"],
            "max_steps": 7,
        },
    ),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "config", "expected"), NODES, ids=[f"{c[0]}-{n}" for n, c in enumerate(NODES)])
def test_a_node_becomes_a_node(kind, config, expected):
    made, found = node(kind, **config)

    assert found.problems == []
    assert made == {"type": kind, **expected}


EDGES = [
    ({}, {}),
    ({"trigger": True, "condition": "true", "carry_data": True, "keep_message": False, "process": None}, {}),
    ({"trigger": False}, {"trigger": False}),
    ({"carry_data": False}, {"carry": False}),
    ({"keep_message": True}, {"keep": True}),
    ({"clear_context": True}, {"clear": "inbox"}),
    ({"clear_kept_context": True}, {"clear": "kept"}),
    ({"clear_context": True, "clear_kept_context": True}, {"clear": "all"}),
    ({"condition": True}, {}),
    ({"condition": False}, {"when": {"not": {"matches": ".*"}}}),
    ({"condition": "contains_keyword"}, {"when": {"contains_any": ["trigger"], "case_sensitive": False}}),
    ({"condition": {"type": "function", "config": {"name": "length_greater_than_5"}}},
     {"when": {"matches": "(?s).{6}"}}),
    ({"condition": {"type": "keyword", "config": {"any": ["a"]}}}, {"when": {"contains_any": ["a"]}}),
    (
        {"condition": {"type": "keyword",
                       "config": {"any": ["a"], "none": ["b"], "regex": ["c+"], "case_sensitive": False}}},
        {
            "when": {
                "all": [
                    {"contains_none": ["b"], "case_sensitive": False},
                    {"any": [{"contains_any": ["a"], "case_sensitive": False}, {"matches": "c+", "case_sensitive": False}]},
                ]
            }
        },
    ),
    (
        {"process": {"type": "regex_extract", "config": {"pattern": "a", "case_sensitive": False, "dotall": True}}},
        {"transform": {"regex": "(?is)a", "group": 0, "on_no_match": "keep"}},
    ),
    (
        {
            "process": {
                "type": "regex_extract",
                "config": {
                    "pattern": "(a)(b)", "group": "2", "multiple": True, "template": "<{match}>",
                    "on_no_match": "default", "default_value": "none",
                },
            }
        },
        {
            "transform": {
                "regex": "(a)(b)", "group": 2, "all": True, "template": "<{match}>",
                "on_no_match": {"default": "none"},
            }
        },
    ),
    ({"dynamic": {"type": "map", "split": None}}, {"map": {"split": "messages", "max_parallel": 10}}),
    (
        {"dynamic": {"type": "tree", "split": {"type": "json_path", "config": {"json_path": "a.b"}},
                     "config": {"group_size": 2}}},
        {"map": {"split": {"json": "a.b"}, "max_parallel": 10}, "reduce": {"group_size": 2}},
    ),
    (
        {"dynamic": {"type": "map", "split": {"type": "regex", "config": {"pattern": "(a)b"}},
                     "config": {"max_parallel": 3}}},
        {"map": {"split": {"regex": "(a)b", "group": 0}, "max_parallel": 3}},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "expected"), EDGES)
def test_an_edge_becomes_an_edge(fields, expected):
    made, found = edge(**fields)

    assert found.problems == []
    assert made == expected


def test_conditions_on_code_ask_whether_its_node_failed():
    python = {"id": "P", "type": "python", "config": {}}
    edges = [
        {"from": "S", "to": "P"},
        {"from": "P", "to": "T", "condition": "code_pass"},
        {"from": "P", "to": "S", "condition": "code_fail"},
    ]

    found = imported(graph([S, python, T], edges))

    assert found.topology["nodes"]["P"]["on_error"] == "continue"
    assert found.topology["edges"][1:] == [
        {"from": "P", "to": "T"},
        {"from": "P", "to": "S", "when": {"status": "failed"}},
    ]


FAULTS = [
    ("unknown_key", "/verison", {"verison": 1}, graph()),
    ("unknown_key", "/graph/edge", {}, graph(edge=[])),
    ("misplaced_vars", "/graph/vars", {}, graph(vars={"a": 1})),
    ("unknown_key", "/graph/nodes/0/confg", {}, graph([{**S, "confg": {}}, T])),
    ("unknown_type", "/graph/nodes/0/type", {}, graph([{**S, "type": "pasthrough"}, T])),
    ("missing_key", "/graph/nodes/0/config", {}, graph([{"id": "S", "type": "passthrough"}, T])),
    ("missing_key", "/graph/nodes/0/config/content", {}, graph([{**S, "type": "literal"}, T])),
    ("unknown_key", "/graph/nodes/0/config/contnt", {}, graph([{**S, "type": "literal", "config": {"contnt": "x"}}, T])),
    ("bad_value", "/graph/nodes/0/config/content", {}, graph([{**S, "type": "literal", "config": {"content": 42}}, T])),
    ("bad_value", "/graph/nodes/0/id", {}, graph([{**S, "id": 1}, T])),
    ("duplicate_id", "/graph/nodes/1/id", {}, graph([S, S, T])),
    ("bad_value", "/graph/nodes/0", {}, graph(["S", T])),
    ("unknown_role", "/graph/nodes/0/config/role", {},
     graph([{**S, "type": "literal", "config": {"content": "x", "role": "usr"}}, T])),
    ("unknown_start", "/graph/start", {}, graph(start=["Q"])),
    ("edge_to_nowhere", "/graph/edges/0/to", {}, graph(edges=[{"from": "S", "to": "Q"}])),
    ("bad_value", "/graph/edges/0/trigger", {}, graph(edges=[{"from": "S", "to": "T", "trigger": "no"}])),
    ("unknown_function", "/graph/edges/0/condition", {}, graph(edges=[{"from": "S", "to": "T", "condition": "tru"}])),
    ("unknown_function", "/graph/edges/0/condition/config/name", {},
     graph(edges=[{"from": "S", "to": "T", "condition": {"type": "function", "config": {"name": "mine"}}}])),
    ("unknown_type", "/graph/edges/0/condition/type", {},
     graph(edges=[{"from": "S", "to": "T", "condition": {"type": "keywrd", "config": {}}}])),
    ("missing_key", "/graph/edges/0/condition/config", {},
     graph(edges=[{"from": "S", "to": "T", "condition": {"type": "keyword", "config": {}}}])),
    ("bad_value", "/graph/edges/0/condition/config/any/0", {},
     graph(edges=[{"from": "S", "to": "T", "condition": {"type": "keyword", "config": {"any": [False]}}}])),
    ("bad_regex", "/graph/edges/0/condition/config/regex/0", {},
     graph(edges=[{"from": "S", "to": "T", "condition": {"type": "keyword", "config": {"regex": ["(?=a)"]}}}])),
    ("unknown_function", "/graph/edges/0/process/config/name", {},
     graph(edges=[{"from": "S", "to": "T", "process": {"type": "function", "config": {"name": "uppercase_payload"}}}])),
    ("unknown_type", "/graph/edges/0/dynamic/split/type", {},
     graph(edges=[{"from": "S", "to": "T", "dynamic": {"type": "map", "split": {"type": "mesage"}}}])),
    ("other_file", "/graph/nodes/0/config/config", {},
     graph([{**S, "type": "subgraph", "config": {"type": "file", "config": {"path": "/etc/x.yaml"}}}, T])),
    ("unknown_provider", "/graph/nodes/0/config/provider", {},
     graph([{**S, "type": "agent", "config": {"provider": "opnai", "name": "x"}}, T])),
    ("unknown_var", "/graph/nodes/0/config/content", {},
     graph([{**S, "type": "literal", "config": {"content": "${HOME}"}}, T])),
    ("bad_var", "/vars/B", {"vars": {"A": "x${B}", "B": "y${A}"}},
     graph([{**S, "type": "literal", "config": {"content": "${A}"}}, T])),
]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "path", "root", "document"), FAULTS, ids=[f"{c[0]}-{n}" for n, c in enumerate(FAULTS)]
)
def test_a_fault_is_named_with_its_place_in_the_file(code, path, root, document):
    assert (code, path) in codes(imported(document, **root))


def test_an_unknown_key_is_answered_with_the_nearest_known_one():
    found = imported((CASES / "edge_unknown_key.yaml").read_text())

    assert "'conditon'" in found.problems[0].message
    assert "'condition'" in found.problems[0].message


def test_every_fault_is_told_at_once():
    found = imported(graph([{**S, "x": 1}, {**T, "y": 2}], [{"from": "S", "to": "T", "z": 3}], q=4))

    assert len(found.problems) == 4


def test_variables_come_from_the_file_and_never_from_the_environment(monkeypatch):
    monkeypatch.setenv("SECRET", "taken")
    agent = {
        "provider": "openai",
        "name": "${MODEL}",
        "api_key": "${SECRET}",
        "role": "${WHO}",
        "params": {"top_k": "${K}"},
    }

    found = imported(
        graph([{**S, "type": "agent", "config": agent}, T]), vars={"WHO": "I am ${NAME}.", "NAME": "Bo", "K": 4}
    )

    made = found.topology["nodes"]["S"]
    assert found.problems == []
    assert made["system"] == "I am Bo."
    assert made["params"] == {"top_k": 4}
    assert "model" not in made
    assert "${MODEL}" in said(found)
    assert "${SECRET}" in said(found)
    assert "taken" not in said(found)


def test_variables_that_multiply_are_stopped():
    doubled = {f"v{n}": f"${{v{n + 1}}}" * 10 for n in range(9)} | {"v9": "x"}

    found = imported(graph([{**S, "type": "literal", "config": {"content": "${v0}"}}, T]), vars=doubled)

    assert "too_large" in [problem.code for problem in found.problems]


LEFT_OUT = [
    ("context_window -1", graph([{**S, "context_window": -1}, T])),
    ("initial instruction", graph(initial_instruction="Go.")),
    ("memory", graph(memory=[{"name": "m", "type": "simple", "config": {}}])),
    ("'output' beforehand", graph([{**S, "output": ["x"]}, T])),
    ("reset_on_emit", graph([{**S, "type": "loop_counter", "config": {"reset_on_emit": False}}, T])),
    ("'env'", graph([{**S, "type": "python", "config": {"env": {"A": "b"}}}, T])),
    ("apply_text_edits", graph([{**S, "type": "agent", "config": {"name": "m", "tooling": [
        {"type": "function", "config": {"tools": [{"name": "apply_text_edits"}]}}]}}, T])),
    ("mcp_local", graph([{**S, "type": "agent", "config": {"name": "m", "tooling": [
        {"type": "mcp_local", "config": {"command": "x"}}]}}, T])),
    ("reflection", graph([{**S, "type": "agent", "config": {"name": "m", "thinking": {"type": "reflection"}}}, T])),
    ("Memories", graph([{**S, "type": "agent", "config": {"name": "m", "memories": [{"name": "x"}]}}, T])),
    ("retry", graph([{**S, "type": "agent", "config": {"name": "m", "retry": {"enabled": True}}}, T])),
    ("Skills", graph([{**S, "type": "agent", "config": {"name": "m", "skills": {"enabled": True}}}, T])),
    ("'logprobs'", graph([{**S, "type": "agent", "config": {"name": "m", "params": {"logprobs": 3}}}, T])),
    ("Gemini", graph([{**S, "type": "agent", "config": {"name": "m", "provider": "gemini"}}, T])),
]  # fmt: skip


@pytest.mark.parametrize(("word", "document"), LEFT_OUT, ids=[case[0] for case in LEFT_OUT])
def test_what_is_left_out_is_told_in_a_note(word, document):
    found = imported(document)

    assert found.problems == []
    assert word in "\n".join(found.notes)


def test_ids_that_are_none_here_become_labels():
    names = ["Round Gate", "Round_Gate", "start", "写手", "9 lives", "x" * 90]
    nodes = [{"id": name, "type": "passthrough", "config": {}} for name in names]
    edges = [{"from": before, "to": after} for before, after in itertools.pairwise(names)]

    found = imported(graph(nodes, edges, start=names[0], end=[names[-1]]))

    ids = {foreign: own for own, foreign in found.foreign_ids.items()}
    assert list(ids) == names
    assert ids["Round_Gate"] == "Round_Gate"
    assert ids["Round Gate"] == "Round_Gate_2"
    assert found.topology["nodes"]["Round_Gate_2"] == {"type": "passthrough", "label": "Round Gate"}
    assert "label" not in found.topology["nodes"]["Round_Gate"]
    assert len(ids["x" * 90]) == 64
    assert [edge["from"] for edge in found.topology["edges"]] == [ids[name] for name in names[:-1]]


def test_equal_edges_are_merged_and_different_ones_are_kept():
    found = imported((CASES / "loop_demo.yaml").read_text())

    assert [(edge["from"], edge["to"]) for edge in found.topology["edges"]].count(("Round_Gate", "Author")) == 1
    assert any("Round Gate → Author" in note and "duplicate" in note for note in found.notes)
    assert len(imported((CASES / "edge_duplicate_last_wins.yaml").read_text()).topology["edges"]) == 2


def test_places_lead_back_to_the_file():
    found = imported((CASES / "loop_demo.yaml").read_text())

    assert found.places["/nodes/Round_Gate"] == "/graph/nodes/2"
    assert found.places["/edges/4"] == "/graph/edges/4"


def test_the_hundred_rounds_become_a_limit_and_only_the_outermost_graph_has_limits():
    inner = {"type": "config", "config": graph()}

    found = imported(graph([S, {"id": "N", "type": "subgraph", "config": inner}, T]))

    assert found.topology["limits"] == {"visits_per_node": 100}
    nested = found.topology["nodes"]["N"]
    assert nested["type"] == "topology"
    assert nested["topology"]["start"] == ["S"]
    assert "limits" not in nested["topology"]


def test_majority_voting_becomes_a_vote_that_does_not_clash():
    nodes = [{"id": name, "type": "literal", "config": {"content": name}} for name in ("a", "vote")]

    found = imported({"id": "g", "is_majority_voting": True, "nodes": nodes, "edges": []})

    assert found.topology["start"] == ["a", "vote"]
    assert found.topology["end"] == ["vote_2"]
    assert found.topology["nodes"]["vote_2"] == {"type": "vote", "by": "majority", "normalise": False}


def test_the_only_sink_is_the_end_where_none_is_named():
    found = imported(graph(edges=[{"from": "S", "to": "T"}], end=[]))

    assert found.topology["end"] == ["T"]
    assert any("no end" in note for note in found.notes)


def test_json_is_yaml_too():
    assert imported('{"graph": {"id": "g", "nodes": [], "edges": []}}').topology is not None


@pytest.mark.parametrize(
    "text", ["graph:", "graph: 3", "graph: {nodes: 3, edges: {}}", "graph: [", "graph: {}\ngraph: {}"]
)
def test_no_text_brings_the_importer_down(text):
    assert imported(text).problems
