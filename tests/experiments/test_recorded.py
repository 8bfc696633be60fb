"""What a new attempt takes from earlier ones: everything, but for what made a run fail that had ended."""

from __future__ import annotations

from tests.engine.support import asks, planned, run, topology
from workbench.engine.events import MemoryJournal
from workbench.experiments.recorded import worth_keeping

BROKEN = {"nodes": {"b": [{"fault": "broken"}]}, "default": "x"}
INNER = topology(
    {"a": asks("a", on_error="continue"), "b": {"type": "literal", "content": "saved"}},
    [("a", "b", {"when": {"status": "failed"}})],
)


def made(journal):
    return [event.node for event in journal.events if event.kind == "model_called"]


def test_failure_of_a_run_that_had_ended_is_done_anew():
    document = topology({"a": asks("a"), "b": asks("b")}, [("a", "b")])
    first, journal = run(document, BROKEN)
    assert first.status == "failed"

    again, second = run(
        document, {"default": "x"}, journal=MemoryJournal(worth_keeping(journal.events, planned(document)))
    )

    assert (again.status, made(second)) == ("succeeded", ["b"])


def test_failure_that_was_written_down_before_a_death_stands_and_costs_nothing_again():
    document = topology({"a": asks("a"), "b": asks("b")}, [("a", "b")])
    _, journal = run(document, BROKEN)
    died = journal.events[:-1]

    again, second = run(document, {"default": "x"}, journal=MemoryJournal(worth_keeping(died, planned(document))))

    assert (again.status, made(second)) == ("failed", [])


def test_second_attempt_that_died_keeps_what_it_had_done_anew():
    document = topology({"a": asks("a"), "b": asks("b"), "c": asks("c")}, [("a", "b"), ("b", "c")])
    plan = planned(document)
    _, first = run(document, BROKEN)
    _, second = run(document, {"default": "x"}, journal=MemoryJournal(worth_keeping(first.events, plan)))
    cut = next(number for number, event in enumerate(second.events) if event.kind == "model_called") + 1
    died = [*first.events, *second.events[:cut]]

    again, third = run(document, {"default": "x"}, journal=MemoryJournal(worth_keeping(died, plan)))

    assert (again.status, made(third)) == ("succeeded", ["c"])


def test_node_of_a_nested_topology_that_may_fail_is_not_asked_again():
    document = topology(
        {"inner": {"type": "topology", "topology": INNER}, "last": asks("{{ inbox }}")}, [("inner", "last")]
    )
    script = {"nodes": {"a": [{"fault": "broken"}], "last": [{"fault": "broken"}]}}
    _, journal = run(document, script)
    kept = worth_keeping(journal.events, planned(document))

    again, second = run(document, {"default": "x"}, journal=MemoryJournal(kept))

    assert (again.status, made(second)) == ("succeeded", ["last"])
