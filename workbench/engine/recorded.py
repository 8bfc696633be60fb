"""What a run has written down, put in order for those who take results from it: resume, replay, fork.

A place is one visit: the nested topologies around it, its node, its number. A visit that was begun a second time was
made anew: what it had told before does not count any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from workbench.engine.events import CUT_OFF, RunEnded, VisitEnded, VisitStarted
from workbench.engine.planning import RunPlan

Path = tuple[str, ...]
ANSWERED = ("model_called", "tool_called", "answered")
"""What a visit asked and was answered."""


class Place(NamedTuple):
    """One visit in a run: `path` names the visits of the nested topologies around it, `node.visit` or `node.visit.unit`."""

    path: Path
    node: str
    visit: int

    @classmethod
    def of(cls, event: Any) -> Place:
        """Where an event happened."""
        return cls(event.path, event.node, event.visit)

    @classmethod
    def read(cls, node: str, visit: int) -> Place:
        """A place from a node as pages write it: `writer`, or `outer.1:writer` inside a nested topology."""
        *path, name = node.split(":")
        return cls(tuple(path), name, visit)

    @property
    def full_node(self) -> str:
        """The node as pages write it."""
        return ":".join((*self.path, self.node))

    def __str__(self) -> str:
        return f"{self.full_node}, visit {self.visit}"

    def within(self, path: Path) -> bool:
        """Whether it lies in the nested topology of that path."""
        return self.path[: len(path)] == path


class Record:
    """The events of a run that count, by what they say. `ended` is None for a run that has not ended."""

    def __init__(self, events: Sequence[Any]) -> None:
        self.events = that_count(events)
        self.ends: dict[Place, VisitEnded] = {}
        self.begun: set[Place] = set()
        self.calls: dict[Place, list[Any]] = {}
        self.ended: RunEnded | None = None
        for event in self.events:
            if isinstance(event, RunEnded):
                self.ended = event
            elif is_of_a_visit(event):
                self._take(event, Place.of(event))

    def _take(self, event: Any, place: Place) -> None:
        if isinstance(event, VisitEnded):
            self.ends[place] = event
        elif isinstance(event, VisitStarted):
            self.begun.add(place)
        elif event.kind in ANSWERED:
            self.calls.setdefault(place, []).append(event)

    @property
    def is_whole(self) -> bool:
        """Whether the run went on until there was nothing left to do; else something that was due is missing in it."""
        return self.ended is not None and self.ended.status in ("succeeded", "incomplete")

    def knows(self, place: Place) -> bool:
        """Whether anything of the visit was written down."""
        return place in self.ends or place in self.begun or place in self.calls


def is_of_a_visit(event: Any) -> bool:
    """Whether an event has a place. Notes name a node at most."""
    return event.kind != "noted" and hasattr(event, "path") and bool(event.node)


def that_count(events: Sequence[Any]) -> list[Any]:
    """The events but for those of visits that were made anew later, and for calls that were cut off: they have no answer."""
    last: dict[Place, int] = {}
    for number, event in enumerate(events):
        if isinstance(event, VisitStarted):
            last[Place.of(event)] = number
    return [event for number, event in enumerate(events) if _counts(event, number, last)]


def _counts(event: Any, number: int, last: dict[Place, int]) -> bool:
    if not is_of_a_visit(event) or event.kind == "joined":
        return True
    cut_off = event.kind == "model_called" and event.status == CUT_OFF
    return not cut_off and number >= last.get(Place.of(event), 0)


def plan_at(plan: RunPlan, path: Path) -> RunPlan | None:
    """The plan of the nested topology of that path; None where there is none."""
    found: RunPlan | None = plan
    for step in path:
        found = found.nested().get(step.partition(".")[0]) if found is not None else None
    return found


def ends_the_run(plan: RunPlan, event: VisitEnded) -> bool:
    """Whether a failure of this node is a failure of its topology."""
    at = plan_at(plan, event.path)
    node = at.nodes.get(event.node) if at is not None else None
    return node is None or node.on_error == "fail"
