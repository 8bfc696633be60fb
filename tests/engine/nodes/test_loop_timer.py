from __future__ import annotations

import time

from workbench.engine.events import MessageData, VisitEnded
from workbench.engine.nodes.loop_timer import LoopTimer, LoopTimerConfig


def test_timer_is_silent_or_forwards_until_its_time_and_then_emits():
    silent, forwards = (
        LoopTimer("t", LoopTimerConfig(seconds=30, message="over", forward=each)) for each in (False, True)
    )
    inbox = (MessageData(text="x"),)

    assert silent.wire(inbox, {}).messages == ()
    assert forwards.wire(inbox, {})[0][0].text == "x"
    assert silent.wire(inbox, {"since": time.time() - 31})[0][0].text == "over"


def test_clock_goes_on_from_the_journal():
    timer, state = LoopTimer("t", LoopTimerConfig(seconds=30)), {}
    ended = {"node": "t", "status": "succeeded"}

    timer.recall(state, VisitEnded(at=1000, visit=1, **ended), ())
    timer.recall(state, VisitEnded(at=1020, visit=2, **ended), ())
    assert state["since"] == 1000
    timer.recall(state, VisitEnded(at=1031, visit=3, **ended), ())
    assert state["since"] == 1031
