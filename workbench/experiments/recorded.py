"""Which recorded events a new attempt takes its results from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.engine.events import Answered, Asked, LimitHit, ModelCalled, ToolCalled, VisitEnded, VisitStarted

OF_VISITS = (VisitStarted, ModelCalled, ToolCalled, Asked, Answered, VisitEnded)


def worth_keeping(events: Sequence[Any], plan: Any) -> list[Any]:
    """All that happened, but for visits that made the run fail and limits that ended it: a retry does those again."""
    failed = {
        place(event)
        for event in events
        if isinstance(event, VisitEnded) and event.status == "failed" and ends_the_run(plan, event.node)
    }
    return [
        event
        for event in events
        if not isinstance(event, LimitHit) and not (isinstance(event, OF_VISITS) and place(event) in failed)
    ]


def place(event: Any) -> tuple[Any, ...]:
    """Which visit an event belongs to."""
    return (event.path, event.node, event.visit)


def ends_the_run(plan: Any, node: str) -> bool:
    """Whether a failure of this node is a failure of the run."""
    return bool(plan.topology["nodes"].get(node, {}).get("on_error", "fail") == "fail")
