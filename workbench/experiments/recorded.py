"""Which recorded events a new attempt takes its results from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.engine.events import (
    Answered,
    Asked,
    LimitHit,
    ModelCalled,
    RunEnded,
    ToolCalled,
    VisitEnded,
    VisitStarted,
)
from workbench.engine.planning import RunPlan
from workbench.engine.recorded import Place, ends_the_run

OF_VISITS = (VisitStarted, ModelCalled, ToolCalled, Asked, Answered, VisitEnded)


def worth_keeping(events: Sequence[Any], plan: RunPlan) -> list[Any]:
    """All that happened; but once a run had ended, whoever queues it again wants done anew what made it fail, and limits
    that ended it are no result. What an attempt wrote that only died is kept, failures too."""
    over = max((number for number, event in enumerate(events, 1) if isinstance(event, RunEnded)), default=0)
    failed = {
        Place.of(event)
        for event in events[:over]
        if isinstance(event, VisitEnded) and event.status == "failed" and ends_the_run(plan, event)
    }
    kept = [event for event in events[:over] if not (isinstance(event, OF_VISITS) and Place.of(event) in failed)]
    return [event for event in (*kept, *events[over:]) if not isinstance(event, LimitHit)]
