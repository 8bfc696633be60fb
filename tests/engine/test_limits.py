"""Each limit ends a run with a status and a name of its own, and what had been answered by then is kept."""

from __future__ import annotations

import pytest

from tests.engine.support import asks, run, topology

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
