"""What the database says to whoever joins. Asked in a thread that gives its connection back: a stream holds none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from asgiref.sync import sync_to_async
from django.db import connection

from workbench.experiments.live.wire import EVENT_FIELDS, event_told
from workbench.experiments.models import Run, RunEvent
from workbench.experiments.totals import Totals

LATEST = 2**31 - 1
"""After this no event comes."""
MOST_EVENTS = 1000
"""Whoever has missed more than this reads the page again."""


class Past(NamedTuple):
    """A run as it stands: its events after a given one (none when there are too many), and where it is."""

    events: list[dict[str, Any]]
    last: int
    too_many: bool
    attempt: int
    status: str
    has_ended: bool
    totals: tuple[Any, ...]


async def past_of(run_id: int, after: int) -> Past | None:
    """None where there is no such run."""
    found: Past | None = await sync_to_async(_with_connection(_past_of), thread_sensitive=False)(run_id, after)
    return found


def _with_connection(work: Callable[..., Any]) -> Callable[..., Any]:
    def worked(*arguments: Any) -> Any:
        try:
            return work(*arguments)
        finally:
            connection.close()

    return worked


def _past_of(run_id: int, after: int) -> Past | None:
    run = Run.objects.filter(pk=run_id).first()  # before its events: what it says must not be newer than they are
    if run is None:
        return None
    events = RunEvent.objects.filter(run=run_id)
    newest = events.order_by("-sequence").values_list("sequence", flat=True).first() or 0
    later = events.filter(sequence__gt=after).order_by("sequence")
    rows = list(later.values_list(*EVENT_FIELDS)[: MOST_EVENTS + 1])
    too_many = len(rows) > MOST_EVENTS
    return Past(
        [] if too_many else [event_told(row) for row in rows],
        rows[-1][0] if rows and not too_many else newest,
        too_many,
        run.attempt,
        run.status,
        run.has_ended,
        tuple(getattr(run, name) for name in Totals.COLUMNS),
    )
