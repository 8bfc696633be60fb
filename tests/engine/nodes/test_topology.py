"""Topologies nested in topologies: inline and by name, with limits, stop, failures and resume reaching inside."""

from __future__ import annotations

import time

from tests.engine.support import Shelf, asks, problems_of, run, topology
from workbench.engine.events import EVENT, MemoryJournal
from workbench.engine.planning import plan_topology
from workbench.engine.spec import TopologySpec

PASS = {"type": "passthrough"}
INNER = topology(
    {"a": asks("in: {{ instance.problem }} ({{ vars.tone }})"), "b": asks("{{ inbox }}", on_error="fail")},
    [("a", "b")],
    name="inner",
    vars={"tone": "plain"},
)


class Library(Shelf):
    """A catalogue that knows a topology too."""

    def __init__(self, *documents):
        super().__init__()
        self.documents = {document["name"]: TopologySpec.model_validate(document) for document in documents}

    def topology(self, reference):
        return self.documents.get(reference.partition("@")[0])


def outer(nested=INNER, **fields):
    return topology({"n": {"type": "topology", "topology": nested, **fields}, "t": PASS}, [("n", "t")], name="outer")


def test_nested_topology_starts_from_the_inbox_and_its_result_is_the_nodes_output():
    result, _ = run(outer(), {"nodes": {"a": ["A"], "b": ["B"]}}, given="hello")

    assert (result.status, result.output) == ("succeeded", "B")
    assert result.visits == {"n": 1, "n/a": 1, "n/b": 1, "t": 1}
    assert result.node_outputs["n/a"] == ["A"]
    assert result.usage.model_calls == 2


def test_inputs_set_vars_and_the_problem():
    _, journal = run(outer(inputs={"problem": "P-{{ inbox }}", "tone": "{{ instance.problem }}!"}), given="x")

    prompt = next(event for event in journal.events if event.kind == "model_called").messages[-1]["content"]
    assert prompt == "in: P-x (x!)"


def test_topology_of_the_library_is_frozen_into_the_plan():
    shelf = Library(INNER)
    document = outer("inner@abc")

    result, _ = run(document, {"default": "y"}, shelf=shelf)
    plan = plan_topology(TopologySpec.model_validate(document), shelf, overrides={"model": "scripted/other"})

    assert result.visits["n/b"] == 1
    assert plan.models() == {"scripted/other"}
    assert plan.nested()["n"].topology["name"] == "inner"


def test_trace_says_where_each_call_was_made():
    _, journal = run(outer(), {"default": "y"})

    assert {event.path for event in journal.events if event.kind == "model_called"} == {("n.1",)}


def test_failure_inside_fails_the_node_and_says_why():
    result, _ = run(outer(), {"nodes": {"b": [{"fault": {"code": "broken", "message": "It broke."}}]}})

    assert (result.status, result.code) == ("failed", "broken")
    assert "'n'" in result.reason
    assert "It broke." in result.reason


def test_nested_topology_without_a_result_is_a_failed_node_that_can_be_rescued():
    empty = topology(
        {"a": {"type": "literal", "content": "x"}, "b": PASS},
        [("a", "b", {"when": {"contains_any": ["y"]}})],
        name="inner",
    )
    document = topology(
        {
            "n": {"type": "topology", "topology": empty, "on_error": "continue"},
            "r": {"type": "literal", "content": "saved"},
            "t": PASS,
        },
        [("n", "t"), ("n", "r", {"when": {"status": "failed"}}), ("r", "t")],
    )

    assert run(document)[0].output == "saved"


def test_limits_of_the_run_reach_inside():
    result, journal = run(outer(), {"default": "y"}, limits={"model_calls": 1})

    assert (result.status, result.code, result.usage.model_calls) == ("limit_reached", "model_calls", 1)
    assert sum(event.kind == "limit_hit" for event in journal.events) == 1


def test_stop_and_time_limit_reach_inside():
    began = time.monotonic()
    slow = {"nodes": {"a": [{"text": "x", "latency_s": 30}]}}

    assert run(outer(), slow, stop_after=0.1)[0].status == "stopped"
    assert run(outer(), slow, limits={"seconds": 0.2})[0].code == "seconds"
    assert time.monotonic() - began < 8


def test_nested_in_a_cycle_and_in_a_map_each_visit_has_a_trace_of_its_own():
    document = topology(
        {
            "s": {"type": "literal", "content": "1 2"},
            "n": {"type": "topology", "topology": INNER},
            "t": {"type": "passthrough", "all": True},
        },
        [("s", "n", {"map": {"split": {"regex": "[0-9]"}}}), ("n", "t")],
    )

    result, journal = run(
        document, {"rules": [{"contains": "in: 1", "answer": "one"}, {"contains": "in: 2", "answer": "two"}]}
    )

    assert result.node_outputs["t"] == ["one", "two"]
    assert {event.path for event in journal.events if event.kind == "model_called"} == {("n.1.0",), ("n.1.1",)}


def test_run_that_dies_inside_goes_on_and_repeats_no_call():
    deep = topology({"m": {"type": "topology", "topology": INNER}, "u": PASS}, [("m", "u")], name="middle")
    script = {"nodes": {"a": ["A"], "b": ["B"]}}
    whole, journal = run(outer(deep), script)
    assert "n/m/a" in whole.visits

    for cut in range(1, len(journal.events)):
        kept = [EVENT.validate_json(event.model_dump_json()) for event in journal.events[:cut]]
        again, rest = run(outer(deep), script, journal=MemoryJournal(kept))

        assert again == whole._replace(usage=again.usage)
        assert again.usage.model_calls == 2
        assert sum(event.kind == "model_called" for event in [*kept, *rest.events]) == 2


def problems(document, shelf=None):
    return [(problem.code, problem.path) for problem in problems_of(document, shelf or Library(INNER))]


def test_problems_inside_are_named_with_their_place():
    broken = topology({"a": asks("{{ nope }}"), "b": PASS}, [("a", "b")], name="inner")

    assert problems(outer(broken)) == [("unknown_name", "/nodes/n/topology/nodes/a/prompt")]
    assert problems(outer("missing")) == [("unknown_topology", "/nodes/n/topology")]
    assert problems(outer({"format": "x"}))[0][1].startswith("/nodes/n/topology/")
    assert problems(outer(inputs={"tune": "x"})) == [("unknown_name", "/nodes/n/inputs/tune")]
    assert problems(outer(inputs={"tone": "{{ nope }}"})) == [("unknown_name", "/nodes/n/inputs/tone")]


def test_topology_nested_in_itself_is_refused():
    selfish = outer("outer")
    ring = [
        outer("other"),
        topology({"n": {"type": "topology", "topology": "outer"}, "t": PASS}, [("n", "t")], name="other"),
    ]

    assert problems(selfish, Library(selfish)) == [("nested_in_itself", "/nodes/n/topology")]
    assert problems(ring[0], Library(*ring)) == [("nested_in_itself", "/nodes/n/topology")]


def test_nested_topology_uses_the_defaults_around_it():
    bare = topology({"a": {"type": "agent", "system": "S"}, "b": PASS}, [("a", "b")], name="inner")

    assert problems(outer(bare)) == [("no_model", "/nodes/n/topology/nodes/a/model")]
    assert problems(outer(bare) | {"defaults": {"model": "scripted/x"}}) == []
