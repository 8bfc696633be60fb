"""Each limit ends a run with a status and a name of its own, and what had been answered by then is kept."""

from __future__ import annotations

import time

import pytest

from tests.engine.support import asks, run, topology
from workbench.engine.providers import Providers
from workbench.engine.providers.scripted import Entry, ScriptedProvider

GO = {"type": "literal", "content": "go"}
PASS = {"type": "passthrough"}
MORE = {"text": "more", "tokens": {"input": 5, "output": 5}, "cost_usd": 0.4, "latency_s": 0.01}


@pytest.mark.parametrize(
    ("limits", "calls"),
    [
        ({"model_calls": 3}, 3),
        ({"tokens": 25}, 3),
        ({"output_tokens": 11}, 3),
        ({"cost_usd": 1.0}, 3),
        ({"visits_per_node": 3}, 3),
        ({"seconds": 0.3}, None),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_limit_that_is_hit_while_another_branch_has_answered_keeps_that_answer_as_partial(limits, calls):
    document = topology(
        {"s": GO, "t": PASS, "w": asks("p"), "u": PASS},
        [
            ("s", "t"),
            ("s", "w"),
            ("w", "w", {"when": {"contains_any": ["more"]}}),
            ("w", "u", {"when": {"contains_none": ["more"]}}),
        ],
        end=["t", "u"],
    )

    result, journal = run(document, {"nodes": {"w": [MORE]}}, limits={"visits_per_node": None} | limits)

    assert (result.status, result.code) == ("limit_reached", next(iter(limits)))
    assert (result.output, result.outputs, result.partial) == ("go", {"t": "go"}, True)
    assert [event.limit for event in journal.events if event.kind == "limit_hit"] == list(limits)
    assert calls is None or result.usage.model_calls == calls


def test_retries_of_a_node_spend_the_same_limits():
    document = topology({"a": asks("p", retries=5), "t": PASS}, [("a", "t")])

    result, journal = run(document, {"nodes": {"a": [{"fault": "broken"}]}}, limits={"model_calls": 3})

    assert (result.status, result.code) == ("limit_reached", "model_calls")
    assert sum(event.kind == "model_called" for event in journal.events) == 3


def test_branches_side_by_side_spend_at_most_the_calls_under_way_more_tokens_than_allowed():
    names = [f"a{number}" for number in range(8)]
    chains = [(name, f"{name}b") for name in names]
    nodes = {name: asks("p") for pair in chains for name in pair}
    document = topology(
        {"s": GO, **nodes, "t": PASS}, [*[("s", n) for n in names], *chains, *[(b, "t") for _, b in chains]]
    )

    result, _ = run(document, {"default": MORE}, limits={"tokens": 60})

    assert (result.status, result.code) == ("limit_reached", "tokens")
    assert result.usage.input_tokens + result.usage.output_tokens <= 60 + 8 * 10


def test_time_that_runs_out_between_two_visits_ends_the_run_all_the_same():
    def answer(request):
        time.sleep(0.05)  # nothing else happens meanwhile: whenever the clock is looked at, an answer has just come
        return Entry(text="more")

    document = topology({"w": asks("p"), "t": PASS}, [("w", "w"), ("w", "t", {"when": {"contains_any": ["never"]}})])

    result, _ = run(
        document,
        providers=Providers({}, only=ScriptedProvider(answer)),
        limits={"seconds": 0.3, "visits_per_node": None, "model_calls": 40},
    )

    assert (result.status, result.code) == ("limit_reached", "seconds")
    assert "'w'" in result.reason


@pytest.mark.parametrize("end", [{"stop_after": 0.1}, {"limits": {"seconds": 0.1}}], ids=["stop", "seconds"])
def test_wiring_that_goes_round_for_ever_can_be_ended(end):
    document = topology(
        {"s": GO, "a": PASS, "t": PASS}, [("s", "a"), ("a", "a"), ("a", "t", {"when": {"status": "failed"}})]
    )
    limits = {"visits_per_node": None} | end.get("limits", {})

    result, _ = run(document, limits=limits, stop_after=end.get("stop_after"))

    assert result.status == ("limit_reached" if "seconds" in limits else "stopped")
