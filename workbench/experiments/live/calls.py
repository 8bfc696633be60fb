"""The calls of a run that go on now, as viewers are told of them: what is new since the last time, or all of it."""

from __future__ import annotations

from time import monotonic
from typing import Any

from workbench.engine.under_way import Call, UnderWay
from workbench.experiments.live.wire import WATCH_S
from workbench.experiments.text import visible

MOST_CALLS, MOST_NAME = 12, 200
TAIL = 4000
"""So much of what a model has said is told to whoever did not hear its beginning."""

Words = tuple[bool, int]
"""Whether it is the reasoning that was told, and how many characters of it."""


class CallsTold:
    """What was told of one run's calls."""

    def __init__(self, under_way: UnderWay) -> None:
        self._under_way = under_way
        self._numbers: dict[Call, int] = {}
        self._count = 0
        self._told: dict[Call, tuple[str, Words]] = {}
        self._at = 0.0

    def again(self) -> None:
        """Somebody new listens: tell all of it next time."""
        self._told, self._at = {}, 0.0

    def news(self) -> dict[str, Any] | None:
        """The calls now, each with what it said since the last time; None when nothing has changed for a while."""
        calls = self._under_way.calls()
        self._numbers = {call: self._numbers.get(call) or self._next() for call in calls}
        shown, before = calls[:MOST_CALLS], self._told
        self._told = {}
        rows = [self._row(call, before.get(call)) for call in shown]
        if self._told == before and monotonic() - self._at < WATCH_S:
            return None
        self._at = monotonic()
        return {"calls": rows, "more": len(calls) - len(shown)}

    def _next(self) -> int:
        self._count += 1
        return self._count

    def _row(self, call: Call, before: tuple[str, Words] | None) -> dict[str, Any]:
        heard = call.heard.said() if call.heard is not None else None
        text, thinks = "", False
        if heard is not None:
            text, thinks = heard.text or heard.reasoning, not heard.text and bool(heard.reasoning)
        told = before[1] if before is not None and before[0] == call.phase else (thinks, 0)
        start = told[1] if told[0] == thinks and told[1] <= len(text) else 0
        start = max(start, len(text) - TAIL)
        self._told[call] = (call.phase, (thinks, len(text)))
        return {
            "id": self._numbers[call],
            "node": ":".join((*call.path, call.node)),
            "visit": call.visit,
            "unit": call.unit,
            "kind": call.kind,
            "name": visible(call.name[:MOST_NAME]),  # a model may ask for any tool
            "phase": call.phase,
            "seconds": round(monotonic() - call.since, 2),
            "quiet": None if heard is None or heard.quiet is None else round(heard.quiet, 2),
            "thinks": thinks,
            "from": start,
            "text": visible(text[start:]),
        }
