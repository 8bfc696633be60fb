"""One thread per process writes what its runs report: whatever has queued, at once, no timer.

A write is acknowledged when it is committed, so that nothing that depends on a lost result has started. Every batch
first renews the runs' totals where the rows still belong to their attempts: no row, no events, and the run is `Fenced`.
The statements are plain SQL: a thousand runs write twelve thousand rows, and the ORM's share would be the larger.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import Error, connection, transaction

from workbench.experiments.models import Payload, PayloadUse, Run, RunEvent
from workbench.experiments.payloads import MOST, compressed, packed
from workbench.experiments.totals import Totals

logger = logging.getLogger(__name__)

BATCH = 64
LINGER_S = 0.02
"""How long what nobody waits for may stay unwritten, so that it shares a commit with what somebody waits for."""
REMEMBERED = 50_000
"""Payloads that a process knows to be in the database."""
PATIENCE_S = (0.1, 0.5, 2.0, 5.0)
"""How long to wait before each further try when the database can't be written (a restart, a full disk)."""

EVENT_COLUMNS = (
    "run_id", "sequence", "attempt", "kind", "node", "visit", "at", "status", "fired", "seconds", "input_tokens",
    "output_tokens", "waited", "data",
)  # fmt: skip
INSERT = (
    f"INSERT INTO {RunEvent._meta.db_table} ({', '.join(EVENT_COLUMNS)}) "
    f"VALUES ({', '.join(['%s'] * len(EVENT_COLUMNS))}) ON CONFLICT (run_id, sequence) DO NOTHING"
)
INSERT_PAYLOAD = (
    f"INSERT INTO {Payload._meta.db_table} (sha256, data, size) VALUES (%s, %s, %s) ON CONFLICT (sha256) DO NOTHING"
)
INSERT_USE = (
    f"INSERT INTO {PayloadUse._meta.db_table} (run_id, payload_id) VALUES (%s, %s) "
    "ON CONFLICT (run_id, payload_id) DO NOTHING"
)
RENEW = (
    f"UPDATE {Run._meta.db_table} SET {', '.join(f'{name} = %s' for name in Totals.COLUMNS)} "
    "WHERE id = %s AND attempt = %s AND owner = %s AND status IN ('running', 'stopping')"
)


class Fenced(Exception):
    """The run belongs to another attempt by now: this one ends without a word."""

    def __str__(self) -> str:
        return "Another process took the run over."


class JournalLost(Exception):
    """The database can't be written: the run is left to whoever sweeps."""

    def __str__(self) -> str:
        return f"The journal can't be written ({self.__cause__}). What was written down is kept."


class Held(NamedTuple):
    """By what a writer shows that the run is still its own."""

    run_id: int
    attempt: int
    owner: str


class Write(NamedTuple):
    """One event on its way; `done` belongs to `loop`, and is missing where nobody waits."""

    held: Held
    row: tuple[Any, ...]
    totals: tuple[Any, ...]
    done: asyncio.Future[None] | None = None
    loop: asyncio.AbstractEventLoop | None = None


@dataclass
class Job:
    """Something else that is to happen on the writer's thread, after what was queued before it."""

    work: Callable[[], Any]
    done: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop


class Writer:
    """The one thread of a process that writes what its runs report."""

    def __init__(self, told: Callable[[Sequence[Write]], None] | None = None) -> None:
        """`told` hears on the writer's thread what has been committed, in its order."""
        self._told = told
        self._queue: queue.SimpleQueue[Write | Job | None] = queue.SimpleQueue()
        self._lingering: list[Write] = []
        self._alarm: asyncio.TimerHandle | None = None
        self._refused: dict[Held, Exception] = {}
        self._kept: set[tuple[Held, str]] = set()
        self._thread = threading.Thread(target=self._work, name="journal", daemon=True)
        self._thread.start()

    def post(self, held: Held, row: tuple[Any, ...], totals: tuple[Any, ...]) -> None:
        """Takes it in its turn, for whoever does not wait for it. If it is refused, so is all of that attempt after it."""
        self._lingering.append(Write(held, row, totals))
        if self._alarm is None:
            self._alarm = asyncio.get_running_loop().call_later(LINGER_S, self._flush)

    def _flush(self) -> None:
        """On the loop: hand over what lingers, in its order."""
        for write in self._lingering:
            self._queue.put(write)
        self._lingering = []
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    async def append(self, held: Held, row: tuple[Any, ...], totals: tuple[Any, ...]) -> None:
        """Returns when it is committed. Raises `Fenced` or `JournalLost`."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._flush()
        self._queue.put(Write(held, row, totals, done, loop))
        await done

    async def call(self, work: Callable[[], Any]) -> Any:
        """Do `work` on the writer's thread, in its turn, with the patience that writes have."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Any] = loop.create_future()
        self._flush()
        self._queue.put(Job(work, done, loop))
        return await done

    def close(self) -> None:
        """Write what has queued, then end."""
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        ahead: Job | None = None
        going = True
        while going:
            batch, ahead, going = self._next()
            if batch:
                self._write(batch)
            if ahead is not None:
                self._do(ahead)
        connection.close()

    def _next(self) -> tuple[list[Write], Job | None, bool]:
        """What has queued: writes up to the batch's size, or up to a job, or the end."""
        item = self._queue.get()
        batch: list[Write] = []
        while isinstance(item, Write):
            batch.append(item)
            if len(batch) == BATCH:
                return batch, None, True
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return batch, None, True
        return batch, item, item is not None

    def _write(self, batch: list[Write]) -> None:
        """Commit what has queued. Nothing of an attempt is written behind a gap: once refused, it stays refused."""
        going = [write for write in batch if write.held not in self._refused] if self._refused else batch
        try:
            rows, payloads = apart(going, self._kept)
            refused = patiently(lambda: commit(going, rows, payloads)) if going else ()
            self._refused.update(dict.fromkeys(refused, Fenced()))
            if payloads:
                self._remember({key for key in payloads if key[0] not in refused})
        except Exception as error:
            logger.error("The journal can't be written.", exc_info=None if isinstance(error, Error) else error)
            lost = JournalLost()
            lost.__cause__ = error
            self._refused.update((write.held, lost) for write in going)
        if self._told is not None:
            self._told([write for write in going if write.held not in self._refused])
        acknowledge(
            [
                (write.done, write.loop, None, self._refused.get(write.held))
                for write in batch
                if write.done is not None and write.loop is not None
            ]
        )

    def _remember(self, written: set[tuple[Held, str]]) -> None:
        """What is there need not be sent again: a conversation shares most of itself with the call before."""
        if len(self._kept) > REMEMBERED:
            self._kept.clear()
        self._kept |= written

    def _do(self, job: Job) -> None:
        try:
            result = patiently(job.work)
        except Exception as error:
            acknowledge([(job.done, job.loop, None, error)])
        else:
            acknowledge([(job.done, job.loop, result, None)])


def patiently(work: Callable[[], Any]) -> Any:
    """Do it, and again after a while when the database is away; the connection is made anew."""
    for pause in PATIENCE_S:
        try:
            return work()
        except Error as error:
            logger.warning("The database can't be written (%s); trying again in %s s.", error, pause)
            connection.close()
            time.sleep(pause)
    return work()


Payloads = dict[tuple[Held, str], str]
"""Attempt and hash → the JSON of a payload: what was refused to one attempt is not there for the next."""


def apart(batch: Sequence[Write], kept: set[tuple[Held, str]]) -> tuple[list[tuple[Any, ...]], Payloads]:
    """The rows of a batch with long events taken apart, and the payloads that are not known to be there."""
    rows, payloads = [], Payloads()
    for write in batch:
        row = write.row
        if len(row[-1]) > MOST:
            data, parts = packed(row[-1])
            row = (*row[:-1], data)
            mine = ((write.held, name) for name in parts)
            payloads |= {key: parts[key[1]] for key in mine if key not in kept}
        rows.append(row)
    return rows, payloads


def payloads_write(cursor: Any, payloads: Payloads) -> None:
    """Those that are not there yet, in an order that is everybody's: two who write the same wait for each other once."""
    texts = {name: text for (_, name), text in payloads.items()}
    made = [(name, compressed(text), len(text)) for name, text in sorted(texts.items())]
    cursor.executemany(INSERT_PAYLOAD, made)
    cursor.executemany(INSERT_USE, sorted({(held.run_id, name) for held, name in payloads}))


def commit(batch: Sequence[Write], rows: Sequence[tuple[Any, ...]], payloads: Payloads) -> set[Held]:
    """Write a batch in one transaction. Those refused belong to an attempt that is no longer the run's."""
    latest = {write.held: write.totals for write in batch}
    refused: set[Held] = set()
    with transaction.atomic(), connection.cursor() as cursor:
        for held, totals in sorted(latest.items()):  # whoever locks several rows does so in their order
            cursor.execute(RENEW, [*map(_adapted, totals), *held])
            if cursor.rowcount == 0:
                refused.add(held)
        if refused:
            rows = [row for row, write in zip(rows, batch, strict=True) if write.held not in refused]
            payloads = {key: text for key, text in payloads.items() if key[0] not in refused}
        if payloads:
            payloads_write(cursor, payloads)
        if rows:
            cursor.executemany(INSERT, rows)
    return refused


def _adapted(value: Any) -> Any:
    """As the database's driver takes it."""
    return connection.ops.adapt_decimalfield_value(value, 18, 9) if isinstance(value, Decimal) else value


Answer = tuple["asyncio.Future[Any]", asyncio.AbstractEventLoop, Any, "Exception | None"]


def acknowledge(answers: Sequence[Answer]) -> None:
    """Wake those who wait, each loop once."""
    for loop in {answer[1] for answer in answers}:
        mine = [answer for answer in answers if answer[1] is loop]
        try:
            loop.call_soon_threadsafe(settle, mine)
        except RuntimeError:
            logger.info("A run's loop ended before its journal was acknowledged.")


def settle(answers: Sequence[Answer]) -> None:
    """On the loop: results and errors into their futures, but for those who no longer wait."""
    for done, _loop, result, error in answers:
        if done.done():
            continue
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)
