"""A run from its start to its end, through scripted models: results, limits, stopping, going on after a crash."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from tests.engine.support import asks, planned, run, topology
from workbench.engine.compiler import compile_plan
from workbench.engine.errors import ProviderError
from workbench.engine.events import EVENT, MemoryJournal
from workbench.engine.providers import ModelReply, ProbeResult, Provider, Providers, Usage
from workbench.engine.workspaces import workspace_fork

LITERAL = {"type": "literal", "content": "go"}
PASS = {"type": "passthrough"}
VERDICT = {
    "json_schema": {
        "type": "object",
        "required": ["verdict"],
        "properties": {"verdict": {"enum": ["accept", "revise"]}},
    }
}
REVIEW = topology(
    {
        "writer": asks(
            "Write about: {{ instance.problem }}"
            "{% if visit > 1 %}\nDraft:\n{{ nodes.writer.output }}\nNotes:\n{{ inbox }}{% endif %}"
        ),
        "reviewer": asks("{{ inbox }}", output=VERDICT),
        "publish": PASS,
    },
    [
        ("writer", "reviewer"),
        ("reviewer", "writer", {"when": {"field": "verdict", "equals": "revise"}, "max": 4}),
        ("reviewer", "publish", {"when": {"field": "verdict", "equals": "accept"}}),
        ("writer", "publish", {"trigger": False}),
    ],
)
TWICE = {"nodes": {"writer": ["d1", "d2"], "reviewer": ['{"verdict": "revise"}', '{"verdict": "accept"}']}}


def test_loop_runs_until_the_reviewer_accepts():
    result, _ = run(REVIEW, TWICE)

    assert (result.status, result.output, result.outputs) == ("succeeded", "d2", {"publish": "d2"})
    assert result.visits == {"writer": 2, "reviewer": 2, "publish": 1}
    assert result.order == ["writer", "reviewer", "writer", "reviewer", "publish"]
    assert result.node_outputs["writer"] == ["d1", "d2"]


def test_prompts_show_the_inbox_and_earlier_outputs():
    _, journal = run(REVIEW, TWICE, given="cats")

    prompts = [
        event.messages[-1]["content"]
        for event in journal.events
        if event.kind == "model_called" and event.node == "writer"
    ]

    assert prompts == ["Write about: cats", 'Write about: cats\nDraft:\nd1\nNotes:\n{"verdict": "revise"}']


def test_bound_that_is_used_up_ends_as_limit_reached_and_names_the_edge():
    result, journal = run(REVIEW, {"nodes": {"writer": ["d"], "reviewer": ['{"verdict": "revise"}']}})

    assert (result.status, result.visits["writer"], result.code) == ("limit_reached", 5, "edge_max")
    assert "'reviewer' to 'writer'" in result.reason
    assert [event.edge for event in journal.events if event.kind == "limit_hit"] == [1]


def test_run_whose_end_node_never_runs_is_incomplete_and_never_succeeded():
    document = topology({"a": LITERAL, "b": PASS}, [("a", "b", {"when": {"contains_any": ["stop"]}})])

    result, _ = run(document)

    assert (result.status, result.output) == ("incomplete", None)
    assert "'b'" in result.reason


def test_outputs_of_several_end_nodes_stand_in_declared_order():
    document = topology({"a": LITERAL, "b": PASS, "c": PASS}, [("a", "b"), ("a", "c")], end=["c", "b"])

    result, _ = run(document)

    assert list(result.outputs) == ["c", "b"]


def test_failed_node_fails_the_run_while_its_sibling_finishes_and_nothing_starts_after():
    document = topology(
        {"s": LITERAL, "bad": asks("p"), "good": asks("p"), "t": PASS},
        [("s", "bad"), ("s", "good"), ("bad", "t"), ("good", "t")],
    )

    result, journal = run(
        document, {"nodes": {"bad": [{"fault": "broken"}], "good": [{"text": "fine", "latency_s": 0.05}]}}
    )

    assert (result.status, result.code) == ("failed", "broken")
    assert "t" not in result.visits
    assert {event.node: event.status for event in journal.events if event.kind == "visit_ended"} == {
        "s": "succeeded",
        "bad": "failed",
        "good": "succeeded",
    }


def test_node_that_may_fail_lets_the_run_go_on_by_the_edge_that_asks_for_it():
    document = topology(
        {
            "a": asks("p", on_error="continue"),
            "b": PASS,
            "rescue": {"type": "literal", "content": "rescued"},
            "t": PASS,
        },
        [("a", "b"), ("a", "rescue", {"when": {"status": "failed"}}), ("b", "t"), ("rescue", "t")],
    )

    result, _ = run(document, {"nodes": {"a": [{"fault": "broken"}]}})

    assert (result.status, result.output) == ("succeeded", "rescued")
    assert "b" not in result.visits


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        ({"model_calls": 2}, "model_calls"),
        ({"visits_per_node": 1}, "visits_per_node"),
        ({"tokens": 15}, "tokens"),
        ({"output_tokens": 10}, "output_tokens"),
    ],
)
def test_each_limit_ends_the_run_with_its_own_name_before_it_is_exceeded(limits, code):
    script = {
        "nodes": {
            "writer": [{"text": "d", "tokens": {"input": 5, "output": 5}}],
            "reviewer": [{"text": '{"verdict": "revise"}', "tokens": {"input": 5, "output": 5}}],
        }
    }

    result, journal = run(REVIEW, script, limits=limits)

    assert (result.status, result.code) == ("limit_reached", code)
    assert result.usage.model_calls == {"model_calls": 2, "visits_per_node": 2}.get(code, 2)
    assert sum(event.kind == "model_called" for event in journal.events) == result.usage.model_calls


def test_money_limit_counts_what_calls_cost():
    script = {
        "nodes": {
            "writer": [{"text": "d", "cost_usd": 0.6}],
            "reviewer": [{"text": '{"verdict": "revise"}', "cost_usd": 0.6}],
        }
    }

    result, _ = run(REVIEW, script)

    assert float(result.usage.cost_usd) == pytest.approx(6.0)
    assert result.usage.unpriced_calls == 0


def test_parallel_branches_never_make_one_call_too_many():
    names = [f"a{number}" for number in range(20)]
    document = topology(
        {"s": LITERAL, **{name: asks("p") for name in names}, "t": PASS},
        [("s", name) for name in names] + [(name, "t") for name in names],
    )

    result, journal = run(document, {"default": "x", "latency_s": 0.01}, limits={"model_calls": 7})

    assert (result.status, result.usage.model_calls) == ("limit_reached", 7)
    assert sum(event.kind == "model_called" for event in journal.events) == 7


def test_time_limit_aborts_the_call_under_way():
    began = time.monotonic()

    result, _ = run(REVIEW, {"nodes": {"writer": [{"text": "d", "latency_s": 30}]}}, limits={"seconds": 0.2})

    assert (result.status, result.code) == ("limit_reached", "seconds")
    assert "'writer'" in result.reason
    assert time.monotonic() - began < 5


def test_stop_aborts_the_call_under_way_and_nothing_comes_after():
    began = time.monotonic()

    result, journal = run(REVIEW, {"nodes": {"writer": [{"text": "d", "latency_s": 30}]}}, stop_after=0.1)

    assert result.status == "stopped"
    assert time.monotonic() - began < 5
    assert journal.events[-1].kind == "run_ended"


def test_passing_faults_are_asked_again_and_every_attempt_is_written_down():
    fault = {"fault": {"code": "rate_limited", "message": "Too many.", "temporary": True}}
    document = topology({"a": asks("p"), "t": PASS}, [("a", "t")])

    result, journal = run(document, {"nodes": {"a": [fault, fault, "at last"]}})

    assert (result.status, result.output, result.usage.model_calls) == ("succeeded", "at last", 3)
    assert [event.status for event in journal.events if event.kind == "model_called"] == [
        "rate_limited",
        "rate_limited",
        "ok",
    ]


def test_passing_fault_that_stays_fails_with_the_providers_sentence():
    fault = {"fault": {"code": "rate_limited", "message": "Too many requests.", "temporary": True}}

    result, _ = run(topology({"a": asks("p"), "t": PASS}, [("a", "t")]), {"nodes": {"a": [fault]}})

    assert (result.status, result.code, result.reason) == ("failed", "rate_limited", "Too many requests.")
    assert result.usage.model_calls == 4


MIXED = topology(
    {
        "s": LITERAL,
        "left": asks("{{ inbox }}"),
        "right": asks("{{ inbox }}", tools=["write_file", "read_file"]),
        "writer": asks("{{ inbox }}{% if visit > 1 %}{{ nodes.writer.output }}{% endif %}"),
        "reviewer": asks("{{ inbox }}", output=VERDICT),
        "t": {"type": "passthrough", "all": True},
    },
    [
        ("s", "left"),
        ("s", "right"),
        ("left", "writer"),
        ("right", "writer"),
        ("writer", "reviewer"),
        ("reviewer", "writer", {"when": {"field": "verdict", "equals": "revise"}, "max": 3}),
        ("reviewer", "t", {"when": {"field": "verdict", "equals": "accept"}}),
        ("writer", "t", {"trigger": False}),
    ],
)
MIXED_SCRIPT = {
    "nodes": {
        "left": [{"fault": {"code": "busy", "message": "Busy.", "temporary": True}}, "L"],
        "right": [
            {"text": "", "tool_calls": [{"name": "write_file", "arguments": {"path": "a.txt", "content": "A"}}]},
            {"text": "", "tool_calls": [{"name": "read_file", "arguments": {"path": "a.txt"}}]},
            "R",
        ],
        "writer": ["d1", "d2"],
        "reviewer": ["not json", '{"verdict": "revise"}', '{"verdict": "accept"}'],
    }
}


def test_run_that_dies_at_any_event_goes_on_to_the_same_end_and_repeats_no_call(tmp_path):
    (tmp_path / "whole").mkdir()
    whole, journal = run(MIXED, MIXED_SCRIPT, workspace=tmp_path / "whole")
    assert whole.status == "succeeded"
    calls = [event for event in journal.events if event.kind in ("model_called", "tool_called")]

    for cut in range(1, len(journal.events) + 1):
        workspace = tmp_path / f"cut{cut}"
        workspace_fork(tmp_path / "whole", workspace)
        workspace.mkdir()
        (workspace / "a.txt").write_text("half do")
        kept = [EVENT.validate_json(event.model_dump_json()) for event in journal.events[:cut]]
        again, rest = run(MIXED, MIXED_SCRIPT, journal=MemoryJournal(kept), workspace=workspace)

        assert again._replace(usage=None) == whole._replace(usage=None, order=again.order)
        assert sorted(again.order) == sorted(whole.order)
        assert again.usage.model_calls == whole.usage.model_calls
        made = [event for event in rest.events if event.kind in ("model_called", "tool_called")]
        already = [event for event in kept if event.kind in ("model_called", "tool_called")]
        assert len(made) + len(already) == len(calls)
        assert [event.kind for event in [*kept, *rest.events]].count("run_ended") == 1


class Counting(Provider):
    """Answers, and counts how many calls it is in at once."""

    def __init__(self):
        self.now = self.most = 0

    @classmethod
    def from_environ(cls, environ):
        return cls()

    async def probe(self):
        return ProbeResult(ok=True, message="Here.")

    async def chat(self, request, on_text=None):
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.05)
        self.now -= 1
        return ModelReply(content="x", usage=Usage())


def test_independent_branches_do_not_wait_for_each_other():
    """Two chains, (short, long) and (long, short), then a join: with a barrier between steps it would be 2 × long."""
    slow = {"text": "x", "latency_s": 0.4}
    document = topology(
        {"s": LITERAL, "a1": asks("p"), "a2": asks("p"), "b1": asks("p"), "b2": asks("p"), "t": PASS},
        [("s", "a1"), ("a1", "a2"), ("a2", "t"), ("s", "b1"), ("b1", "b2"), ("b2", "t")],
    )
    _, journal = run(document, {"nodes": {"a2": [slow], "b1": [slow]}})
    started = {event.node: event.at for event in journal.events if event.kind == "visit_started"}
    ended = {event.node: event.at for event in journal.events if event.kind == "visit_ended"}

    assert started["a2"] < ended["b1"]


def test_hundred_branches_are_under_way_at_once():
    names = [f"a{number}" for number in range(100)]
    document = topology(
        {"s": LITERAL, **{name: asks("p") for name in names}, "t": {"type": "passthrough", "all": True}},
        [("s", name) for name in names] + [(name, "t") for name in names],
    )
    provider = Counting()

    result, _ = run(document, providers=Providers({}, only=provider))

    assert provider.most == 100
    assert result.node_outputs["t"] == ["x"] * 100


def test_long_run_goes_through_many_supersteps():
    document = topology(
        {"a": asks("p"), "t": PASS},
        [("a", "a", {"when": {"contains_any": ["more"]}}), ("a", "t", {"when": {"contains_any": ["done"]}})],
        limits={"visits_per_node": 1000, "model_calls": 1000},
    )

    result, _ = run(document, {"nodes": {"a": ["more"] * 600 + ["done"]}})

    assert (result.status, result.visits["a"]) == ("succeeded", 601)


def test_langgraph_shows_each_waiting_node_under_its_own_id():
    drawn = compile_plan(planned(MIXED)).state_graph.get_graph()

    assert {"left", "right", "writer", "reviewer"} <= set(drawn.nodes)
    assert ("left", "writer") in {(edge.source, edge.target) for edge in drawn.edges}


def test_node_called_run_is_no_clash_with_the_graphs_own():
    result, _ = run(
        topology({"runs": asks("p"), "Run": asks("p"), "t": PASS}, [("runs", "Run"), ("Run", "t")]), {"default": "x"}
    )

    assert result.status == "succeeded"


def test_message_to_a_node_that_never_runs_is_dropped_and_said():
    document = topology(
        {"a": LITERAL, "b": PASS, "c": PASS, "t": PASS},
        [
            ("a", "c", {"trigger": False}),
            ("a", "b"),
            ("b", "c", {"when": {"contains_any": ["never"]}}),
            ("b", "t"),
            ("c", "t"),
        ],
    )

    result, journal = run(document)

    assert result.status == "succeeded"
    assert any(event.kind == "noted" and "'c'" in event.text for event in journal.events)


def test_fault_of_ours_is_raised_and_not_hidden():
    class Broken(Counting):
        async def chat(self, request, on_text=None):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(topology({"a": asks("p"), "t": PASS}, [("a", "t")]), providers=Providers({}, only=Broken()))


def test_provider_that_asks_to_wait_longer_than_the_run_has_ends_it_at_once():
    class Busy(Counting):
        async def chat(self, request, on_text=None):
            raise ProviderError("Busy.", code="rate_limited", temporary=True, retry_after=600)

    result, _ = run(
        topology({"a": asks("p"), "t": PASS}, [("a", "t")]),
        providers=Providers({}, only=Busy()),
        limits={"seconds": 60},
    )

    assert (result.status, result.code) == ("limit_reached", "seconds")


def test_events_read_back_as_they_were_written():
    _, journal = run(MIXED, MIXED_SCRIPT | {"nodes": MIXED_SCRIPT["nodes"] | {"right": ["R"]}})

    for event in journal.events:
        assert EVENT.validate_python(json.loads(event.model_dump_json())) == event
