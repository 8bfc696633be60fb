"""A run under way that nobody answers: each visit asks as it would, is compared with the record, and takes what is there."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

from workbench.engine.context import Asking, Context, NestedResult, RunServices, Using
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
from workbench.engine.events import Answered, VisitEnded
from workbench.engine.nodes import Node
from workbench.engine.people import Question, Standing
from workbench.engine.recorded import Path as NestedPath
from workbench.engine.recorded import Place
from workbench.engine.replay_shared import Leaves, ReplayLog, ReplayShared
from workbench.engine.runtime import Came, Run
from workbench.engine.scheduling import Visit


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


class Held(WorkbenchError):
    """The outcome of a visit that stays open."""

    code = "held"

    def __init__(self) -> None:
        super().__init__("The record does not say how this visit ended.")


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

    async def drive(self, services: RunServices) -> None:
        """From the first visit to the last that the record knows."""
        await self._drive(services)

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

    async def _attached(self, answered: Answered) -> tuple[str, ...]:
        """The files of an answer by the names that they got then: those depended on what stood in the workspace."""
        ended = self._shared.record.ends.get(Place(self.path, self.node, self.visit))
        told = ended.messages[self.unit or 0 :][:1] if ended is not None else ()
        names = told[0].data.get("files") if told and isinstance(told[0].data, dict) else None
        if isinstance(names, list) and len(names) == len(answered.files):
            return tuple(names)
        return await super()._attached(answered)
