"""One thing that viewers of a run are told, and what all of them together come to."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, Self

from django.template.loader import render_to_string

from workbench.experiments.live.calls import TAIL
from workbench.experiments.live.past import Past
from workbench.experiments.models import Run
from workbench.experiments.totals import Totals

Json = dict[str, Any]


def ended(status: str) -> bool:
    """Whether nothing comes after this."""
    return status in Run.ENDED


@dataclass(frozen=True)
class Told:
    """`last`: the newest event of the journal that is known with it. `calls`: those under way, None: as before."""

    last: int = 0
    attempt: int = 0
    events: tuple[Json, ...] = ()
    gap: bool = False
    too_many: bool = False
    totals: tuple[Any, ...] | None = None
    status: str = ""
    calls: tuple[Json, ...] | None = None
    more: int = 0

    @classmethod
    def of_past(cls, past: Past) -> Self:
        """What the journal holds."""
        return cls(
            last=past.last,
            attempt=past.attempt,
            events=tuple(past.events),
            too_many=past.too_many,
            totals=past.totals,
            status=past.status,
        )

    def next(self, entry: Json) -> Told:
        """What an entry of the stream tells to whoever knows all up to here. `gap`: something between is missing."""
        events = tuple(event for event in entry.get("events", ()) if event["sequence"] > self.last)
        last = max(self.last, entry.get("last", 0), *(event["sequence"] for event in events))
        now = entry.get("now")
        return Told(
            last=last,
            attempt=entry["attempt"],
            events=events,
            gap=last - self.last > len(events),
            totals=tuple(entry["totals"]) if "totals" in entry else None,
            status=entry.get("status", "") or ("running" if entry["attempt"] > self.attempt else ""),
            calls=tuple(now["calls"]) if now else None,
            more=now["more"] if now else 0,
        )

    def mended(self, past: Past) -> Told:
        """With the events that were missing."""
        return replace(
            self,
            last=max(self.last, past.last),
            events=tuple(past.events),
            too_many=past.too_many,
            totals=past.totals,
            status=self.status or (past.status if ended(past.status) else ""),
            gap=False,
        )

    def after(self, told: Told) -> Told:
        """All that was told so far, once `told` was told too: texts whole, as far as they are kept."""
        calls = self.calls
        if told.calls is not None:
            before = {call["id"]: call for call in self.calls or () if told.attempt == self.attempt}
            calls = tuple(_grown(before.get(call["id"]), call) for call in told.calls)
        return Told(
            last=told.last,
            attempt=told.attempt,
            status=told.status or self.status,
            calls=calls,
            more=self.more if told.calls is None else told.more,
        )

    def frame(self, known: int) -> bytes:
        """As the browser is sent it, without the events that it knows."""
        events = tuple(event for event in self.events if event["sequence"] > known)
        if len(events) == len(self.events) and known <= self.last:
            return self.whole
        return replace(self, last=max(self.last, known), events=events).whole

    @cached_property
    def whole(self) -> bytes:
        """The same for all who know nothing of it."""
        data: Json = {"attempt": self.attempt, "last": self.last}
        if self.events:
            data["events"] = self.events
        if self.too_many:
            data["again"] = True
        if self.totals is not None:
            data["stats"] = _stats(self.totals)
        if self.status:
            data["status"] = self.status
            data["ended"] = ended(self.status)
        if self.calls is not None:
            data |= {"calls": self.calls, "more": self.more}
        return b"id: %d\ndata: %s\n\n" % (data["last"], json.dumps(data, default=str).encode())


def _grown(before: Json | None, call: Json) -> Json:
    """A call with all of its text, its end at least."""
    if before is None or call["from"] == 0 or before["thinks"] != call["thinks"]:
        return call
    if before["from"] + len(before["text"]) != call["from"]:
        return call
    text = before["text"] + call["text"]
    cut = max(0, len(text) - TAIL)
    return {**call, "from": before["from"] + cut, "text": text[cut:]}


def _stats(totals: tuple[Any, ...]) -> str:
    """The figures of a run, as its page shows them."""
    values = dict(zip(Totals.COLUMNS, totals, strict=True))
    for name, value in values.items():
        if isinstance(value, str):
            values[name] = Decimal(value)
    return render_to_string("experiments/_run_figures.html", {"run": Run(**values)})


NOTHING = Told()
