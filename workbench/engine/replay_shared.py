"""What a replay and the topologies nested in it have in common: the record, and what was found beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from workbench.engine.differences import (
    Difference,
)
from workbench.engine.events import MemoryJournal, VisitEnded
from workbench.engine.limits import Budget
from workbench.engine.planning import RunPlan
from workbench.engine.recorded import Path as NestedPath
from workbench.engine.recorded import Place, Record, plan_at
from workbench.engine.runtime import Log, Run, Shared
from workbench.engine.spec import Limits

UNLIMITED = Limits(model_calls=None, tokens=None, output_tokens=None, cost_usd=None, seconds=None, visits_per_node=None)


class BarePlan:
    """A plan ready to run without LangGraph."""

    def __init__(self, plan: RunPlan) -> None:
        self.plan, self.nodes, self.graph, self.ids = plan, plan.made_nodes(), plan.graph(), list(plan.nodes)

    async def execute(self, driver: Run, steps: int) -> None:
        """Run it; nothing is shown."""
        while await driver.proceed(lambda node, work, turn: work):
            pass


class Leaves(Exception):
    """A visit would not do what is recorded of it; without a difference where the record only ends."""

    def __init__(self, difference: Difference | None = None) -> None:
        super().__init__(difference.text if difference else "The record ends here.")
        self.difference = difference


class ReplayLog(Log):
    """Takes what is recorded; what a replay tells is looked at and forgotten."""

    def __init__(self, shared: ReplayShared) -> None:
        super().__init__(MemoryJournal(shared.record.events))
        self._shared = shared
        self.told: VisitEnded | None = None

    async def append(self, event: Any) -> None:
        self.write(event)

    def write(self, event: Any) -> None:
        if event.kind == "joined":
            self._shared.joined.add(Place.of(event))
        elif event.kind == "visit_ended":
            self.told = event

    def winners(self, path: NestedPath, ids: Sequence[str]) -> dict[tuple[int, int], int]:
        """Edges are recorded by their place in the recorded plan."""
        moved = self._shared.edges_moved(path)
        joined = [event for event in self._shared.record.events if event.kind == "joined" and event.path == path]
        return {
            (ids.index(event.node), event.visit): moved.get(event.edge, event.edge)
            for event in joined
            if event.node in ids and (event.edge < 0 or event.edge in moved)
        }


class ReplayShared(Shared):
    """What a replay and the topologies nested in it have in common."""

    log: ReplayLog

    def __init__(
        self, record: Record, recorded_plan: RunPlan, hold: Place | None, trusted: Callable[[Place], bool]
    ) -> None:
        self.record, self.recorded_plan, self.hold, self.trusted = record, recorded_plan, hold, trusted
        self.differences: list[Difference] = []
        self.taken: list[Place] = []
        self.open: list[Place] = []
        self.joined: set[Place] = set()
        self.used: dict[Place, int] = {}
        self._plans: dict[NestedPath, RunPlan | None] = {}
        self._moved: dict[NestedPath, dict[int, int]] = {}
        self.plan: RunPlan | None = None
        super().__init__(ReplayLog(self), Budget(UNLIMITED), asyncio.Event(), cast(Any, BarePlan))

    def recorded_at(self, path: NestedPath) -> RunPlan | None:
        """The plan that the visits of a nested topology were recorded under; None where there was none then."""
        key = tuple(step.partition(".")[0] for step in path)
        if key not in self._plans:
            self._plans[key] = plan_at(self.recorded_plan, path)
        return self._plans[key]

    def edges_moved(self, path: NestedPath) -> dict[int, int]:
        """Recorded number of an edge → its number now; edges that are no more are missing."""
        key = tuple(step.partition(".")[0] for step in path)
        if key not in self._moved:
            was, now = self.recorded_at(path), plan_at(self.plan, path) if self.plan else None
            self._moved[key] = edges_moved(was.edges, now.edges) if was and now else {}
        return self._moved[key]


def edges_moved(was: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]) -> dict[int, int]:
    """Number of an edge → its number among others: the first from A to B is the first from A to B."""
    places: dict[tuple[str, str], list[int]] = {}
    for number, edge in enumerate(now):
        places.setdefault((edge["from"], edge["to"]), []).append(number)
    found = {}
    for number, edge in enumerate(was):
        left = places.get((edge["from"], edge["to"]))
        if left:
            found[number] = left.pop(0)
    return found
