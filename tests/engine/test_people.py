from __future__ import annotations

import asyncio

import pytest

from tests.engine.people import Stage, said
from tests.engine.support import asks, topology
from workbench.engine.context import RunInput
from workbench.engine.events import EVENT, AttachedFile
from workbench.engine.forking import Change, fork
from workbench.engine.recorded import Place
from workbench.engine.replay import replay

PASS = {"type": "passthrough"}
ALL = {"type": "passthrough", "all": True}
HUMAN = {"type": "human"}
LINES = {"map": {"split": {"regex": "\\w+"}, "max_parallel": 2}}


def nested(inner, **fields):
    return {"type": "topology", "topology": inner, **fields}


def later(desk, key, answer):
    """Somebody answers a moment after the question is on the table."""
    asyncio.get_running_loop().call_soon(lambda: desk.hand_in(key, answer))


def test_what_does_not_depend_on_the_answer_goes_on():
    document = topology(
        {"s": PASS, "ask": HUMAN, "a": asks(), "b": asks(), "t": ALL},
        [("s", "ask"), ("s", "a"), ("a", "b"), ("ask", "t"), ("b", "t")],
    )
    stage = Stage(document, {"nodes": {"a": ["one"], "b": ["two"]}})

    first = stage.attempt()

    assert first.status == "waiting"
    assert [event.node for event in stage.kinds("model_called")] == ["a", "b"]

    last = stage.attempt({stage.key("ask"): said("three")})

    assert last.node_outputs["t"] == ["three", "two"]
    assert len(stage.kinds("model_called")) == 2


def test_an_answer_that_comes_while_the_run_works_is_taken_at_once():
    document = topology(
        {"s": PASS, "ask": HUMAN, "after": asks(), "slow": asks(), "t": ALL},
        [("s", "ask"), ("ask", "after"), ("s", "slow"), ("after", "t"), ("slow", "t")],
    )
    stage = Stage(document, {"latency_s": 0.05, "default": "done"})

    result = stage.attempt(during=lambda desk, asked: later(desk, asked.key, said("now")))

    assert (result.status, stage.attempts) == ("succeeded", 1)
    assert stage.kinds("answered")[0].text == "now"


def test_units_of_a_map_ask_all_at_once_and_are_answered_in_any_order():
    document = topology(
        {"s": PASS, "ask": {**HUMAN, "question": "{{ inbox }}?"}, "t": ALL}, [("s", "ask", LINES), ("ask", "t")]
    )
    stage = Stage(document, given="a b c d")
    stage.attempt()
    keys = {asked.question: asked.key for asked, _ in stage.asked}
    assert sorted(keys) == ["a?", "b?", "c?", "d?"]

    given = {}
    for question in ("c?", "a?", "d?"):
        given[keys[question]] = said(question.upper())
        assert stage.attempt(given).status == "waiting"
        assert {asked.key for asked, _ in stage.asked} == set(keys.values()) - set(given)
    last = stage.attempt({**given, keys["b?"]: said("B?")})

    assert last.node_outputs["t"] == ["A?", "B?", "C?", "D?"]
    assert len(stage.kinds("asked")) == len(stage.kinds("answered")) == 4


def test_questions_reach_out_of_nested_topologies_in_maps():
    inner = topology({"think": asks(), "ask": HUMAN}, [("think", "ask")], end=["ask"], name="inner")
    outer = topology({"s": PASS, "each": nested(inner), "t": ALL}, [("s", "each", LINES), ("each", "t")])
    stage = Stage(topology({"whole": nested(outer)}, name="whole"), {"nodes": {"think": ["one", "two"]}}, given="a b")

    assert stage.attempt().status == "waiting"
    keys = {asked.path: asked.key for asked, _ in stage.asked}
    assert sorted(keys) == [("whole.1", "each.1.0"), ("whole.1", "each.1.1")]
    first, second = (keys[path] for path in sorted(keys))
    assert stage.attempt({second: said("second")}).status == "waiting"
    last = stage.attempt({second: said("second"), first: said("first")})

    assert (last.status, last.node_outputs["whole/t"]) == ("succeeded", ["first", "second"])
    assert len(stage.kinds("model_called")) == 2


def test_a_run_that_fails_or_meets_a_limit_waits_for_nobody():
    refused = {"type": "tool", "tool": "read_file", "args": {"path": "../x"}}
    document = topology(
        {"s": PASS, "ask": HUMAN, "f": refused, "t": ALL}, [("s", "ask"), ("s", "f"), ("ask", "t"), ("f", "t")]
    )

    assert Stage(document).attempt().status == "failed"

    inner = topology({"ask": HUMAN}, name="inner")
    document = topology(
        {"s": PASS, "in": nested(inner), "a": asks(), "b": asks(), "t": ALL},
        [("s", "in"), ("s", "a"), ("a", "b"), ("b", "t"), ("in", "t")],
        limits={"model_calls": 1},
    )
    result = Stage(document, {"default": "x"}).attempt()

    assert (result.status, result.code) == ("limit_reached", "model_calls")


def test_units_that_wait_are_given_up_when_another_meets_a_limit():
    document = topology(
        {"s": PASS, "a": asks("{{ inbox }}", tools=["ask_human"]), "t": ALL},
        [("s", "a", LINES), ("a", "t")],
        limits={"model_calls": 2},
    )
    call = {"tool_calls": [{"name": "ask_human", "arguments": {"question": "Which?"}}]}

    result = Stage(document, {"default": call}, given="a b c").attempt()

    assert (result.status, result.code) == ("limit_reached", "model_calls")


def test_stop_ends_a_run_that_works_and_waits():
    document = topology(
        {"s": PASS, "ask": HUMAN, "slow": asks(), "t": ALL},
        [("s", "ask"), ("s", "slow"), ("ask", "t"), ("slow", "t")],
    )

    result = Stage(document, {"latency_s": 30, "default": "x"}).attempt(stop_after=0.1)

    assert result.status == "stopped"


RULES = {"type": "router", "mode": "rules", "rules": [{"when": {"contains_any": ["never"]}, "to": ["a"]}]}
ASKED = {"type": "router", "system": "S", "prompt": "{{ inbox }}", "model": "scripted/x"}


@pytest.mark.parametrize(("router", "calls"), [(RULES, 0), (ASKED, 3)])
@pytest.mark.parametrize(("choice", "visited"), [("b", {"r": 1, "b": 1, "t": 1}), ("end", {"r": 1})])
def test_a_router_that_can_not_choose_lets_a_person_choose(router, calls, choice, visited):
    document = topology(
        {"r": {**router, "on_unclear": "human"}, "a": PASS, "b": PASS, "t": PASS},
        [("r", "a"), ("r", "b"), ("a", "t"), ("b", "t")],
    )
    stage = Stage(document, {"default": "no idea"})
    stage.attempt()
    ((asked, told),) = stage.asked
    assert (asked.asker, asked.choices, asked.free, told) == ("router", ("a", "b", "end"), False, "input")

    result = stage.attempt({asked.key: said(choice, choice)})

    assert result.visits == visited
    assert len(stage.kinds("model_called")) == calls


def test_waiting_is_no_working_time():
    document = topology(
        {"s": PASS, "ask": HUMAN, "slow": asks(), "t": ALL},
        [("s", "ask"), ("s", "slow"), ("ask", "t"), ("slow", "t")],
    )
    stage = Stage(document, {"latency_s": 0.3, "default": "done"})

    def soon(desk, asked):
        asyncio.get_running_loop().call_later(0.2, lambda: desk.hand_in(asked.key, said("yes", at=asked.at + 0.2)))

    stage.attempt(during=soon)

    ended = {event.node: event.seconds for event in stage.kinds("visit_ended")}
    assert ended["ask"] < 0.15 < ended["slow"]
    assert stage.kinds("answered")[0].waited_seconds == pytest.approx(0.2)


def test_hours_of_waiting_count_for_no_limit():
    document = topology({"ask": HUMAN, "a": asks(), "t": PASS}, [("ask", "a"), ("a", "t")], limits={"seconds": 60})
    stage = Stage(document, {"default": "done"})
    stage.attempt()
    stage.events = [event.model_copy(update={"at": event.at - 7200}) for event in stage.events]

    result = stage.attempt({stage.key("ask"): said("at last")})

    assert (result.status, result.output) == ("succeeded", "done")


def test_a_run_that_dies_at_any_event_asks_and_calls_nobody_twice():
    call = {"tool_calls": [{"name": "ask_human", "arguments": {"question": "Which?"}}]}
    inner = topology({"think": asks(), "ask": HUMAN}, [("think", "ask")], end=["ask"], name="inner")
    document = topology(
        {"s": PASS, "each": nested(inner), "a": asks(tools=["ask_human"]), "t": ALL},
        [("s", "each", LINES), ("s", "a"), ("each", "t"), ("a", "t")],
    )
    script = {"nodes": {"think": ["one", "two"], "a": [call, "done"]}}

    def whole(dies_after):
        """The run with one death, each question answered once it waits; how often it was asked and called."""
        stage, answers = Stage(document, script, given="x y"), {}
        result = stage.attempt(answers, dies_after=dies_after)
        died = result is None
        for _ in range(9):
            if result is not None and result.status != "waiting":
                break
            answers |= {asked.key: said(f"{asked.path} {asked.unit}") for asked, _ in stage.asked}
            result = stage.attempt(answers)
        counts = {
            kind: len(stage.kinds(kind)) for kind in ("model_called", "tool_called", "asked", "answered", "run_ended")
        }
        return died, result.output, result.node_outputs["t"], counts

    _, *expected = whole(None)
    assert expected[-1] == {"model_called": 4, "tool_called": 1, "asked": 3, "answered": 3, "run_ended": 1}
    deaths = 0
    for events in range(60):
        died, *found = whole(events)
        deaths += died
        assert found == expected, events
    assert deaths > 10


def test_a_replay_takes_every_answer_and_a_fork_asks_only_what_it_makes_again():
    document = topology(
        {"s": PASS, "ask": HUMAN, "each": nested(topology({"in": HUMAN}, name="inner")), "a": asks(), "t": ALL},
        [("s", "ask"), ("s", "each", LINES), ("ask", "a"), ("a", "t"), ("each", "t")],
    )
    stage, answers = Stage(document, {"default": "done"}, given="x y"), {}
    while (result := stage.attempt(answers)).status == "waiting":
        answers |= {asked.key: said(f"{asked.node} {asked.path}") for asked, _ in stage.asked}
    events = [EVENT.validate_json(event.model_dump_json()) for event in stage.events]

    replayed = replay(stage.plan, RunInput("x y"), events, run_id="r1")
    assert (replayed.status, replayed.output, replayed.differences) == ("succeeded", result.output, ())

    for node, asked in {"a": [], "ask": ["ask"]}.items():
        place = Place((), node, 1)
        made = fork(stage.plan, stage.plan, RunInput("x y"), events, place, Change(), parent_id="r1")
        stage.events = list(made.events)
        again = stage.attempt()
        assert [it.node for it, _ in stage.asked] == asked
        assert again.status == ("waiting" if asked else "succeeded")


def test_a_replay_calls_a_persons_file_by_the_name_it_got(tmp_path):
    stands = {"type": "tool", "tool": "write_file", "args": {"path": "uploads/a.txt", "content": "Another."}}
    document = topology({"stands": stands, "ask": {"type": "human"}}, [("stands", "ask")])
    stage = Stage(document, workspace=tmp_path / "w")
    stage.attempt()
    file = AttachedFile(name="a.txt", size=3, sha256="abc")
    result = stage.attempt({stage.key("ask"): said("Here.", files=(file,))})

    replayed = replay(stage.plan, RunInput("input"), stage.events, run_id="r1")

    assert "uploads/a-2.txt" in result.output
    assert (replayed.output, replayed.differences) == (result.output, ())
