"""Runs a plan again with nothing but what is recorded: no provider, no tool, no workspace, no clock.

Every visit does its work again, but takes each answer from the record; before it does, what it asks is compared with what
was asked then. A visit that would ask something else stays open, and so does all that waits for it: what is left open is
what a run with this plan would have to make. Visits that are *trusted* are taken whole, without a look at what they ask.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

from workbench.engine.context import Asking, Context, NestedResult, RetryPolicy, RunInput, RunServices, Using
from workbench.engine.differences import (
    Difference,
    as_json,
    asked_now,
    asked_otherwise,
    doing,
    listed,
    outcome,
    said,
    settings_changed,
    settings_text,
    targets_of,
)
from workbench.engine.errors import WorkbenchError
from workbench.engine.events import MemoryJournal, VisitEnded
from workbench.engine.limits import Budget
from workbench.engine.nodes import Node
from workbench.engine.people import Desk, Question, Standing
from workbench.engine.planning import RunPlan
from workbench.engine.providers import ModelReply, ModelRequest, ProbeResult, Provider, Providers
from workbench.engine.recorded import Path as NestedPath
from workbench.engine.recorded import Place, Record, plan_at
from workbench.engine.runtime import Came, Log, Run, Shared
from workbench.engine.scheduling import Visit
from workbench.engine.spec import Limits

UNLIMITED = Limits(model_calls=None, tokens=None, output_tokens=None, cost_usd=None, seconds=None, visits_per_node=None)


class Replayed(NamedTuple):
    """What a replay came to. `taken` are the visits whose outcome is the recorded one, in order; `open` those that would
    have to be made; both hold nested visits too."""

    status: str
    output: str | None
    outputs: dict[str, str]
    differences: tuple[Difference, ...]
    taken: tuple[Place, ...]
    open: tuple[Place, ...]
    joined: frozenset[Place]

    @property
    def same(self) -> bool:
        """Whether it went as recorded, to the same prediction."""
        return not self.differences


def replay(
    plan: RunPlan,
    given: RunInput,
    events: Sequence[Any],
    *,
    recorded_plan: RunPlan | None = None,
    run_id: str,
    repetition: int = 1,
    hold: Place | None = None,
    trusted: Callable[[Place], bool] = lambda place: False,
) -> Replayed:
    """Replay `events`, which a run of `recorded_plan` wrote down (without it: of the same plan). The visit `hold` is left
    open, whatever is recorded of it. Not for a thread in which an event loop runs."""
    return asyncio.run(
        replaying(
            plan,
            given,
            events,
            recorded_plan=recorded_plan,
            run_id=run_id,
            repetition=repetition,
            hold=hold,
            trusted=trusted,
        )
    )


async def replaying(
    plan: RunPlan,
    given: RunInput,
    events: Sequence[Any],
    *,
    recorded_plan: RunPlan | None = None,
    run_id: str,
    repetition: int = 1,
    hold: Place | None = None,
    trusted: Callable[[Place], bool] = lambda place: False,
) -> Replayed:
    """The same on a loop that runs."""
    record = Record(events)
    shared = ReplayShared(record, recorded_plan or plan, hold, trusted)
    run = Replay(BarePlan(plan), shared)
    with tempfile.TemporaryDirectory(prefix="replay-") as folder:
        services = RunServices(
            given=given,
            vars=plan.vars,
            run_id=run_id,
            repetition=repetition,
            budget=shared.budget,
            providers=Providers({}, only=Nobody()),
            workspace=Path(folder),
            append=shared.log.append,
            write=shared.log.write,
            recorded=shared.log.recorded,
            retry=RetryPolicy(),
            seconds_left=run.seconds_left,
            nested=run.nest,
            emitted=run.emitted,
            desk=Desk(fetch=_by_name),
        )
        await run._drive(services)
    return run.replayed()


async def _by_name(sha256: str) -> bytes:
    """In place of a file of a person's answer: only its name counts here, and that it is another than others."""
    return sha256.encode()


class Nobody(Provider):
    """In the place of every provider: in a replay nobody is asked."""

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Nobody:
        return cls()

    async def chat(self, request: ModelRequest, on_text: Any = None) -> ModelReply:
        raise AssertionError("A replay asks no model.")

    async def probe(self) -> ProbeResult:
        return ProbeResult(ok=False, message="A replay asks no model.")


class BarePlan:
    """A plan ready to run without LangGraph."""

    def __init__(self, plan: RunPlan) -> None:
        self.plan, self.nodes, self.graph, self.ids = plan, plan.made_nodes(), plan.graph(), list(plan.nodes)

    async def execute(self, driver: Run, steps: int) -> None:
        """Run it; nothing is shown."""
        while await driver.proceed(lambda node, work, turn: work):
            pass


class Held(WorkbenchError):
    """The outcome of a visit that stays open."""

    code = "held"

    def __init__(self) -> None:
        super().__init__("The record does not say how this visit ended.")


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


class Replay(Run):
    """A run under way that nobody answers."""

    shared: ReplayShared
    log: ReplayLog

    def __init__(self, compiled: Any, shared: ReplayShared, path: NestedPath = ()) -> None:
        if not path:
            shared.plan = compiled.plan
        super().__init__(compiled, shared, path)
        self.context = partial(ReplayContext, shared)
        self._was = shared.recorded_at(path)

    def seconds_left(self) -> float | None:
        return None

    def replayed(self) -> Replayed:
        """How it ended."""
        shared, record = self.shared, self.shared.record
        outputs = {name: message.text for name, message in self._outputs().items()}
        ending = self._ending or self._natural_end(outputs)
        status = ending.status
        if shared.open and not shared.differences and record.ended is not None:
            status = record.ended.status  # what struck then is part of the record
        output = next(iter(outputs.values()), None)
        differences = [*shared.differences, *self._left_out(status, outputs)]
        return Replayed(
            status,
            output,
            outputs,
            tuple(differences),
            tuple(shared.taken),
            tuple(shared.open),
            frozenset(shared.joined),
        )

    def _left_out(self, status: str, outputs: dict[str, str]) -> Iterable[Difference]:
        """What a replay that met no difference on its way must still come to."""
        record = self.shared.record
        if self.shared.differences or self.shared.hold is not None:
            return
        taken = set(self.shared.taken)
        for place in record.ends:
            if place not in taken:
                yield Difference("visit", place, f"{place} is recorded, and would not happen now.")
                return
        if record.ended is not None and (record.ended.status, record.ended.outputs) != (status, outputs):
            was = as_json({"status": record.ended.status, "outputs": record.ended.outputs})
            now = as_json({"status": status, "outputs": outputs})
            yield Difference("result", None, "Every visit is the same, and the result is not.", was, now)

    # Visits

    def _place(self, node: Node, visit: Visit) -> Place:
        return Place(self.path, node.node, visit.number)

    def _wire(self, node: Node, visit: Visit) -> Came:
        place = self._place(node, visit)
        if place == self.shared.hold or (node.timed and place not in self.shared.record.ends):
            return Came(Held(), time.monotonic())
        return super()._wire(node, visit)

    async def _work(self, node: Node, visit: Visit, seen: dict[str, dict[str, Any]], standing: Standing) -> Came:
        place = self._place(node, visit)
        if place == self.shared.hold:
            return Came(Held(), time.monotonic())
        if self.shared.trusted(place) and not node.nests and place not in self.shared.record.ends:
            return Came(Held(), time.monotonic())
        try:
            if not self.shared.trusted(place):
                self._compare_settings(place)
            return await super()._work(node, visit, seen, standing)
        except (Leaves, BaseExceptionGroup) as error:
            self._leave(left(error))
            return Came(Held(), time.monotonic())

    def _leave(self, differences: Sequence[Difference]) -> None:
        self.shared.differences += differences[:1]

    def _earlier_end(self, node: Node, visit: Visit) -> VisitEnded | None:
        return super()._earlier_end(node, visit) if self.shared.trusted(self._place(node, visit)) else None

    async def nest(
        self,
        plan: Mapping[str, Any],
        problem: str,
        variables: Mapping[str, str],
        path: NestedPath,
        around: Standing,
    ) -> NestedResult:
        result = await super().nest(plan, problem, variables, path, around)
        if any(place.within(path) for place in self.shared.open):
            raise Leaves
        return result

    def _close(self, node: Node, visit: Visit, came: Came) -> None:
        place = self._place(node, visit)
        if isinstance(came.what, Held):
            self.shared.open.append(place)
            return
        self.log.told = None
        super()._close(node, visit, came)
        told = cast(VisitEnded | None, self.log.told)  # `_close` may have set it
        if told is None:
            return
        if self.shared.trusted(place):
            self.shared.taken.append(place)
        elif difference := self._different(place, told):
            self.shared.differences.append(difference)
        else:
            self.shared.taken.append(place)

    # Comparing

    def _compare_settings(self, place: Place) -> None:
        """Raises `Leaves` for a node that was not there, or was set otherwise."""
        record, now = self.shared.record, self.plan.nodes[place.node]
        was = self._was.nodes.get(place.node) if self._was is not None else None
        if was is None:
            raise Leaves(Difference("node", place, f"There was no node {place.full_node!r} when this was recorded."))
        if not record.knows(place):
            if not record.is_whole:
                raise Leaves
            raise Leaves(Difference("visit", place, f"{place}, is not recorded: it did not happen then."))
        if was is not now and (changed := settings_changed(was, now)):
            names = ", ".join(changed)
            text = f"{place}: the node is set otherwise ({names})."
            raise Leaves(Difference("settings", place, text, settings_text(was, changed), settings_text(now, changed)))

    def _different(self, place: Place, told: VisitEnded) -> Difference | None:
        """How the outcome of a visit differs from the recorded one."""
        record = self.shared.record
        was = record.ends.get(place)
        if was is None:
            if not record.is_whole and self._was is not None and place.node in self._was.nodes:
                return None  # the record ends somewhere here
            return Difference("visit", place, f"{place}, is not recorded: it did not happen then.", "", said(told))
        if outcome(was) != outcome(told):
            return Difference("output", place, f"{place}, would end otherwise.", said(was), said(told))
        calls, used = len(record.calls.get(place, ())), self.shared.used.get(place, 0)
        if used < calls:
            text = f"{place}, would make {used} calls; {calls} are recorded."
            return Difference("call", place, text, str(calls), str(used))
        return self._other_route(place, was, told)

    def _other_route(self, place: Place, was: VisitEnded, told: VisitEnded) -> Difference | None:
        before = targets_of(self._was, was.fired)
        now = targets_of(self.plan, told.fired)
        if before == now:
            return None
        gone = [name for name in before if name not in self.plan.nodes]
        why = f" ({', '.join(gone)} is not there any more)" if gone else ""
        said = f"{place}, would go on to {listed(now)}; it went on to {listed(before)}{why}."
        return Difference("route", place, said, listed(before), listed(now))


def left(error: Leaves | BaseExceptionGroup[BaseException]) -> list[Difference]:
    """The differences that a visit met, those of its first unit first; what is none of them is raised."""
    if isinstance(error, Leaves):
        return [error.difference] if error.difference else []
    leaves, others = error.split(Leaves)
    if others is not None:
        raise others
    found = [leaf.difference for leaf in _leaves(leaves) if leaf.difference]
    return sorted(found, key=lambda one: (one.unit or 0, one.call or 0))


def _leaves(group: Any) -> Iterable[Leaves]:
    for error in group.exceptions if group is not None else ():
        if isinstance(error, Leaves):
            yield error
        else:
            yield from _leaves(error)


class ReplayContext(Context):
    """A visit's way to the record, and to nothing else."""

    def __init__(self, shared: ReplayShared, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self._shared = shared

    def _earlier(self, kind: str, call: int, asked: Asking | Using | Question) -> Any:
        """What is recorded of a call. Raises `Leaves` where nothing is, or something else was asked."""
        place, record = Place(self.path, self.node, self.visit), self._shared.record
        found = super()._earlier(kind, call, asked)
        if found is None:
            if place not in record.ends:
                raise Leaves
            now = asked_now(asked)
            text = f"{place}, would {doing(asked)} once more than is recorded (number {call})."
            raise Leaves(Difference("call", place, text, "", now, self.unit, call))
        self._shared.used[place] = self._shared.used.get(place, 0) + 1
        difference = asked_otherwise(found, asked)
        if difference:
            kind_, text, was, now = difference
            raise Leaves(Difference(kind_, place, f"{place}, {text}", was, now, self.unit, call))
        return found
