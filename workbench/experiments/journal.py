"""The journal of a run in the database: what is told, what is spent, and what a later attempt takes results from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from pydantic_core import PydanticSerializationError

from workbench.engine.events import EVENT, ModelCalled, ToolCalled, VisitEnded
from workbench.experiments.models import Run, RunEvent
from workbench.experiments.payloads import APART, payloads_of, whole
from workbench.experiments.totals import Totals
from workbench.experiments.writer import Fenced, Held, JournalLost, Writer

CHUNK = 500
INHERITED = 0
"""The attempt of events that a fork has from its parent."""


class Past(NamedTuple):
    """What earlier attempts left: the number of the last event, and what has been spent."""

    sequence: int
    totals: Totals


class DatabaseJournal:
    """The journal of one attempt of a run."""

    def __init__(self, writer: Writer, held: Held, recorded: Sequence[Any], past: Past) -> None:
        self.recorded = recorded
        self.lost: Exception | None = None
        self._writer, self._held = writer, held
        self._sequence, self._totals = past.sequence, past.totals

    @property
    def seconds(self) -> float:
        """Working time over all attempts."""
        return self._totals.seconds

    def post(self, event: Any) -> None:
        """Takes the event in its turn. If it is refused, so is everything after it."""
        self._writer.post(self._held, *self._row(event))

    async def append(self, event: Any) -> None:
        """Returns when the event is durable. Once one was refused, all are: `lost` says why."""
        try:
            await self._writer.append(self._held, *self._row(event))
        except (Fenced, JournalLost) as error:
            self.lost = error
            raise

    def _row(self, event: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        if self.lost is not None:
            raise self.lost
        self._sequence += 1
        self._totals.add(event)
        return event_row(event, self._held, self._sequence), self._totals.row()


def event_row(event: Any, held: Held, sequence: int) -> tuple[Any, ...]:
    """The event as the table holds it."""
    status = fired = ""
    seconds = tokens_in = tokens_out = waited = None
    if isinstance(event, ModelCalled | ToolCalled | VisitEnded):
        status, seconds = event.status, event.seconds
    if isinstance(event, ModelCalled):
        tokens_in, tokens_out, waited = event.input_tokens, event.output_tokens, event.waited_seconds or None
    if isinstance(event, VisitEnded):
        fired = ",".join(map(str, event.fired))
    return (
        held.run_id, sequence, held.attempt, event.kind, event_node(event), getattr(event, "visit", 0),
        event.at, status[:60], fired, seconds, tokens_in, tokens_out, waited,
        event_text(event),
    )  # fmt: skip


def event_node(event: Any) -> str:
    """Whose event it is, unique in the run: inside a nested topology `outer.1:inner`, else the node's id."""
    return ":".join((*getattr(event, "path", ()), getattr(event, "node", "")))[:500]


def event_text(event: Any) -> str:
    """The event as JSON. NUL is an escape, and so are half surrogate pairs: every database can keep it."""
    try:
        return str(event.model_dump_json())
    except PydanticSerializationError:  # half a surrogate pair
        return json.dumps(event.model_dump(), ensure_ascii=True, default=str, separators=(",", ":"))


def event_read(data: str) -> Any:
    """The event of a row."""
    return events_read([data])[0]


def events_read(rows: Sequence[str]) -> list[Any]:
    """The events of rows, as they were before `event_text`. Raises `PayloadMissing`."""
    found = payloads_of(rows)
    return [EVENT.validate_python(whole(data, found)) for data in rows]


def event_json(data: str) -> str:
    """The event of a row as JSON text, in ASCII where it had been taken apart."""
    return json.dumps(whole(data, payloads_of([data]))) if data.startswith(APART) else data


def journal_new(run: Run) -> tuple[list[Any], Past]:
    """The same where nothing has happened yet."""
    return [], Past(0, Totals(seconds_before=run.seconds))


def journal_past(run: Run) -> tuple[list[Any], Past]:
    """The events of earlier attempts, and what they add up to. What a fork has from its parent it has not spent."""
    rows = RunEvent.objects.filter(run=run).order_by("sequence").values_list("sequence", "attempt", "data")
    events, past = journal_new(run)
    for chunk in batched(rows.iterator(chunk_size=CHUNK), CHUNK):
        read = events_read([data for _, _, data in chunk])
        for event, (sequence, attempt, _) in zip(read, chunk, strict=True):
            if attempt > INHERITED:
                past.totals.add(event)
            past = past._replace(sequence=sequence)
        events += read
    return events, past


def batched(rows: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """So many at a time."""
    left = iter(rows)
    while chunk := list(islice(left, size)):
        yield chunk
