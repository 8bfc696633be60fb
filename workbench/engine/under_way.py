"""What of a run is under way at this moment, for whoever watches it. Nothing of it is written down or repeated.

It costs next to nothing while nobody looks: calls are entered and taken out, and what a model has said so far is put
together when somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Literal, NamedTuple

Phase = Literal["turn", "answer", "pause", "tool"]
"""Waiting for its turn at the provider, for the answer, for the next attempt; or a tool that works."""


class Said(NamedTuple):
    """What a model has said so far. `quiet` is how many seconds ago the last piece came; None: none has come."""

    text: str = ""
    reasoning: str = ""
    quiet: float | None = None


class Heard:
    """The `on_text` of a call that may be watched: a provider that can tell what it has so far is asked when needed."""

    __slots__ = ("_last", "_look", "_pieces")

    def __init__(self) -> None:
        self._look: Callable[[], Said] | None = None
        self._pieces: list[str] = []
        self._last: float | None = None

    def __call__(self, piece: str) -> None:
        """Another piece, from a provider that knows no better way."""
        self._pieces.append(piece)
        self._last = monotonic()

    def follow(self, look: Callable[[], Said]) -> None:
        """Ask there instead. May be asked from another thread."""
        self._look = look

    def said(self) -> Said:
        """What was said so far."""
        if self._look is not None:
            return self._look()
        return Said("".join(self._pieces), "", None if self._last is None else monotonic() - self._last)


@dataclass(slots=True, eq=False)
class Call:
    """A call that goes on: all attempts of a model call, or one use of a tool."""

    path: tuple[str, ...]
    node: str
    visit: int
    unit: int | None
    kind: Literal["model", "tool"]
    name: str
    phase: Phase
    since: float = field(default_factory=monotonic)
    heard: Heard | None = None

    def enters(self, phase: Phase, heard: Heard | None = None) -> None:
        """It goes into its next phase."""
        self.phase, self.since, self.heard = phase, monotonic(), heard


class UnderWay:
    """The calls of one run that go on now. Written on the run's loop, read from anywhere."""

    def __init__(self) -> None:
        self._calls: dict[Call, None] = {}

    def begin(self, call: Call) -> Call:
        """From now on it goes on."""
        self._calls[call] = None
        return call

    def end(self, call: Call) -> None:
        """It is over."""
        self._calls.pop(call, None)

    def calls(self) -> list[Call]:
        """Those that go on now, in the order of their beginning."""
        return list(self._calls)
