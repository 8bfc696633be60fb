"""A worker process: one event loop that holds many runs, a heartbeat for all of them, and a drain at its end.

A ticket waits for a slot in Celery's thread, claims the row and hands the run to the loop. The row is claimed by a name
that no other start of a process has. What a killed worker held is swept back into the queue by whoever still lives.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import Error, connection

from workbench.engine.errors import WorkbenchError
from workbench.engine.people import Desk
from workbench.engine.providers import Providers
from workbench.engine.under_way import UnderWay
from workbench.experiments import lifecycle, sweeping, tickets
from workbench.experiments.execution import Outcome, Prepared, run_execute, run_finish, run_prepare
from workbench.experiments.live.telling import Teller
from workbench.experiments.live.wire import redis_url
from workbench.experiments.models import Run
from workbench.experiments.questions import questions_expire
from workbench.experiments.questions_desk import desk_make, desks_serve
from workbench.experiments.throttle import throttle_of_workers
from workbench.experiments.writer import Writer, patiently

logger = logging.getLogger(__name__)

COMPILER = "workbench.engine.compiler"
"""It loads for seconds, once in a process. A run that was claimed before that could not hear that it is to stop."""
BEAT_S = 1.0
SWEEP_S = 5.0
AT_A_TIME = 8
"""Runs that are claimed together at most."""
CANCEL_S = 10.0
"""How long cancelled runs may take to write that they are back in the queue."""


@dataclass
class Going:
    """A run on the loop."""

    task: asyncio.Task[Outcome]
    stop: asyncio.Event
    desk: Desk


class Loop:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="runs", daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Start it there; the answer is a future of this side."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def close(self) -> None:
        """End it; nothing may be going on there."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(5)


class Worker:
    """This process's share of the runs at once."""

    def __init__(self, slots: int) -> None:
        self.owner = lifecycle.owner_name()
        self.going: dict[int, Going] = {}
        self._slots = threading.Semaphore(slots)
        self._draining = threading.Event()
        self._ended, self._bell = threading.Event(), threading.Event()
        self._teller = Teller(redis_url(), self._bell.set)
        self._writer = Writer(self._teller.committed)
        self._claims = ThreadPoolExecutor(1, thread_name_prefix="claims")
        self._loop = Loop()
        self._providers = Providers(os.environ, throttle=throttle_of_workers(self.owner))
        self._beats = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
        self._beats.start()

    def take(self, run_id: int) -> None:
        """Claim a run once there is a slot and start it, and the next with it while there are slots. At a shutdown
        nothing is taken: the row stays queued."""
        if self._draining.is_set():
            return
        importlib.import_module(COMPILER)
        if not self._slots.acquire(blocking=False) and not (self._is_queued(run_id) and self._slot()):
            return
        slots = 1 + sum(self._slots.acquire(blocking=False) for _ in range(AT_A_TIME - 1))
        prepared: list[Prepared] = []
        try:
            prepared = self._in_database(lambda: self._claim(run_id, slots))
        finally:
            if slots > len(prepared):
                self._slots.release(slots - len(prepared))
        for run in prepared:
            self._loop.submit(self._run(run))

    def _in_database(self, work: Callable[[], Any]) -> Any:
        """On a thread of its own: Celery closes the database of its thread after every ticket."""
        return self._claims.submit(patiently, work).result()

    def _is_queued(self, run_id: int) -> bool:
        """Not where it has gone along with another: then nobody waits for a slot in vain."""
        return bool(self._in_database(Run.objects.filter(pk=run_id, status=Run.Status.QUEUED).exists))

    def _slot(self) -> bool:
        while not self._draining.is_set():
            if self._slots.acquire(timeout=0.2):
                return True
        return False

    def _claim(self, run_id: int, most: int) -> list[Prepared]:
        """The claimed runs with all they need."""
        prepared = [self._prepare(run) for run in lifecycle.runs_claim(run_id, self.owner, most)]
        return [run for run in prepared if run is not None]

    def _prepare(self, run: Run) -> Prepared | None:
        """A run that can't be prepared has failed."""
        try:
            return run_prepare(run)
        except Error:
            raise  # the database is away, the run is not at fault: without a heartbeat it goes back into the queue
        except WorkbenchError as error:
            outcome = Outcome(Run.Status.FAILED, str(error), error.code)
        except Exception as error:
            logger.exception("Run %s could not be prepared.", run.pk)
            outcome = Outcome(Run.Status.FAILED, f"A fault in the workbench: {error!r}", "fault")
        run_finish(run, outcome, run.seconds)
        return None

    async def _run(self, prepared: Prepared) -> None:
        run, stop, under_way = prepared.run, asyncio.Event(), UnderWay()
        desk = desk_make(run, self._writer, prepared.answers)
        execute = run_execute(
            prepared, providers=self._providers, writer=self._writer, stop=stop, under_way=under_way, desk=desk
        )
        task = asyncio.ensure_future(execute)
        self.going[run.pk] = going = Going(task, stop, desk)
        self._teller.hold(run.pk, run.attempt, under_way)
        status = ""
        try:
            await asyncio.wait([task])
            if task.cancelled():
                return
            if (error := task.exception()) is not None:
                logger.error("Run %s is left to the sweep.", run.pk, exc_info=error)
            elif task.result().status != Run.Status.LOST:
                status = task.result().status
        finally:
            if self.going.get(run.pk) is going:  # one that waited for a person may be back already
                self._teller.let_go(run.pk, status)
                self.going.pop(run.pk)
            self._slots.release()

    def _beat(self) -> None:
        """Every second, or when the bell rings: say that the runs live, hear which are to stop and what people have
        answered. Every few seconds: sweep.

        The sweep is here too, beside Celery beat's: its message would wait behind tickets that wait for a slot.
        """
        swept = time.monotonic()
        while not self._ended.is_set():
            self._bell.wait(BEAT_S)
            self._bell.clear()
            try:
                self._beat_once()
                if time.monotonic() - swept > SWEEP_S:
                    swept = time.monotonic()
                    sweeping.sweep()
            except Error:
                logger.warning("The heartbeat could not be written.", exc_info=True)
                connection.close()
            except Exception:
                logger.exception("The heartbeat met a fault.")
        connection.close()

    def _beat_once(self) -> None:
        held = list(self.going)
        for run_id in lifecycle.runs_beat(self.owner, held) if held else ():
            if (going := self.going.get(run_id)) is not None:
                self._teller.status(run_id, Run.Status.STOPPING)
                self._loop.loop.call_soon_threadsafe(going.stop.set)
        questions_expire()
        desks_serve({run_id: going.desk for run_id, going in list(self.going.items())}, self._loop.loop)

    def drain(self) -> None:
        """Take no more."""
        self._draining.set()

    def close(self) -> None:
        """Give the runs a moment to end, put the others back into the queue, and end everything here."""
        self._draining.set()
        self._wait(settings.RUN_DRAIN_S)
        back = list(self.going)
        for going in list(self.going.values()):
            self._loop.loop.call_soon_threadsafe(going.task.cancel)
        self._wait(CANCEL_S)
        self._close_providers()
        self._ended.set()
        self._bell.set()
        self._claims.submit(lambda: connection.close()).result(5)  # looked up there: each thread has its own
        self._claims.shutdown()
        self._writer.close()
        self._teller.close()
        self._loop.close()
        if back:
            tickets.send_or_log([(tickets.RUN, (run_id,)) for run_id in back])

    def _close_providers(self) -> None:
        try:
            self._loop.submit(self._providers.close()).result(5)
        except Exception:
            logger.exception("The providers did not close.")

    def _wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while self.going and time.monotonic() < end:
            time.sleep(0.05)


_worker: Worker | None = None
_lock = threading.Lock()


def current() -> Worker:
    """This process's worker, made when first asked for."""
    global _worker
    with _lock:
        if _worker is None:
            _worker = Worker(max(1, -(-settings.RUNS_AT_ONCE // settings.RUN_PROCESSES)))
        return _worker


def started() -> Worker | None:
    """This process's worker, if there is one."""
    return _worker
