"""OpenDraco graphs become topologies: agents inline, routers by structured choice, placeholders as names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.engine.support import problems_of, run
from workbench.engine.formats import read_foreign

CASES = Path(__file__).parent / "data" / "opendraco"
NAMES = ["chain_small", "fanout_unequal", "router_star", "tree_two_ends"]


def case(name):
    return json.loads((CASES / f"{name}.json").read_text())


def imported(document):
    found = read_foreign("g.json", json.dumps(document))
    assert found.format == "opendraco"
    return found


def small(block=None, **fields):
    agents = {
        "a": {"class": "Base agent", "model": "ollama/m", **(block or {})},
        "b": {"class": "Base agent", "tools": []},
    }
    return {"id": "g", "entry": "a", "end": "b", "edges": [{"from": "a", "to": "b"}], "agents": agents, **fields}


def codes(found):
    return [(problem.code, problem.path) for problem in found.problems]


def model_free(topology):
    """The topology with the scripted model throughout."""
    for node in topology["nodes"].values():
        node["model"] = "scripted/x"
    return topology


@pytest.mark.parametrize("name", NAMES)
def test_a_case_imports_and_validates(name):
    found = imported(case(name))

    assert found.problems == []
    assert problems_of(found.topology) == []


def test_a_chain_runs_to_its_end():
    result, _ = run(model_free(imported(case("chain_small")).topology), {"nodes": {"close": ["closed"]}})

    assert result.status == "succeeded"
    assert result.output == "closed"
    assert set(result.visits.values()) == {1}


def test_a_join_runs_once_with_both_results():
    said = {"quick_view": ["short"], "deep_notes": ["long"]}

    result, _ = run(model_free(imported(case("fanout_unequal")).topology), {"nodes": said})

    assert result.visits["merge"] == 1
    assert result.output == "Short: short\nLong: long"


def test_a_router_chooses_by_structured_output_until_the_closing_spoke():
    choices = [{"targets": [target]} for target in ("finder", "fixer", "checker", "fixer", "checker", "wrap_up")]
    said = {"hub": choices, "wrap_up": ["done"]}

    result, _ = run(model_free(imported(case("router_star")).topology), {"nodes": said})

    assert result.status == "succeeded"
    assert result.output == "done"
    assert result.visits == {"hub": 6, "finder": 1, "fixer": 2, "checker": 2, "wrap_up": 1}


def test_a_tree_ends_at_the_end_of_the_branch_that_was_chosen():
    said = {"sorter": [{"targets": ["find_text"]}], "find_text": ["line 3"]}

    result, _ = run(model_free(imported(case("tree_two_ends")).topology), {"nodes": said})

    assert result.outputs == {"text_fix": "Reword this: line 3"}
    assert "bug_fix" not in result.visits


def test_knobs_come_from_the_block_then_the_class_then_the_defaults():
    node = imported(small({"class": "Patcher", "temperature": 1, "num_predict": -1, "seed": 0})).topology["nodes"]["a"]

    assert node["params"] == {
        "temperature": 1, "stop": ["</patch>"], "top_p": 0.9, "num_ctx": 16384, "top_k": 40, "thinking": True,
    }  # fmt: skip


def test_prompts_keep_their_braces_and_name_what_they_named():
    user = 'In {workspace}: {issue} ({instance_id})\n{{"a": {"b": 1}}} {{{{ x }}}} {predecessor}'
    document = small()
    document["agents"]["b"]["prompts"] = {"system": "{{ {% {issue}", "user": user}

    node = imported(document).topology["nodes"]["b"]

    assert problems_of(imported(document).topology | {"defaults": {"model": "scripted/x"}}) == []
    result, _ = run(model_free(imported(document).topology), given="Fix {{ it }}")
    assert node["system"] == "{{ '{{' }} {{ '{%' }} {issue}"
    assert result.output == 'In .: Fix {{ it }} ()\n{"a": {"b": 1}} {{ x }} Fix {{ it }}'


FAULTS = [
    ("unknown_key", "/agents/a/temprature", small({"temprature": 1})),
    ("unknown_class", "/agents/a/class", small({"class": "Locater"})),
    ("missing_key", "/agents/a/class", small({"class": None})),
    ("unknown_provider", "/agents/a/model", small({"model": "antropic/x"})),
    ("bad_value", "/agents/a/think", small({"think": "much"})),
    ("unknown_placeholder", "/agents/a/prompts/user", small({"prompts": {"user": "{isue}"}})),
    ("unknown_key", "/agents/a/prompts/usr", small({"prompts": {"usr": "x"}})),
    ("unknown_key", "/agents/a/tools/0/nme", small({"tools": [{"nme": "x"}]})),
    ("unknown_key", "/edgs", small(edgs=[])),
    ("unknown_key", "/edges/0/when", small(edges=[{"from": "a", "to": "b", "when": 1}])),
    ("unknown_node", "/edges/0/to", small(edges=[{"from": "a", "to": "c"}])),
    ("unknown_node", "/entry", small(entry="c")),
    ("missing_key", "/end", small(end=[])),
    ("bad_value", "/agents", small(agents=[])),
]


@pytest.mark.parametrize(("code", "path", "document"), FAULTS, ids=[f"{c[0]}-{n}" for n, c in enumerate(FAULTS)])
def test_a_fault_is_named_with_its_place(code, path, document):
    assert (code, path) in codes(imported(document))


LEFT_OUT = [
    ("min_p", {"min_p": 0.1}),
    ("fallback", {"fallback": {"enabled": True}}),
    ("'R:x'", {"variant": "R:x"}),
    ("run_tests", {"tools": [{"name": "run_tests"}]}),
    ("Preset parameters", {"tools": [{"name": "read_file", "params": {"max_chars": 3}}]}),
    ("69 tools", {}),
    ("proxy", {"prompts": {"proxy": "x"}}),
    ("user prompt", {}),
    ("Gemini", {"model": "gemini/x"}),
    ("num_ctx", {"model": "openai/x", "num_ctx": 3}),
]


@pytest.mark.parametrize(("word", "block"), LEFT_OUT, ids=[case[0] for case in LEFT_OUT])
def test_what_is_left_out_is_told_in_a_note(word, block):
    found = imported(small(block))

    assert found.problems == []
    assert word in "\n".join(found.notes)


def test_the_state_that_the_editor_leaves_behind_is_no_fault():
    assert imported(small(state=[])).problems == []


@pytest.mark.parametrize("data", [{"agents": {}, "edges": []}, {"agents": {"a": 1}, "entry": 2, "end": {}, "edges": 3}])
def test_no_document_brings_the_importer_down(data):
    assert imported(data).problems
