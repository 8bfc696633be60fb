"""A run that leaves another at one of its visits: what it takes from there and what it makes itself."""

from __future__ import annotations

import pytest

from tests.engine.support import asks, planned, run, topology
from tests.engine.test_replay import SCRIPT, WHOLE, changed
from workbench.engine.context import RunInput
from workbench.engine.errors import InvalidDocument
from workbench.engine.events import EVENT, MemoryJournal
from workbench.engine.forking import CannotFork, Change, changed_plan, fork
from workbench.engine.recorded import Place

NEW = {"default": "new", "nodes": {"check": ['{"verdict": "accept"}'], "files": ["p,q"], "each": ["n1", "n2", "n3"]}}


@pytest.fixture
def parent(tmp_path):
    """A run that succeeded: its plan and its events as they come back from a journal."""
    result, journal = run(WHOLE, SCRIPT, workspace=tmp_path)
    assert result.status == "succeeded", result.reason
    return planned(WHOLE), [EVENT.validate_json(event.model_dump_json()) for event in journal.events]


def forked(parent, place, change=None, document=None):
    """The fork, its plan, and what came of it with new answers: the result and the calls that were made."""
    parent_plan, events = parent
    change = change or Change()
    plan = changed_plan(planned(document) if document else parent_plan, place, change)
    made = fork(plan, parent_plan, RunInput("input"), events, place, change, parent_id="r1")
    kept = [EVENT.validate_json(event.model_dump_json()) for event in made.events]
    result, journal = run(plan, NEW, journal=MemoryJournal(kept))
    return made, result, calls(journal.events)


def calls(events):
    return [(event.node, event.visit) for event in events if event.kind in ("model_called", "tool_called")]


def test_fork_makes_the_visit_and_what_waits_for_it_again_and_nothing_else(parent):
    made, result, again = forked(parent, Place((), "files", 1))

    assert again == [("files", 1), ("each", 1), ("each", 1)]
    assert result.status == "succeeded"
    assert result.node_outputs["plan"] == ["a plan"]
    assert result.node_outputs["last"][:2] == ["n1", "n2"]
    assert [(one.place.node, len(one.calls)) for one in made.again] == [("files", 3), ("each", 3)]


def test_fork_with_another_prompt_asks_by_it(parent):
    parent_plan, events = parent
    place, change = (
        Place((), "each", 1),
        Change(settings={"prompt": "Again: {{ inbox }}", "params": {"temperature": 1}}),
    )
    plan = changed_plan(parent_plan, place, change)
    made = fork(plan, parent_plan, RunInput("input"), events, place, change, parent_id="r1")

    _, journal = run(plan, NEW, journal=MemoryJournal(made.events))

    prompts = [event.messages[-1]["content"] for event in journal.events if event.kind == "model_called"]
    assert prompts == ["Again: one", "Again: two", "Again: three"]
    assert plan.nodes["each"].config["params"]["temperature"] == 1
    assert plan.topology["nodes"]["each"]["prompt"] == "Again: {{ inbox }}"
    assert plan.hash != parent_plan.hash


def test_fork_inside_a_nested_loop_keeps_its_first_iteration(parent):
    place = Place(("inner.1",), "draft", 2)

    made, result, again = forked(parent, place, Change(settings={"prompt": "Anew: {{ inbox }}"}))

    assert again == [("draft", 2), ("check", 2)]
    assert result.node_outputs["inner/draft"] == ["d1", "new"]
    assert {one.place for one in made.again} == {place, Place(("inner.1",), "check", 2)}


def test_answer_of_a_person_takes_the_place_of_the_visits_own(parent):
    made, result, again = forked(parent, Place((), "files", 1), Change(answer="x,y"))

    assert again == [("each", 1), ("each", 1)]
    assert result.node_outputs["files"] == ["x,y"]
    assert [one.place.node for one in made.again] == ["each"]
    assert any(event.kind == "noted" and event.code == "answer_given" for event in made.events)


def test_answer_inside_the_schema_of_a_node_decides_its_route(parent):
    place = Place(("inner.1",), "check", 1)

    _, result, again = forked(parent, place, Change(answer='{"verdict": "accept"}'))

    assert again == []
    assert result.node_outputs["inner/check"] == ['{"verdict": "accept"}']
    with pytest.raises(CannotFork, match="does not fit the schema"):
        forked(parent, place, Change(answer="no idea"))


def test_answer_in_the_place_of_a_nested_topology_is_taken_whole(parent):
    _, result, again = forked(parent, Place((), "inner", 1), Change(answer="by hand"))

    assert again == []
    assert result.outputs == {"last": "by hand"}


def test_fork_with_another_topology_keeps_what_it_still_leads_to(parent):
    nodes = {name: node for name, node in WHOLE["nodes"].items() if name != "inner"}
    edges = [{"from": "files", "to": "more"}, *(edge for edge in WHOLE["edges"] if "inner" not in edge.values())]
    document = {**WHOLE, "nodes": {**nodes, "more": asks("More: {{ inbox }}")}, "edges": edges}
    document["edges"].append({"from": "more", "to": "last"})

    made, result, again = forked(parent, Place((), "each", 1), document=document)

    assert sorted(again) == [("each", 1)] * 3 + [("more", 1)]
    assert {place.node for place in made.taken} == {"plan", "files"}
    assert result.status == "succeeded"


def test_run_that_failed_can_be_forked_where_it_failed(tmp_path):
    script = {"nodes": {**SCRIPT["nodes"], "files": [{"fault": "broken"}]}}
    _, journal = run(WHOLE, script, workspace=tmp_path)

    made, result, again = forked((planned(WHOLE), journal.events), Place((), "files", 1))

    assert result.status == "succeeded"
    assert again == [("files", 1), ("each", 1), ("each", 1)]
    assert ("plan", 1) in {(place.node, place.visit) for place in made.taken}


def test_fork_of_a_fork_and_its_replay(parent):
    place = Place((), "each", 1)
    change = Change(settings={"prompt": "Again: {{ inbox }}"})
    parent_plan, events = parent
    plan = changed_plan(parent_plan, place, change)
    made = fork(plan, parent_plan, RunInput("input"), events, place, change, parent_id="r1")
    _, journal = run(plan, NEW, journal=MemoryJournal(made.events))

    once_more = fork(
        plan, plan, RunInput("input"), [*made.events, *journal.events], Place((), "files", 1), Change(), parent_id="r1"
    )

    assert {one.place.node for one in once_more.again} == {"files", "each"}


@pytest.mark.parametrize(
    ("node", "settings", "code"),
    [
        ("each", {"prompt": "{{ nodes.nobody.output }}"}, "unknown_name"),
        ("each", {"prompt": "{% if %}"}, "bad_prompt"),
        ("each", {"model": "nowhere/x"}, "unknown_provider"),
        ("each", {"params": {"temperature": "hot"}}, "bad_value"),
        ("last", {"prompt": "x"}, "unknown_key"),
    ],
)
def test_change_that_can_not_be_is_refused_with_its_reason(parent, node, settings, code):
    with pytest.raises(InvalidDocument) as refused:
        changed_plan(parent[0], Place((), node, 1), Change(settings=settings))

    assert [problem.code for problem in refused.value.problems] == [code]


@pytest.mark.parametrize(
    ("place", "answer", "says"),
    [
        (Place((), "nobody", 1), None, "no such visit"),
        (Place((), "plan", 7), None, "no such visit"),
        (Place((), "last", 1), "x", "only passes on"),
        (Place((), "each", 1), "x", "is a map"),
    ],
)
def test_visit_that_can_not_be_forked_so_says_why(parent, place, answer, says):
    with pytest.raises(CannotFork, match=says):
        forked(parent, place, Change(answer=answer))


def test_router_is_given_its_targets_by_name():
    document = topology(
        {"r": {"type": "router", "prompt": "Where?", "model": "scripted/x"}, "a": asks("a"), "b": asks("b")},
        [("r", "a"), ("r", "b")],
        end=["a", "b"],
    )
    _, journal = run(document, {"nodes": {"r": ['{"targets": ["a"]}']}, "default": "x"})

    _, result, again = forked((planned(document), journal.events), Place((), "r", 1), Change(answer="b"))

    assert again == [("b", 1)]
    assert list(result.outputs) == ["b"]


def test_settings_that_change_leave_other_visits_as_they_were(parent):
    document = changed(each=asks("All: {{ inbox }}"))

    made, _, _ = forked(parent, Place((), "files", 1), document=document)

    assert {place.node for place in made.taken} == {"plan", "inner", "draft", "check", "out"}
