"""Each sentence of TOPOLOGY.md §3 that applies has a case here: what is wrong, where, and that it is said."""

from __future__ import annotations

import itertools
import json
import time

import pytest

from tests.engine.support import SHELF, Shelf, agent, asks, problems_of, topology

LITERAL = {"type": "literal", "content": "x"}
PASS = {"type": "passthrough"}
ROUTER = {"type": "router", "system": "S", "prompt": "{{ inbox }}", "model": "scripted/x"}
VERDICT = {"json_schema": {"type": "object", "properties": {"verdict": {"enum": ["yes", "no"]}}}}
YES, NO = {"when": {"field": "verdict", "equals": "yes"}}, {"when": {"field": "verdict", "equals": "no"}}


def line(node, **fields):
    """node → end, to try one node in."""
    return topology({"n": node, "end_": PASS}, [("n", "end_")], **fields)


def loop(*edges, **fields):
    return topology({"w": asks("p"), "r": asks("p"), "t": PASS}, [("w", "r"), *edges], **fields)


ERRORS = [
    ("unknown_key", "/edge", line(LITERAL) | {"edge": []}),
    ("unknown_key", "/nodes/n/conten", line({**LITERAL, "conten": "y"})),
    ("unknown_key", "/edges/0/whn", topology({"a": LITERAL, "b": PASS}, [("a", "b", {"whn": {}})])),
    ("unknown_key", "/defaults/params/temprature", line(LITERAL, defaults={"params": {"temprature": 1}})),
    ("unknown_key", "/nodes/n/params/top", line(asks(params={"top": 1}))),
    ("unknown_key", "/nodes/n/output/json_shema", line(asks(output={"json_shema": {}}))),
    ("missing_key", "/nodes/n/content", line({"type": "literal"})),
    ("missing_key", "/nodes", {"format": "workbench.topology/1", "name": "x", "start": [], "end": []}),
    ("not_an_object", "", []),
    ("unknown_format", "/format", line(LITERAL) | {"format": "other/1"}),
    ("newer_format", "/format", line(LITERAL) | {"format": "workbench.topology/2"}),
    ("bad_value", "/limits/tokens", line(LITERAL, limits={"tokens": "many"})),
    ("bad_value", "/nodes/n/params/temperature", line(asks(params={"temperature": -1}))),
    ("unknown_type", "/nodes/n/type", line({"type": "agnt"})),
    ("unknown_agent", "/nodes/n/agent", line({"type": "agent", "agent": "wrter", "model": "scripted/x"})),
    ("unknown_tool", "/nodes/n/tools/0", line(asks(tools=["read_fil"]))),
    ("unknown_provider", "/nodes/n/model", line(asks(model="olama/x"))),
    ("no_model", "/nodes/n/model", line({"type": "agent", "system": "S"})),
    ("bad_id", "/nodes/1a", topology({"1a": LITERAL, "b": PASS}, [("1a", "b")])),
    ("bad_id", "/nodes/a~1b", topology({"a/b": LITERAL, "b": PASS}, [("a/b", "b")])),
    ("reserved_id", "/nodes/inbox", topology({"inbox": LITERAL, "b": PASS}, [("inbox", "b")])),
    ("edge_to_nowhere", "/edges/0/to", topology({"a": LITERAL, "b": PASS}, [("a", "bb"), ("a", "b")])),
    ("edge_to_nowhere", "/edges/0/from", topology({"a": LITERAL, "b": PASS}, [("x", "b"), ("a", "b")])),
    ("identical_edges", "/edges/1", topology({"a": LITERAL, "b": PASS}, [("a", "b"), ("a", "b")])),
    (
        "edge_without_effect",
        "/edges/1",
        topology({"a": LITERAL, "b": PASS}, [("a", "b"), ("a", "b", {"carry": False, "trigger": False})]),
    ),
    ("bad_condition", "/edges/0/when", topology({"a": LITERAL, "b": PASS}, [("a", "b", {"when": {"says": "x"}})])),
    (
        "bad_regex",
        "/edges/0/when/matches",
        topology({"a": LITERAL, "b": PASS}, [("a", "b", {"when": {"matches": "("}})]),
    ),
    (
        "otherwise_on_data_edge",
        "/edges/1/when",
        topology({"a": LITERAL, "b": PASS}, [("a", "b"), ("a", "b", {"trigger": False, "when": {"otherwise": True}})]),
    ),
    ("no_start", "/start", line(LITERAL, start=[])),
    ("unknown_start", "/start/0", line(LITERAL, start=["m"])),
    ("duplicate_start", "/start/1", line(LITERAL, start=["n", "n"])),
    ("no_end", "/end", line(LITERAL, end=[])),
    ("unknown_end", "/end/0", line(LITERAL, end=["m"])),
    ("unreachable_end", "/nodes/c", topology({"a": LITERAL, "b": PASS, "c": PASS}, [("a", "b")], end=["b", "c"])),
    ("unreachable", "/nodes/u", topology({"a": LITERAL, "u": LITERAL, "b": PASS}, [("a", "b"), ("u", "b")])),
    (
        "unreachable",
        "/nodes/u",
        topology({"a": LITERAL, "u": PASS, "b": PASS}, [("a", "b"), ("a", "u", {"trigger": False}), ("u", "b")]),
    ),
    ("no_path_to_end", "/nodes/d", topology({"a": LITERAL, "d": PASS, "b": PASS}, [("a", "b"), ("a", "d")])),
    ("endless_cycle", "/nodes/w", topology({"w": asks("p"), "r": asks("p")}, [("w", "r"), ("r", "w")], end=["r"])),
    ("router_without_choice", "/nodes/n", line(ROUTER)),
    (
        "unknown_target",
        "/nodes/n/rules/0/to/0",
        topology(
            {
                "n": {"type": "router", "mode": "rules", "rules": [{"when": {"contains_any": ["x"]}, "to": ["c"]}]},
                "a": PASS,
                "b": PASS,
            },
            [("n", "a"), ("n", "b")],
            end=["a", "b"],
        ),
    ),
    (
        "unknown_target",
        "/nodes/n/on_unclear",
        topology({"n": {**ROUTER, "on_unclear": "c"}, "a": PASS, "b": PASS}, [("n", "a"), ("n", "b")], end=["a", "b"]),
    ),
    (
        "no_rules",
        "/nodes/n/rules",
        topology(
            {"n": {"type": "router", "mode": "rules"}, "a": PASS, "b": PASS}, [("n", "a"), ("n", "b")], end=["a", "b"]
        ),
    ),
    ("unknown_name", "/nodes/n/prompt", line(asks("{{ instnce.problem }}"))),
    ("unknown_name", "/nodes/n/prompt", line(asks("{{ instance.problm }}"))),
    ("unknown_name", "/nodes/n/prompt", line(asks("{{ nodes.zz.output }}"))),
    ("unknown_name", "/nodes/n/prompt", line(asks("{{ nodes.n.outputs | default('') }}"))),
    ("unknown_name", "/nodes/n/prompt", line(asks("{{ vars.tone }}"), vars={"tune": 1})),
    ("unknown_name", "/nodes/n/system", line(asks(system="{{ visit.number }}"))),
    ("bad_prompt", "/nodes/n/prompt", line(asks("{% if %}"))),
    ("never_has_value", "/nodes/a/prompt", topology({"a": asks("{{ nodes.b.output }}"), "b": PASS}, [("a", "b")])),
    ("never_has_value", "/nodes/n/prompt", line(asks("{{ nodes.n.output }}"))),
    (
        "may_have_no_value",
        "/nodes/c/prompt",
        topology(
            {"a": asks("p", output=VERDICT), "b": asks("p"), "c": asks("{{ nodes.b.output }}")},
            [("a", "b", YES), ("a", "c", NO), ("b", "c")],
        ),
    ),
    (
        "may_have_no_value",
        "/nodes/w/prompt",
        topology(
            {"w": asks("{{ nodes.r.output }}"), "r": asks("p", output=VERDICT), "t": PASS},
            [("w", "r"), ("r", "w", NO), ("r", "t", YES)],
        ),
    ),
    (
        "may_have_no_value",
        "/nodes/t/prompt",
        topology(
            {"s": LITERAL, "a": asks("p"), "b": asks("p"), "t": {**asks("{{ nodes.b.output }}"), "join": "first"}},
            [("s", "a"), ("s", "b"), ("a", "t"), ("b", "t")],
        ),
    ),
    ("bad_schema", "/nodes/n/output/json_schema/type", line(asks(output={"json_schema": {"type": "objekt"}}))),
    ("json_with_tools", "/nodes/n/output", line(asks(model="ollama/x", tools=["read_file"], output=VERDICT))),
    ("unpriced_model", "/limits/cost_usd", line(asks(model="ollama/x"), limits={"cost_usd": 1})),
    ("bad_choice", "/nodes/n/choices/1", line({"type": "human", "choices": ["yes", "yes"]})),
    ("default_without_timeout", "/nodes/n/on_timeout", line({"type": "human", "on_timeout": {"default": "yes"}})),
    (
        "default_no_choice",
        "/nodes/n/on_timeout/default",
        line({"type": "human", "choices": ["yes", "no"], "timeout_s": 9, "on_timeout": {"default": "maybe"}}),
    ),
]

BOTH = [("s", "a", YES), ("s", "b", NO), ("a", "t"), ("b", "t")]
ERRORS += [
    ("bad_transform", "/edges/0/transform", topology({"a": LITERAL, "b": PASS}, [("a", "b", {"transform": {}})])),
    (
        "bad_transform",
        "/edges/0/transform",
        topology({"a": LITERAL, "b": PASS}, [("a", "b", {"transform": {"regex": "a", "json": "b"}})]),
    ),
    (
        "bad_transform",
        "/edges/0/transform/template",
        topology({"a": LITERAL, "b": PASS}, [("a", "b", {"transform": {"regex": "a", "template": "x"}})]),
    ),
    (
        "bad_transform",
        "/edges/0/transform/group",
        topology({"a": LITERAL, "b": PASS}, [("a", "b", {"transform": {"tag": "x", "group": 1}})]),
    ),
    (
        "bad_regex",
        "/edges/0/transform/regex",
        topology({"a": LITERAL, "b": PASS}, [("a", "b", {"transform": {"regex": "("}})]),
    ),
    (
        "bad_regex",
        "/edges/0/transform/group",
        topology({"a": LITERAL, "b": PASS}, [("a", "b", {"transform": {"regex": "a", "group": 1}})]),
    ),
    (
        "unknown_key",
        "/edges/0/transform/regx",
        topology({"a": LITERAL, "b": PASS}, [("a", "b", {"transform": {"regx": "a"}})]),
    ),
    (
        "bad_value",
        "/edges/0/transform/on_no_match",
        topology({"a": LITERAL, "b": PASS}, [("a", "b", {"transform": {"regex": "a", "on_no_match": 7}})]),
    ),
    ("bad_map", "/edges/0/map/split", topology({"a": LITERAL, "b": PASS}, [("a", "b", {"map": {"split": {}}})])),
    (
        "map_without_units",
        "/edges/0/map",
        topology({"a": LITERAL, "b": PASS}, [("a", "b", {"map": {}, "carry": False})]),
    ),
    (
        "map_without_units",
        "/edges/1/map",
        topology({"a": LITERAL, "b": PASS}, [("a", "b"), ("a", "b", {"map": {}, "trigger": False})]),
    ),
    (
        "reduce_without_map",
        "/edges/0/reduce",
        topology({"a": LITERAL, "b": PASS}, [("a", "b", {"reduce": {"group_size": 2}})]),
    ),
    (
        "bad_value",
        "/edges/0/reduce/group_size",
        topology({"a": LITERAL, "b": PASS}, [("a", "b", {"map": {}, "reduce": {"group_size": 1}})]),
    ),
    (
        "all_of_exclusive",
        "/nodes/t/join",
        topology({"s": asks("p", output=VERDICT), "a": PASS, "b": PASS, "t": {**PASS, "join": "all"}}, BOTH),
    ),
    (
        "all_of_exclusive",
        "/nodes/t/join",
        topology(
            {"s": ROUTER, "a": PASS, "b": PASS, "t": {**PASS, "join": "all"}},
            [("s", "a"), ("s", "b"), ("a", "t"), ("b", "t")],
        ),
    ),
    ("tool_not_allowed", "/nodes/n/tools", line(asks("Call read_file on every file.", tools=["write_file"]))),
    ("tool_not_allowed", "/nodes/n/tools", line(asks(system="You have `list_files`."))),
    (
        "router_in_map",
        "/edges/0/map",
        topology(
            {"a": LITERAL, "n": ROUTER, "b": PASS, "c": PASS},
            [("a", "n", {"map": {}}), ("n", "b"), ("n", "c")],
            end=["b", "c"],
        ),
    ),
    (
        "first_enters_cycle",
        "/nodes/w/join",
        topology(
            {"s": LITERAL, "w": {**PASS, "join": "first"}, "r": PASS, "t": PASS},
            [("s", "w"), ("w", "r"), ("r", "w", {"max": 2}), ("r", "t", {"when": {"contains_any": ["x"]}})],
        ),
    ),
    ("bad_value", "/nodes/n/count", line({"type": "loop_counter", "count": 0})),
    ("unknown_key", "/nodes/n/sconds", line({"type": "loop_timer", "sconds": 1})),
]

WARNINGS = [
    (
        "data_never_arrives",
        "/edges/1",
        topology({"a": LITERAL, "b": PASS}, [("a", "b"), ("b", "a", {"trigger": False})]),
    ),
    (
        "data_never_arrives",
        "/edges/1",
        topology({"a": LITERAL, "b": PASS}, [("a", "b"), ("a", "a", {"trigger": False})]),
    ),
    ("loop_runs_once", "/edges/2", loop(("r", "w", {"max": 3}), ("r", "t"))),
    (
        "edge_between_entries",
        "/edges/2",
        topology(
            {"s": LITERAL, "w": PASS, "r": PASS, "t": PASS},
            [
                ("s", "w"),
                ("s", "r"),
                ("w", "r"),
                ("r", "w", {"when": {"contains_any": ["x"]}}),
                ("r", "t", {"when": {"contains_none": ["x"]}}),
            ],
        ),
    ),
    ("empty_inbox", "/nodes/b", topology({"a": LITERAL, "b": PASS}, [("a", "b", {"carry": False})])),
    (
        "limit_too_small",
        "/limits/model_calls",
        topology({"a": asks("p"), "b": asks("p"), "c": PASS}, [("a", "b"), ("b", "c")], limits={"model_calls": 1}),
    ),
    (
        "parallel_writers",
        "/nodes/a/tools",
        topology(
            {"s": LITERAL, "a": asks("p", tools=["write_file"]), "b": asks("p", tools=["write_file"]), "t": PASS},
            [("s", "a"), ("s", "b"), ("a", "t"), ("b", "t")],
        ),
    ),
    (
        "all_in_cycle",
        "/nodes/r/join",
        topology(
            {"w": PASS, "r": {**PASS, "join": "all"}, "t": PASS},
            [("w", "r"), ("r", "w", {"max": 2}), ("r", "t", {"when": {"contains_any": ["x"]}})],
        ),
    ),
    (
        "parallel_writers",
        "/nodes/b",
        topology(
            {
                "s": LITERAL,
                "a": {"type": "python", "code": "1"},
                "b": {"type": "tool", "tool": "write_file", "args": {"path": "x", "content": "y"}},
                "t": PASS,
            },
            [("s", "a"), ("s", "b"), ("a", "t"), ("b", "t")],
        ),
    ),
    (
        "parallel_writers",
        "/nodes/b/tools",
        topology(
            {
                "w": asks("p"),
                "a": asks("p", tools=["write_file"]),
                "b": asks("p", tools=["write_file"]),
                "r": PASS,
                "t": PASS,
            },
            [
                ("w", "a"),
                ("w", "b"),
                ("a", "r"),
                ("b", "r"),
                ("r", "w", {"when": {"contains_any": ["x"]}}),
                ("r", "t", {"when": {"contains_none": ["x"]}}),
            ],
        ),
    ),
    (
        "parallel_writers",
        "/nodes/n/tools",
        topology(
            {"s": LITERAL, "n": asks("p", tools=["write_file"]), "t": PASS}, [("s", "n", {"map": {}}), ("n", "t")]
        ),
    ),
    ("context_too_small", "/nodes/n/params", line(asks(tools=["read_file", "write_file"], params={"num_ctx": 100}))),
    ("context_too_small", "/nodes/n/params", line(asks("word " * 1000, params={"num_ctx": 1024}))),
    ("context_too_small", "/nodes/n/params", line(asks(params={"num_ctx": 1024, "max_output_tokens": 1024}))),
    ("no_prompt", "/nodes/n", line({"type": "agent", "model": "scripted/x"})),
]


@pytest.mark.parametrize(("code", "path", "document"), ERRORS, ids=[f"{code}{path}" for code, path, _ in ERRORS])
def test_error_is_named_with_its_place(code, path, document):
    problems = problems_of(document)

    assert (code, path) in [(problem.code, problem.path) for problem in problems if problem.severity == "error"], (
        problems
    )
    assert all(problem.message[0].isupper() or problem.message[0] in "'\"" for problem in problems)
    assert all(problem.message.endswith((".", "?", "…", "]", ")")) for problem in problems), problems


@pytest.mark.parametrize(("code", "path", "document"), WARNINGS, ids=[f"{code}{path}" for code, path, _ in WARNINGS])
def test_warning_is_named_with_its_place_and_stops_nothing(code, path, document):
    problems = problems_of(document)

    assert (code, path) in [(problem.code, problem.path) for problem in problems if problem.severity == "warning"], (
        problems
    )
    assert not [problem for problem in problems if problem.severity == "error"]


def test_deep_nest_of_loops_is_warned_of():
    names = ["n0", "n1", "n2", "n3", "n4", "n5"]
    back = {"when": {"contains_any": ["x"]}}
    edges = list(itertools.pairwise(names))
    edges += [
        ("n5", "n4", back),
        ("n5", "n3", {"when": {"contains_any": ["y"]}}),
        ("n5", "n2", {"when": {"contains_any": ["z"]}}),
        ("n5", "n1", {"when": {"contains_any": ["w"]}}),
    ]
    edges += [("n5", "t", {"when": {"contains_any": ["done"]}})]

    problems = problems_of(topology({**dict.fromkeys(names, PASS), "t": PASS}, edges))

    assert [problem.code for problem in problems] == ["deep_nesting"]


@pytest.mark.parametrize(
    "document",
    [
        topology(
            {
                "w": asks(
                    "{{ instance.problem }}{% if visit > 1 %}{{ nodes.r.output }}{{ nodes.w.output }}{% endif %}"
                ),
                "r": asks("{{ nodes.w.output }}", output=VERDICT),
                "t": PASS,
            },
            [("w", "r"), ("r", "w", NO), ("r", "t", YES)],
        ),
        topology(
            {"s": LITERAL, "a": asks("p"), "b": asks("p"), "t": asks("{{ nodes.a.output }}{{ nodes.b.output }}")},
            [("s", "a"), ("s", "b"), ("a", "t"), ("b", "t")],
        ),
        topology(
            {
                "a": asks("p", output=VERDICT),
                "p": PASS,
                "x": asks("p"),
                "y": asks("p"),
                "t": asks("{{ nodes.x.output }}{{ nodes.y.output }}"),
            },
            [("a", "p", YES), ("p", "x"), ("p", "y"), ("x", "t"), ("y", "t")],
        ),
        topology(
            {"a": asks("p", output=VERDICT), "b": asks("p"), "c": asks("{{ nodes.b.output | default('') }}")},
            [("a", "b", YES), ("a", "c", NO), ("b", "c")],
        ),
        topology({"a": asks("p"), "b": asks("p"), "c": asks("{{ nodes.a.output }}")}, [("a", "b"), ("b", "c")]),
        topology(
            {"a": asks("p"), "b": asks("{{ nodes.a.output }}")}, [("a", "b", {"trigger": False})], start=["a", "b"]
        ),
    ],
)
def test_names_that_surely_have_a_value_are_accepted(document):
    assert problems_of(document) == []


def test_never_has_value_says_which_edge_to_add():
    document = topology(
        {"s": LITERAL, "a": asks("p"), "b": asks("{{ nodes.a.output }}"), "t": PASS},
        [("s", "a"), ("s", "b"), ("a", "t"), ("b", "t")],
    )

    problem = problems_of(document)[0]

    assert '{"from": "a", "to": "b", "trigger": false}' in problem.hint


def test_every_problem_is_reported_at_once_even_beside_a_misspelt_key():
    document = topology({"a": LITERAL, "b": {"type": "nope"}}, [("a", "c", {"whn": 1}), ("a", "b")], end=["d"])

    codes = {problem.code for problem in problems_of(document)}

    assert {"unknown_key", "unknown_type", "edge_to_nowhere", "unknown_end"} <= codes


def test_misspelt_names_come_with_the_nearest_known_one():
    assert "'writer'" in problems_of(line({"type": "agent", "agent": "wrter", "model": "scripted/x"}))[0].message
    assert "'content'" in problems_of(line({**LITERAL, "conten": "y"}))[0].message
    assert "'ollama'" in problems_of(line(asks(model="olama/x")))[0].message
    assert "'n'" in problems_of(line(LITERAL, start=["nn"]))[0].message


def test_agent_of_the_catalogue_brings_its_tools_and_output_into_the_check():
    shelf = Shelf(agent("judge", output=VERDICT, tools=("read_file",)))

    problems = problems_of(line({"type": "agent", "agent": "judge", "model": "ollama/x"}), shelf)

    assert [problem.code for problem in problems] == ["json_with_tools"]


def test_nodes_that_write_side_by_side_are_all_named_on_each_of_them():
    writers = {name: asks("p", tools=["write_file"]) for name in "abc"}
    edges = [("s", name) for name in "abc"] + [(name, "last") for name in "abc"] + [("last", "t")]
    document = topology({"s": LITERAL, **writers, "last": asks("p", tools=["write_file"]), "t": PASS}, edges)

    problems = [problem for problem in problems_of(document) if problem.code == "parallel_writers"]

    assert [problem.path for problem in problems] == ["/nodes/a/tools", "/nodes/b/tools", "/nodes/c/tools"]
    assert all(f"'{name}'" in problem.message for problem in problems for name in "abc")
    assert not any("'last'" in problem.message for problem in problems)


def test_router_that_may_choose_both_does_not_make_a_join_of_all_impossible():
    rules = [{"when": {"contains_any": ["x"]}, "to": ["a", "b"]}, {"when": {"contains_none": ["x"]}, "to": ["a"]}]
    router = {"type": "router", "mode": "rules", "rules": rules}
    nodes = {"s": router, "a": PASS, "b": PASS, "t": {**PASS, "join": "all"}}

    assert problems_of(topology(nodes, [("s", "a"), ("s", "b"), ("a", "t"), ("b", "t")])) == []


@pytest.mark.parametrize("many", [
    topology({f"n{n}": PASS for n in range(3000)}, [(f"n{n}", f"m{n}") for n in range(6000)]),
    topology({f"n{n}": asks(f"{{{{ nodes.m{n}.output }}}}") for n in range(3000)},
             [(f"n{n}", f"n{n + 1}") for n in range(2999)]),
    topology({f"n{n}": PASS for n in range(3000)}, start=[f"m{n}" for n in range(3000)]),
], ids=["edges", "prompts", "starts"])  # fmt: skip
def test_thousands_of_misspelt_names_are_no_matter(many):
    text = json.dumps(many)
    began = time.process_time()

    problems = problems_of(text)

    assert len(problems) >= 3000
    assert sum("Did you mean" in problem.message for problem in problems) > 10
    assert time.process_time() - began < 10


def test_ten_thousand_nodes_are_checked_and_more_are_refused():
    names = [f"n{number}" for number in range(10_000)]
    document = topology(dict.fromkeys(names, PASS), list(itertools.pairwise(names)))
    began = time.process_time()

    assert problems_of(document) == []
    assert time.process_time() - began < 20

    document["nodes"]["more"] = PASS
    assert problems_of(document)[0].code == "too_many_nodes"


@pytest.mark.parametrize("value", [None, 1, "x", [], {}, [1], {"a": {}}, True])
@pytest.mark.parametrize(
    "key", ["nodes", "edges", "start", "end", "defaults", "limits", "vars", "layout", "name", "description", "format"]
)
def test_any_value_in_any_place_is_a_sentence(key, value):
    problems_of(line(LITERAL) | {key: value})


@pytest.mark.parametrize("value", [None, 1, "x", [], {}, [1], {"a": {}}, True, "{{"])
@pytest.mark.parametrize("kind", ["agent", "router", "vote", "literal", "passthrough"])
@pytest.mark.parametrize(
    "key",
    [
        "type",
        "label",
        "agent",
        "system",
        "prompt",
        "model",
        "params",
        "tools",
        "output",
        "mode",
        "rules",
        "on_unclear",
        "by",
        "content",
        "all",
        "max_steps",
        "on_error",
    ],
)
def test_any_value_in_any_field_of_a_node_is_a_sentence(kind, key, value):
    problems_of(line({"type": kind, "content": "x", key: value}), SHELF)


def test_problems_can_be_shown_whatever_the_document_holds():
    text = json.dumps(topology({"a\u202e<script>": LITERAL, "b": {"type": "\u0007"}}, []))

    for problem in problems_of(text):
        json.dumps(problem).encode()
        problem.message.encode()


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        (line(asks(model="gpt")), "'model' does not fit: it must be written PROVIDER/NAME, such as ollama/qwen3.5:9b"),
        (line(LITERAL, defaults=5), "'defaults' does not fit: it must be an object, in braces (it is 5)."),
        (line({"type": 7}), "'type' does not fit: it must be text (it is 7)."),
    ],
)
def test_a_value_that_does_not_fit_is_told_in_words_for_people(document, sentence):
    assert any(sentence in problem.message for problem in problems_of(document))
