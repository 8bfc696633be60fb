"""A run done again from its journal alone: the same prediction, or the first place where it would be another."""

from __future__ import annotations

import pytest

from tests.engine.support import asks, planned, run, topology
from workbench.engine.context import RunInput
from workbench.engine.events import EVENT
from workbench.engine.recorded import Place
from workbench.engine.replay import replay

VERDICT = {
    "json_schema": {
        "type": "object",
        "required": ["verdict"],
        "properties": {"verdict": {"enum": ["accept", "revise"]}},
    }
}
INNER = topology(
    {
        "draft": asks("Draft: {{ inbox }}"),
        "check": asks("Check: {{ inbox }}", output=VERDICT),
        "out": {"type": "passthrough"},
    },
    [
        ("draft", "check"),
        ("check", "draft", {"when": {"field": "verdict", "equals": "revise"}, "max": 3}),
        ("check", "out", {"when": {"field": "verdict", "equals": "accept"}}),
        ("draft", "out", {"trigger": False}),
    ],
)
WHOLE = topology(
    {
        "plan": asks("Plan: {{ instance.problem }}"),
        "files": asks("{{ inbox }}", tools=["write_file"]),
        "each": asks("Each: {{ inbox }}"),
        "inner": {"type": "topology", "topology": INNER},
        "last": {"type": "passthrough", "all": True},
    },
    [
        ("plan", "files"),
        ("files", "each", {"map": {"split": {"regex": r"[^,]+"}}}),
        ("plan", "inner"),
        ("each", "last"),
        ("inner", "last"),
    ],
)
SCRIPT = {
    "nodes": {
        "plan": [{"fault": {"code": "busy", "message": "Busy.", "temporary": True}}, "a plan"],
        "files": [
            {"text": "", "tool_calls": [{"name": "write_file", "arguments": {"path": "a.txt", "content": "A"}}]},
            "one,two,three",
        ],
        "each": ["1", "2", "3"],
        "draft": ["d1", "d2"],
        "check": ["not json", '{"verdict": "revise"}', '{"verdict": "accept"}'],
    }
}


@pytest.fixture
def recorded(tmp_path):
    """A run with retries, tools, a map and a nested loop: its plan, its result and its events as they come back."""
    result, journal = run(WHOLE, SCRIPT, workspace=tmp_path)
    assert result.status == "succeeded", result.reason
    return planned(WHOLE), result, [EVENT.validate_json(event.model_dump_json()) for event in journal.events]


def again(plan, events, **more):
    return replay(plan, RunInput("input"), events, run_id="r1", **more)


def changed(**nodes):
    """The whole topology with other settings of some nodes."""
    return {**WHOLE, "nodes": {**WHOLE["nodes"], **nodes}}


def first_of(recorded, document):
    plan, _, events = recorded
    return again(planned(document), events, recorded_plan=plan).differences[0]


def test_replay_gives_the_same_prediction_with_nobody_to_ask(recorded):
    plan, result, events = recorded

    replayed = again(plan, events)

    assert replayed.same, replayed.differences
    assert (replayed.status, replayed.output, replayed.outputs) == (result.status, result.output, result.outputs)
    assert len(replayed.taken) == sum(event.kind == "visit_ended" for event in events)
    assert replayed.open == ()


def test_changed_prompt_is_found_at_its_first_call_with_both_sides(recorded):
    found = first_of(recorded, changed(each=asks("All: {{ inbox }}")))

    assert (found.kind, found.place, found.unit, found.call) == ("prompt", Place((), "each", 1), 0, 1)
    assert "Each: one" in found.recorded
    assert "All: one" in found.now


def test_changed_prompt_inside_a_nested_topology_is_found_there(recorded):
    inner = {**INNER, "nodes": {**INNER["nodes"], "check": asks("Look: {{ inbox }}", output=VERDICT)}}

    found = first_of(recorded, changed(inner={"type": "topology", "topology": inner}))

    assert (found.kind, found.place) == ("prompt", Place(("inner.1",), "check", 1))


@pytest.mark.parametrize(
    ("nodes", "kind", "node"),
    [
        ({"plan": asks("Plan: {{ instance.problem }}", model="scripted/y")}, "model", "plan"),
        ({"plan": asks("Plan: {{ instance.problem }}", params={"temperature": 1})}, "settings", "plan"),
        ({"last": {"type": "passthrough"}}, "output", "last"),
        ({"each": {"type": "passthrough"}}, "output", "each"),
    ],
)
def test_each_change_of_a_node_is_named_by_its_kind(recorded, nodes, kind, node):
    found = first_of(recorded, changed(**nodes))

    assert (found.kind, found.place.node) == (kind, node)


def test_node_that_is_gone_shows_as_another_route(recorded):
    nodes = {name: node for name, node in WHOLE["nodes"].items() if name != "each"}
    edges = [edge for edge in WHOLE["edges"] if "each" not in (edge["from"], edge["to"])]

    found = first_of(recorded, {**WHOLE, "nodes": nodes, "edges": [*edges, {"from": "files", "to": "last"}]})

    assert (found.kind, found.place.node, found.recorded, found.now) == ("route", "files", "each", "last")
    assert "each is not there any more" in found.text


def test_node_that_is_new_is_said_to_be_unknown(recorded):
    document = changed(extra=asks("x"))

    plan, _, events = recorded
    found = again(
        planned({**document, "edges": [*WHOLE["edges"], {"from": "extra", "to": "last"}], "start": ["plan", "extra"]}),
        events,
        recorded_plan=plan,
    )

    assert "node" in {difference.kind for difference in found.differences}
    assert Place((), "extra", 1) in found.open


def test_order_of_edges_alone_changes_nothing(recorded):
    plan, _, events = recorded
    edges = [*WHOLE["edges"][2:4], *WHOLE["edges"][:2], WHOLE["edges"][4]]

    assert again(planned({**WHOLE, "edges": edges}), events, recorded_plan=plan).same


@pytest.mark.parametrize("limits", [{"model_calls": 4}, {"visits_per_node": 1}])
def test_run_that_met_a_limit_is_replayed_up_to_there(tmp_path, limits):
    result, journal = run(WHOLE, SCRIPT, workspace=tmp_path, limits=limits)
    assert result.status == "limit_reached"

    replayed = again(planned(WHOLE, limits=limits), journal.events)

    assert replayed.same, replayed.differences
    assert (replayed.status, replayed.output) == (result.status, result.output)


def test_run_that_failed_is_replayed_to_the_same_failure(tmp_path):
    script = {"nodes": {**SCRIPT["nodes"], "each": ["1", {"fault": "broken"}, "3"]}}
    result, journal = run(WHOLE, script, workspace=tmp_path)
    assert result.status == "failed"

    replayed = again(planned(WHOLE), journal.events)

    assert replayed.same, replayed.differences
    assert replayed.status == "failed"


def test_record_that_breaks_off_is_no_difference(recorded):
    plan, _, events = recorded

    for cut in range(1, len(events)):
        replayed = again(plan, events[:cut])
        assert replayed.same, (cut, replayed.differences)


def test_visit_that_is_held_leaves_open_what_depends_on_it_and_nothing_else(recorded):
    plan, _, events = recorded

    replayed = again(plan, events, hold=Place((), "files", 1), trusted=lambda place: True)

    assert {place.node for place in replayed.taken} == {"plan", "inner", "draft", "check", "out"}
    assert replayed.open == (Place((), "files", 1),)


def test_visit_held_in_a_nested_loop_keeps_what_came_before_it(recorded):
    plan, _, events = recorded
    held = Place(("inner.1",), "draft", 2)

    replayed = again(plan, events, hold=held, trusted=lambda place: True)

    kept = set(replayed.taken)
    assert {Place(("inner.1",), "draft", 1), Place(("inner.1",), "check", 1), Place((), "each", 1)} <= kept
    assert Place(("inner.1",), "check", 2) not in kept
    assert set(replayed.open) == {held, Place((), "inner", 1)}
