from __future__ import annotations

from workbench.engine.nodes.loop_counter import LoopCounter, LoopCounterConfig


def test_counter_is_silent_until_its_visit_and_then_starts_again():
    counter, state = LoopCounter("c", LoopCounterConfig(count=3, message="now")), {}

    emitted = [[message.text for message in counter.wire((), state).messages] for _ in range(6)]

    assert emitted == [[], [], ["now"], [], [], ["now"]]
