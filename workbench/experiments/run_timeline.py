"""Where the time of visits went: waiting for a turn, the model, tools, a person, and the rest; as bars on one clock."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from workbench.experiments.models import Run

WIDTH = 1000
"""Of a bar's drawing; the page stretches it."""
LEAST = 2.5
"""So wide is the shortest piece, or nobody would see it."""
KINDS = {"turn": "waiting for its turn", "model": "model", "tool": "tools", "person": "a person"}
OF_CALLS = {"model_called": "model", "tool_called": "tool"}

Span = tuple[float, float]


class Piece(NamedTuple):
    """A stretch of a bar."""

    kind: str
    x: float
    width: float


class Bar(NamedTuple):
    """A visit on the clock; `shares` are the seconds of each kind, `rest` what is none of them."""

    x: float
    width: float
    pieces: list[Piece]
    words: str


class Timeline(NamedTuple):
    """The visits of one page. `seconds` is how far its clock goes, `starts` where it begins in the run's own time."""

    bars: dict[tuple[str, int], Bar]
    starts: float
    seconds: float

    @property
    def ends(self) -> float:
        """Where it ends in the run's own time."""
        return self.starts + self.seconds


class Spans:
    """What is known of one visit."""

    def __init__(self) -> None:
        self.begun: float | None = None
        self.ended: float | None = None
        self.last = 0.0
        self.asked: list[float] = []
        self.of: dict[str, list[Span]] = {kind: [] for kind in KINDS}

    def add(self, kind: str, at: float, seconds: float | None, waited: float | None) -> None:
        """Take in an event."""
        self.last = max(self.last, at)
        if kind == "visit_started":
            self.begun = at if self.begun is None else min(self.begun, at)
        elif kind == "visit_ended":
            self.ended = at
            self.begun = at - (seconds or 0.0) if self.begun is None else self.begun
        elif kind == "asked":
            self.asked.append(at)
        elif kind == "answered" and self.asked:
            self.of["person"].append((self.asked.pop(0), at))
        elif kind in OF_CALLS:
            start = at - (seconds or 0.0)
            self.of[OF_CALLS[kind]].append((start, at))
            if waited:
                self.of["turn"].append((start - waited, start))

    def close(self, now: float | None) -> Span | None:
        """From where to where it goes; what is open goes on until now, or ended with the last that is known."""
        until = self.last if now is None else now
        self.of["person"] += [(at, until) for at in self.asked]
        if self.begun is None:
            return None
        return self.begun, max(self.begun, until if self.ended is None else self.ended)


def run_timeline(run: Run, visits: Sequence[dict[str, Any]]) -> Timeline:
    """The bars of these visits."""
    wanted = {(visit["node"], visit["visit"]): Spans() for visit in visits}
    for node, visit, *event in _events(run, wanted):
        if (spans := wanted.get((node, visit))) is not None:
            spans.add(*event)
    now = None if run.has_ended else time.time()
    found = {place: (spans, whole) for place, spans in wanted.items() if (whole := spans.close(now)) is not None}
    if not found:
        return Timeline({}, 0.0, 0.0)
    first = min(whole[0] for _, whole in found.values())
    seconds = max(max(whole[1] for _, whole in found.values()) - first, 0.001)
    bars = {place: _bar(spans, whole, first, WIDTH / seconds) for place, (spans, whole) in found.items()}
    began = run.started_at.timestamp() if run.started_at else first
    return Timeline(bars, max(0.0, first - began), seconds)


def _events(run: Run, wanted: Iterable[tuple[str, int]]) -> Any:
    """The events of these visits, and perhaps some more of their nodes."""
    nodes, visits = {node for node, _ in wanted}, [visit for _, visit in wanted]
    if not visits:
        return ()
    kinds = ("visit_started", "visit_ended", "asked", "answered", *OF_CALLS)
    rows = run.events.filter(
        kind__in=kinds, node__in=nodes, visit__gte=min(visits), visit__lte=max(visits), attempt__gt=0
    )
    return rows.order_by("sequence").values_list("node", "visit", "kind", "at", "seconds", "waited")


def _bar(spans: Spans, whole: Span, first: float, scale: float) -> Bar:
    joined = {kind: _joined(found, whole) for kind, found in spans.of.items()}
    pieces = [
        Piece(kind, round((start - first) * scale, 1), round(max((end - start) * scale, LEAST), 1))
        for kind, found in joined.items()
        for start, end in found
    ]
    start, end = whole
    everything = _joined([span for found in joined.values() for span in found], whole)
    shares = {kind: _length(found) for kind, found in joined.items()}
    rest = max(0.0, end - start - _length(everything))
    return Bar(
        round((start - first) * scale, 1), round(max((end - start) * scale, LEAST), 1), pieces, _words(shares, rest)
    )


def _joined(spans: Iterable[Span], within: Span) -> list[Span]:
    """Without overlaps, cut to the visit: the parallel calls of a map are one stretch."""
    found: list[Span] = []
    for start, end in sorted(spans):
        start, end = max(start, within[0]), min(end, within[1])
        if end < start:
            continue
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def _length(spans: Iterable[Span]) -> float:
    return sum(end - start for start, end in spans)


def _words(shares: dict[str, float], rest: float) -> str:
    said = [f"{KINDS[kind]} {_seconds(value)}" for kind, value in shares.items() if value > 0]
    return ", ".join([*said, f"the rest {_seconds(rest)}"]) if said else f"{_seconds(rest)}, without calls"


def _seconds(value: float) -> str:
    return f"{value:.2f} s" if value < 10 else f"{value:,.0f} s"
