"""Runs a plan on an instance: within limits, telling what happens, going on from what is already written down.

A run that was interrupted is continued by running the deterministic schedule again: what the journal holds is taken
instead of done, so that at most the calls that were in flight are made again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from workbench.engine.context import Context, NestedResult, RetryPolicy, RunInput, RunServices
from workbench.engine.errors import LimitReached, WorkbenchError
from workbench.engine.events import (
    CUT_OFF,
    Joined,
    Journal,
    LimitHit,
    MessageData,
    Noted,
    RunEnded,
    RunStarted,
    VisitEnded,
    VisitStarted,
)
from workbench.engine.filestore import Quota
from workbench.engine.filestore.lineage import MergeConflict
from workbench.engine.limits import Budget, UsageTotals
from workbench.engine.nodes import Emitted, Node
from workbench.engine.people import Desk, Standing
from workbench.engine.planning import RunPlan
from workbench.engine.providers import Providers
from workbench.engine.runfiles import Final, RunFiles, run_files
from workbench.engine.scheduling import EdgeFailed, Outcome, Scheduler, Visit
from workbench.engine.under_way import UnderWay
from workbench.engine.units import Units
from workbench.engine.workspaces import VisitFiles, Workspace

if TYPE_CHECKING:
    from workbench.engine.compiler import CompiledPlan, Show

Status = Literal["succeeded", "failed"]
ROTATE = 256
"""Visits shown in one superstep of LangGraph."""
WIRED = 1000
"""Wiring visits made in one go."""
GRACE = 2.0
"""Seconds that works have to end after they were cancelled."""


class RunResult(NamedTuple):
    """How a run ended. `output` is the prediction: the last output of the first end node that has one. `order` is the
    order in which visits started; `node_outputs` every message of every visit, in order. `waiting` is no end: nothing is
    left but the questions `asking` (their keys), and the run goes on when one of them has an answer. `commit` is the last
    version of the files, `diff` what it differs in from their start."""

    status: str
    reason: str
    code: str
    output: str | None
    outputs: dict[str, str]
    partial: bool
    visits: dict[str, int]
    order: list[str]
    node_outputs: dict[str, list[str]]
    usage: UsageTotals
    asking: tuple[str, ...] = ()
    commit: str = ""
    diff: str = ""


async def run_plan(
    plan: RunPlan,
    given: RunInput,
    *,
    providers: Providers,
    journal: Journal,
    workspace: Path,
    stop: asyncio.Event,
    run_id: str,
    repetition: int = 1,
    attempt: int = 1,
    retry: RetryPolicy | None = None,
    versions: Mapping[str, str] | None = None,
    under_way: UnderWay | None = None,
    desk: Desk | None = None,
    quota: Quota | None = None,
    worked: float | None = None,
) -> RunResult:
    """Run it to its end, or on from where `journal.recorded` stops. Expected failures are a status, not an exception;
    cancelling it aborts what is in flight and writes no end, so that it can be continued. `worked` are the seconds of
    earlier attempts, by a clock that nobody sets; without it they are reckoned from the times of the events."""
    from workbench.engine.compiler import compile_plan  # loads LangGraph, which a replay does without

    shared = Shared(Log(journal), Budget(plan.limits), stop, compile_plan)
    if worked is not None:
        shared.log.worked = worked
    run = Run(compile_plan(plan), shared)
    space = Workspace(workspace, given.files, quota or Quota(), attempt)
    run.files = run_files(space, run.compiled, shared.log.recorded, journal.recorded)
    services = RunServices(
        given=given,
        vars=plan.vars,
        run_id=run_id,
        repetition=repetition,
        budget=shared.budget,
        providers=providers,
        workspace=workspace,
        append=shared.log.append,
        write=shared.log.write,
        recorded=shared.log.recorded,
        retry=retry or RetryPolicy(),
        seconds_left=run.seconds_left,
        nested=run.nest,
        emitted=run.emitted,
        under_way=under_way or UnderWay(),
        desk=desk or Desk(),
    )
    return await run.execute(
        services, RunStarted(at=time.time(), attempt=attempt, plan_hash=plan.hash, versions=dict(versions or {}))
    )


class Log:
    """Writes events in order. Those that an earlier attempt wrote are taken as written."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.recorded: dict[tuple[Any, ...], Any] = {}
        self._calls: dict[tuple[Any, ...], list[Any]] = {}
        for event in journal.recorded:
            if event.kind == "model_called" and event.status == CUT_OFF:
                continue
            self.recorded[_key(event)] = event
            if event.kind in ("model_called", "tool_called"):
                self._calls.setdefault((event.path, event.node, event.visit), []).append(event)
        self.paths = self._paths(journal.recorded)
        self.worked = _working_seconds(journal.recorded)
        self._last = next((event for event in reversed(journal.recorded) if event.kind != "run_started"), None)
        self._told = False

    @staticmethod
    def _paths(recorded: Sequence[Any]) -> set[tuple[str, ...]]:
        """The visits (not units) of nested topologies of which something inside is known."""
        found = {getattr(event, "path", ()) for event in recorded}
        return {(*path[:-1], ".".join(path[-1].split(".")[:2])) for path in found if path}

    def calls_of(self, ended: VisitEnded) -> Sequence[Any]:
        """The calls that earlier attempts wrote down for a visit, in order."""
        return self._calls.get((ended.path, ended.node, ended.visit), ())

    def winners(self, path: tuple[str, ...], ids: Sequence[str]) -> dict[tuple[int, int], int]:
        """The joins at the first that earlier attempts decided: (node, visit) → edge."""
        joined = [event for event in self.recorded.values() if event.kind == "joined" and event.path == path]
        return {(ids.index(event.node), event.visit): event.edge for event in joined}

    async def append(self, event: Any) -> None:
        """Returns when the event is durable."""
        if not self.recorded or _key(event) not in self.recorded:
            self._told |= event.kind != "run_started"
            await self._journal.append(event)

    async def end(self, event: RunEnded) -> None:
        """The end of the run, unless the last attempt died after writing it down and nothing is new."""
        last = self._last
        if self._told or not isinstance(last, RunEnded) or last.model_copy(update={"at": event.at}) != event:
            await self._journal.append(event)

    def write(self, event: Any) -> None:
        """In order with the others, durable before anything that is appended later is."""
        if not self.recorded or _key(event) not in self.recorded:
            self._told = True
            self._journal.post(event)


def _key(event: Any) -> tuple[Any, ...]:
    kind = event.kind
    if kind in ("model_called", "tool_called", "asked", "answered"):
        return (kind, event.path, event.node, event.visit, event.unit, event.call)
    if kind in ("visit_started", "visit_ended", "joined"):
        return (kind, event.path, event.node, event.visit)
    if kind == "noted":
        return (kind, event.path, event.node, event.visit, event.code, event.text)
    return (kind, event.at)


class Shared:
    """What a run and the topologies nested in it have in common. `told`: every message of every visit, by node and
    by the visits around it: those of a map inside a topology come in any order."""

    def __init__(
        self, log: Log, budget: Budget, stop: asyncio.Event, compiled: Callable[[RunPlan], CompiledPlan]
    ) -> None:
        self.log, self.budget, self.stop, self.compiled = log, budget, stop, compiled
        self.order: list[str] = []
        self.told: dict[str, dict[tuple[str, ...], list[str]]] = {}


class Came(NamedTuple):
    """What came of a visit's work: messages, a failure, or what the journal already holds; `began` is monotonic, `commit`
    the version of the files that it left."""

    what: Emitted | VisitEnded | WorkbenchError
    began: float
    commit: str = ""


class _Judged(NamedTuple):
    """How a visit ended, and with what."""

    status: Status
    messages: tuple[MessageData, ...] = ()
    targets: tuple[str, ...] | None = None
    mapped: bool = False
    reason: str = ""
    code: str = ""


class _Ending(NamedTuple):
    """Why a run ends."""

    status: Literal["succeeded", "failed", "limit_reached", "incomplete", "stopped", "waiting"]
    reason: str
    code: str


class Run:
    """One run under way, or one nested in it (then with a `path`): the driver that the compiled graph triggers."""

    def __init__(self, compiled: CompiledPlan, shared: Shared, path: tuple[str, ...] = ()) -> None:
        self.compiled, self.plan, self.path = compiled, compiled.plan, path
        self.context: Callable[..., Context] = Context
        self.shared, self.log, self.budget = shared, shared.log, shared.budget
        self.scheduler = Scheduler(compiled.graph, self.log.winners(path, compiled.ids))
        self._names = ["/".join((*(step.partition(".")[0] for step in path), name)) for name in compiled.ids]
        self.emitted: dict[str, list[tuple[MessageData, ...]]] = {name: [] for name in compiled.ids}
        self._statuses: dict[tuple[int, int], str] = {}
        self._works: dict[asyncio.Task[Came], Visit] = {}
        self._standing: dict[asyncio.Task[Came], Standing] = {}
        self.around: Standing | None = None
        self._asking: tuple[str, ...] = ()
        self._done: list[asyncio.Task[Came]] = []
        self._wake = asyncio.Event()
        self._started = time.monotonic()
        self._earlier = self.log.worked
        self._ending: _Ending | None = None
        self._limit: LimitReached | None = None
        self.files: RunFiles | None = None

    def seconds_left(self) -> float | None:
        """Working time that is left, over all attempts; None where there is no limit."""
        limit = self.plan.limits.seconds
        return None if limit is None else limit - self._earlier - (time.monotonic() - self._started)

    async def execute(self, services: RunServices, started: RunStarted) -> RunResult:
        """From the first visit, or from where the journal stops, to the end."""
        await self.log.append(started)
        stopping = asyncio.ensure_future(self.shared.stop.wait())
        stopping.add_done_callback(lambda _: self._wake.set())
        left = self.seconds_left()
        alarm = asyncio.get_running_loop().call_later(max(left, 0), self._wake.set) if left is not None else None
        try:
            await self._drive(services)
        finally:
            stopping.cancel()
            if alarm is not None:
                alarm.cancel()
        return await self._end()

    async def _drive(self, services: RunServices) -> None:
        self.services = services
        try:
            self.scheduler.begin(MessageData(text=services.given.problem, source="start"))
            await self.compiled.execute(self, steps=1_000_000_000)
        finally:
            await self._cancel_works()

    async def nest(
        self,
        plan: Mapping[str, Any],
        problem: str,
        variables: Mapping[str, str],
        path: tuple[str, ...],
        around: Standing,
    ) -> NestedResult:
        """Run a nested topology: its own schedule, the run's limits, journal and stop. Raises `LimitReached`."""
        inner = type(self)(self.shared.compiled(RunPlan.model_validate(plan)), self.shared, path)
        inner.around, around.inner = around, inner
        if self.files is not None:
            inner.files = self.files.nested(path[-1], inner.compiled.ids, inner.plan.writers, inner.plan.merge)
        given = self.services.given._replace(problem=problem)
        services = replace(
            self.services, given=given, vars={**inner.plan.vars, **variables}, nested=inner.nest, emitted=inner.emitted
        )
        await inner._drive(services)
        if self.files is not None and inner.files is not None:
            self.files.absorb(inner.files)
        if inner._limit is not None:
            raise inner._limit
        outputs = inner._outputs()
        ending = inner._ending or inner._natural_end({name: message.text for name, message in outputs.items()})
        return NestedResult(ending.status, ending.reason, ending.code, tuple(outputs.values()))

    # Driving

    async def proceed(self, show: Show) -> bool:
        """Do what is ready and wait for what is under way, for at most ROTATE visits; whether there is more."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        shown = 0
        try:
            while shown < ROTATE:
                shown += self._start_ready(show, turn)
                if self.scheduler.ready and self._ending is None:
                    await asyncio.sleep(0)  # wiring that goes on and on: others have their turn, and stop is heard
                elif not self._works:
                    return False
                elif not self._done:
                    if self._only_waits():
                        return False
                    await self._wake.wait()
                self._wake.clear()
                if self._out_of_time():
                    await self._cancel_works()
                    return False
                self._take_done()
            return True
        finally:
            turn.set_result(None)

    def _start_ready(self, show: Show, turn: asyncio.Future[None]) -> int:
        shown = wired = 0
        while self.scheduler.ready and self._ending is None and wired < WIRED:
            visit = self.scheduler.ready.popleft()
            name, node = self.compiled.ids[visit.node], self.compiled.nodes[visit.node]
            try:
                if node.waits or wired % 100 == 99:
                    self._admit_time(name)
                self.budget.admit_visit(self._names[visit.node])
            except LimitReached as error:
                self._hit(error, name, visit.number)
                break
            self.shared.order.append(self._names[visit.node])
            if node.waits:
                shown += 1
                self._begin_files(visit)
                standing = Standing(self._wake.set, self.around)
                work = asyncio.ensure_future(self._work(node, visit, self._seen_by(visit), standing))
                self._works[work], self._standing[work] = visit, standing
                work.add_done_callback(self._ended)
                show(name, work, turn)
            else:
                wired += 1
                self._close(node, visit, self._wire(node, visit))
        self._tell_joins()
        return shown

    def _tell_joins(self) -> None:
        """Write down what the scheduler decided about joins."""
        for node, number, edge in self.scheduler.won:
            self.log.write(
                Joined(at=time.time(), path=self.path, node=self.compiled.ids[node], visit=number, edge=edge)
            )
        for node, missing in self.scheduler.skipped:
            name, names = self.compiled.ids[node], ", ".join(repr(self.compiled.ids[source]) for source in missing)
            text = f"Node {name!r} did not run: it waits for all of its sources, and nothing came from {names}."
            self.log.write(Noted(at=time.time(), text=text, code="join_skipped", node=name, path=self.path))
        self.scheduler.won.clear()
        self.scheduler.skipped.clear()

    def _ended(self, work: asyncio.Task[Came]) -> None:
        self._done.append(work)
        self._wake.set()

    def _take_done(self) -> None:
        done, self._done = self._done, []
        for work in sorted(done, key=lambda item: self._works[item].node):
            visit = self._works.pop(work)
            self._standing.pop(work, None)
            self._close(self.compiled.nodes[visit.node], visit, work.result())

    def _admit_time(self, node: str) -> None:
        """Whether there is time for another visit. Raises `LimitReached`: the alarm may have rung between two visits."""
        left = self.services.seconds_left()
        if left is not None and left <= 0:
            raise LimitReached("seconds", f"The run has used up its time (limit seconds); next was node {node!r}.")

    def _out_of_time(self) -> bool:
        """Whether what is under way must be aborted: a person stopped the run, or its time is up."""
        if self.path:
            return False  # the run around it aborts what it runs
        if self.shared.stop.is_set():
            self._ending = _Ending("stopped", "Stopped by a person.", "stopped")
            return True
        left = self.seconds_left()
        if left is None or left > 0 or all(work.done() for work in self._works):
            return False
        running = ", ".join(sorted({repr(self.compiled.ids[visit.node]) for visit in self._works.values()}))
        text = f"The run has worked for {self.plan.limits.seconds:g} seconds (limit seconds); under way: {running}."
        self._hit(LimitReached("seconds", text), "", 0)
        return True

    def parked(self) -> bool:
        """Whether it waits for people and nothing else."""
        if not self._works or self._done or self._wake.is_set() or (self.scheduler.ready and self._ending is None):
            return False
        return all(standing.parked() for standing in self._standing.values())

    def give_up(self, error: LimitReached) -> None:
        """Let nothing in it wait for people any longer."""
        for standing in self._standing.values():
            standing.give_up(error)

    def _only_waits(self) -> bool:
        """Whether there is nothing left to do but to wait for people: then the attempt ends. A run that fails or has
        met a limit doesn't wait for them."""
        desk = self.services.desk
        if not desk.open or self.shared.stop.is_set() or not self.parked():
            return False
        if self._ending is None and self.around is not None:
            self.around.changed()  # it is for the run around it to see whether that is all
            return False
        self._asking = tuple(desk.open) if self._ending is None else ()
        return True

    async def _cancel_works(self) -> None:
        for work in self._works:
            work.cancel()
        if self._works:
            await asyncio.wait(self._works, timeout=GRACE)

    # Visits

    def _wire(self, node: Node, visit: Visit) -> Came:
        """Wiring is done at once, and done again in a replay, unless the clock decided it."""
        began = time.monotonic()
        earlier = self.log.recorded.get(("visit_ended", self.path, node.node, visit.number)) if node.timed else None
        if earlier is not None:
            node.recall(visit.state, earlier, ())
            return Came(earlier, began)
        try:
            if visit.units is None:
                return Came(node.wire(visit.inbox, visit.state), began)
            return Came(Units(node.node, visit, lambda _, inbox: node.wire(inbox, visit.state).messages).wired(), began)
        except WorkbenchError as error:
            return Came(error, began)

    async def _work(self, node: Node, visit: Visit, seen: dict[str, dict[str, Any]], standing: Standing) -> Came:
        """The work of a visit; expected failures are what came of it, not exceptions."""
        began = time.monotonic()
        earlier = self._earlier_end(node, visit)
        if earlier is not None:
            self._account(earlier)
            node.recall(visit.state, earlier, self.log.calls_of(earlier))
            return Came(earlier, began, earlier.commit)
        self.log.write(
            VisitStarted(
                at=time.time(),
                path=self.path,
                node=node.node,
                visit=visit.number,
                inbox=visit.inbox,
                files=() if self.files is None else self.files.began(visit.node, visit.number),
            )
        )
        units: dict[int, VisitFiles] = {}

        async def once(unit: int | None, inbox: tuple[MessageData, ...]) -> Emitted:
            context = self.context(
                self.services,
                node.node,
                visit.number,
                inbox,
                seen,
                unit=unit,
                path=self.path,
                state=visit.state,
                standing=standing.of(unit),
            )
            if self.files is not None:
                context.visit_files = units[unit or 0] = self.files.visit(visit.node, visit.number)
            return await self._with_retries(node, inbox, context)

        try:
            if visit.units is None:
                emitted = await once(None, visit.inbox)
                came = Came(emitted, began + standing.waited)
            else:
                came = Came(await Units(node.node, visit, once, standing).worked(), began)
        except WorkbenchError as error:
            came = Came(error, began + standing.waited)
        return await self._with_files(node, visit, came, [units[number] for number in sorted(units)])

    def _begin_files(self, visit: Visit) -> None:
        """Which version of the files a visit begins with is settled as it begins, whatever else ends meanwhile."""
        if self.files is not None and self.files.writers:
            self.files.begin(visit.node, visit.number, lambda other: self.scheduler.visible(visit, other))

    async def _with_files(self, node: Node, visit: Visit, came: Came, units: Sequence[VisitFiles]) -> Came:
        """What came of a visit, with the version of the files that it left. One that met a limit was cut short."""
        if self.files is None or isinstance(came.what, LimitReached):
            return came
        try:
            commit = await self.files.end(visit.node, visit.number, units)
        except WorkbenchError as error:
            came, commit = Came(error, came.began), ""
        conflict = came.what if isinstance(came.what, MergeConflict) else None
        dropped = [name for unit in units for name in unit.dropped]
        for event in self.files.news(dropped, conflict, node.node, visit.number):
            self.log.write(event)
        return came._replace(commit=commit)

    def _earlier_end(self, node: Node, visit: Visit) -> VisitEnded | None:
        """The end of the visit, if it is to be taken from the journal. What nests is gone through again, unless nothing
        is known of its inside."""
        ended: VisitEnded | None = self.log.recorded.get(("visit_ended", self.path, node.node, visit.number))
        return None if node.nests and (*self.path, f"{node.node}.{visit.number}") in self.log.paths else ended

    async def _with_retries(self, node: Node, inbox: tuple[MessageData, ...], context: Context) -> Emitted:
        """Run a node, again from a clean workspace where it failed and may retry."""
        retries = self.plan.nodes[node.node].retries
        if not retries:
            return await node.run(inbox, context)
        for attempt in range(retries + 1):
            try:
                return await node.run(inbox, context)
            except LimitReached:
                raise
            except WorkbenchError as error:
                if attempt == retries:
                    raise
                await context.note(f"Retry {attempt + 1} of {retries}: {error}", "retry")
                context.visit_files.restart()
        raise AssertionError("The last attempt returns or raises.")

    def _account(self, ended: VisitEnded) -> None:
        """What a recorded visit spent belongs to the run, whatever attempt it was made in."""
        for event in self.log.calls_of(ended):
            if event.kind == "tool_called":
                self.budget.record_tool()
            else:
                self.budget.usage = self.budget.usage._replace(model_calls=self.budget.usage.model_calls + 1)
                self.budget.record_call(event)
                counts = self.services.node_calls
                counts[event.node] = counts.get(event.node, 0) + 1

    def _close(self, node: Node, visit: Visit, came: Came) -> None:
        """A visit ended: judge its edges, write it down. A failure ends the run unless the node says to go on."""
        if isinstance(came.what, LimitReached):
            self._hit(came.what, node.node, visit.number)
            return
        end = self._judged(node, visit, came.what)
        self.emitted[node.node].append(end.messages)
        told = self.shared.told.setdefault(self._names[visit.node], {})
        told.setdefault(self.path, []).extend(message.text for message in end.messages)
        self._statuses[visit.node, visit.number] = end.status
        if self.files is not None:
            self.files.ended(visit.node, visit.number, came.commit)
        if end.status == "failed" and self.plan.nodes[node.node].on_error == "fail" and self._ending is None:
            self._ending = _Ending("failed", end.reason, end.code)
        targets = None if end.targets is None else tuple(self.compiled.ids.index(name) for name in end.targets)
        fired: tuple[int, ...] = ()
        try:
            fired = self.scheduler.finish(visit, Outcome(end.status, end.messages, targets, end.mapped))
        except EdgeFailed as error:
            self._edge_failed(error)
        self.log.write(
            VisitEnded(
                at=time.time(),
                path=self.path,
                node=node.node,
                visit=visit.number,
                status=end.status,
                messages=end.messages,
                fired=fired,
                reason=end.reason,
                code=end.code,
                targets=end.targets,
                mapped=end.mapped,
                seconds=time.monotonic() - came.began,
                commit=came.commit,
            )
        )

    def _judged(self, node: Node, visit: Visit, what: Emitted | VisitEnded | WorkbenchError) -> _Judged:
        """How the visit ended. A map some of whose units failed has failed, unless the node says to go on."""
        if isinstance(what, VisitEnded):
            return _Judged(what.status, what.messages, what.targets, what.mapped, what.reason, what.code)
        if isinstance(what, WorkbenchError):
            return _Judged("failed", reason=str(what), code=what.code)
        mapped = visit.units is not None
        failed = sum(message.status == "failed" for message in what.messages) if mapped else 0
        if failed and self.plan.nodes[node.node].on_error == "fail":
            reason = f"{failed} of {len(what.messages)} units of node {node.node!r} failed: {what.reason}"
            return _Judged("failed", reason=reason, code=what.code or "unit_failed")
        return _Judged("succeeded", what.messages, what.targets, mapped)

    def _edge_failed(self, error: EdgeFailed) -> None:
        edge = self.compiled.graph.edges[error.edge]
        source, target = self.compiled.ids[edge.source], self.compiled.ids[edge.target]
        if self._ending is None:
            text = f"The edge from {source!r} to {target!r} (edge {error.edge}) can't pass on its message: {error}."
            self._ending = _Ending("failed", text, error.code)

    def _seen_by(self, visit: Visit) -> dict[str, dict[str, Any]]:
        """The outputs that prompts of this visit may read by name."""
        seen = {}
        for other in self.plan.read:
            number = self.scheduler.visible(visit, other)
            if number:
                name = self.compiled.ids[other]
                view: dict[str, Any] = {"status": self._statuses.get((other, number), "succeeded"), "visits": number}
                messages = self.emitted[name][number - 1] if number <= len(self.emitted[name]) else ()
                if messages:
                    view |= {"output": messages[-1].text, "json": messages[-1].data}
                seen[name] = view
        return seen

    # The end

    def _hit(self, error: LimitReached, node: str, visit: int, edge: int | None = None) -> None:
        if self._ending is None:
            self._ending = _Ending("limit_reached", str(error), error.limit)
            if self.path:
                self._limit = error  # the run around it writes it down
                return
            self.log.write(
                LimitHit(at=time.time(), limit=error.limit, text=str(error), node=node, visit=visit, edge=edge)
            )

    async def _end(self) -> RunResult:
        if self._asking:
            what = "the question" if len(self._asking) == 1 else f"one of {len(self._asking)} questions"
            return self._result(_Ending("waiting", f"It waits for a person to answer {what}.", ""), {}, False)
        outputs = {name: message.text for name, message in self._outputs().items()}
        ending = self._ending or self._natural_end(outputs)
        for node in self.scheduler.undelivered() if self._ending is None else ():
            name = self.compiled.ids[node]
            text = f"Node {name!r} never ran; the messages that waited for it were dropped."
            self.log.write(Noted(at=time.time(), text=text, code="dropped_messages", node=name))
        ending, files = await self._final_files(ending)
        output = next(iter(outputs.values()), None)
        partial = ending.status != "succeeded" and (output is not None or bool(files.diff))
        await self.log.end(
            RunEnded(
                at=time.time(),
                status=ending.status,
                reason=ending.reason,
                code=ending.code,
                output=output,
                outputs=outputs,
                partial=partial,
                commit=files.commit,
                diff=files.diff,
            )
        )
        return self._result(ending, outputs, partial)._replace(commit=files.commit, diff=files.diff)

    async def _final_files(self, ending: _Ending) -> tuple[_Ending, Final]:
        """The run's files at its end. Branches that never met are joined here: where they contradict each other, the run
        has failed."""
        if self.files is None:
            return ending, Final()
        try:
            final = await self.files.finish(complete=ending.status == "succeeded")
        except (WorkbenchError, OSError) as error:
            text = f"The files of the run could not be put together: {error}"
            return (_Ending("failed", text, "workspace") if ending.status == "succeeded" else ending), Final()
        for event in self.files.news(final.dropped, final.conflict):
            self.log.write(event)
        if final.conflict is not None and ending.status == "succeeded":
            ending = _Ending("failed", str(final.conflict), final.conflict.code)
        return ending, final

    def _result(self, ending: _Ending, outputs: dict[str, str], partial: bool) -> RunResult:
        return RunResult(
            status=ending.status,
            reason=ending.reason,
            code=ending.code,
            output=next(iter(outputs.values()), None),
            outputs=outputs,
            partial=partial,
            visits={name: count for name, count in self.budget.visits.items() if count},
            order=self.shared.order,
            node_outputs={name: _in_order(told) for name, told in self.shared.told.items()},
            usage=self.budget.usage,
            asking=self._asking,
        )

    def _outputs(self) -> dict[str, MessageData]:
        """The last output of each end node that has one, in declared order."""
        found = {}
        for name in self.plan.end:
            last = next((messages for messages in reversed(self.emitted[name]) if messages), None)
            if last:
                found[name] = last[-1]
        return found

    def _natural_end(self, outputs: dict[str, str]) -> _Ending:
        if outputs:
            return _Ending("succeeded", "", "")
        refused = self.scheduler.refused
        if not refused:
            ends = ", ".join(repr(name) for name in self.plan.end)
            return _Ending("incomplete", f"No end node ({ends}) gave an output.", "no_output")
        number = min(refused)  # the same one, whichever branch came first
        edge = self.compiled.graph.edges[number]
        source, target = self.compiled.ids[edge.source], self.compiled.ids[edge.target]
        text = f"The edge from {source!r} to {target!r} may fire {edge.max} times (max); it would have fired once more."
        if not self.path:
            self._hit(LimitReached("edge_max", text), source, refused[number], number)
        return _Ending("limit_reached", text, "edge_max")


def _working_seconds(recorded: Any) -> float:
    """Seconds that earlier attempts worked: from the start of each to its last event."""
    total, began, last = 0.0, None, 0.0
    for event in recorded:
        if event.kind == "run_started":
            total += last - began if began is not None else 0.0
            began = event.at
        last = max(event.at, began or 0.0)
    return total + (last - began if began is not None else 0.0)


def _in_order(told: Mapping[tuple[str, ...], list[str]]) -> list[str]:
    """What a node said, in the order of the visits, and of a map's units, around it."""

    def place(path: tuple[str, ...]) -> list[list[int]]:
        return [[int(number) for number in step.split(".")[1:]] for step in path]

    return [text for path in sorted(told, key=place) for text in told[path]]
