"""The worker's side: one thread tells of the runs that somebody watches, and hears the bell."""

from __future__ import annotations

import json
import logging
import queue
import threading
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

from workbench.engine.under_way import UnderWay
from workbench.experiments.live.calls import CallsTold
from workbench.experiments.live.wire import (
    EVENT_FIELDS,
    PATIENCE_S,
    STREAM_ENTRIES,
    STREAM_S,
    TICK_S,
    WATCH_S,
    bell_name,
    event_told,
    stream_key,
)
from workbench.experiments.writer import Write

logger = logging.getLogger(__name__)

IDLE_S = 1.0
RETRY_S = 1.0
Entry = dict[str, Any]


class Held:
    """A run of this process."""

    def __init__(self, attempt: int, under_way: UnderWay) -> None:
        self.attempt, self.last = attempt, 0
        self.calls = CallsTold(under_way)


class Teller:
    """Tells of watched runs. `on_stop` is called when something is to stop; it must return at once."""

    def __init__(self, url: str, on_stop: Callable[[], None]) -> None:
        self._url, self._on_stop = url, on_stop
        self._held: dict[int, Held] = {}
        self._watched: dict[int, dict[str, float]] = {}
        self._entries: queue.SimpleQueue[tuple[int, Entry]] = queue.SimpleQueue()
        self._told_at = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, name="telling", daemon=True)
        self._thread.start()

    # From the loop and the writer

    def hold(self, run_id: int, attempt: int, under_way: UnderWay) -> None:
        """From now on this run is told of, if it is watched."""
        self._held[run_id] = Held(attempt, under_way)

    def committed(self, writes: Sequence[Write]) -> None:
        """These events stand in the journal."""
        for write in writes:
            run_id = write.held.run_id
            if run_id in self._watched:
                told = event_told(write.row[1 : 1 + len(EVENT_FIELDS)])
                self._entries.put((run_id, {"attempt": write.held.attempt, "events": [told], "totals": write.totals}))
            if (held := self._held.get(run_id)) is not None:
                held.last = write.row[1]

    def status(self, run_id: int, status: str) -> None:
        """The run's row says something new."""
        if run_id in self._watched and (held := self._held.get(run_id)) is not None:
            self._entries.put((run_id, {"attempt": held.attempt, "status": status}))

    def let_go(self, run_id: int, status: str = "") -> None:
        """The last that is told of this attempt; nothing comes after it."""
        held = self._held.pop(run_id, None)
        if held is not None and run_id in self._watched:
            last = {"attempt": held.attempt, "now": {"calls": [], "more": 0}}
            self._entries.put((run_id, {**last, "status": status} if status else last))

    def close(self) -> None:
        """Tell what is left, and end."""
        self._ended.set()
        self._thread.join(2)

    # The thread

    def _work(self) -> None:
        import redis

        while not self._ended.is_set():
            try:
                with redis.Redis.from_url(
                    self._url, socket_timeout=PATIENCE_S + IDLE_S, socket_connect_timeout=PATIENCE_S
                ) as client:
                    self._listen(client)
            except (redis.RedisError, OSError) as error:
                logger.info("Nobody can be told of runs now (%s).", error)
                self._watched = {}  # whoever watches says it again
                self._drop()
                self._ended.wait(RETRY_S)

    def _listen(self, client: Any) -> None:
        with client.pubsub(ignore_subscribe_messages=True) as bell:
            bell.subscribe(bell_name(self._url))
            while not self._ended.is_set():
                message = bell.get_message(timeout=TICK_S if self._watched else IDLE_S)
                if message is not None:
                    self._rang(message["data"].decode().split())
                if self._watched and monotonic() - self._told_at >= TICK_S * 0.9:
                    self._told_at = monotonic()
                    self._forget()
                    self._tell(client)
            self._tell(client)

    def _rang(self, words: Sequence[str]) -> None:
        if words[:1] == ["stop"]:
            self._on_stop()
        elif len(words) == 3 and words[0] == "watch" and words[2].isdecimal():
            watchers = self._watched.setdefault(int(words[2]), {})
            if words[1] not in watchers and (held := self._held.get(int(words[2]))) is not None:
                held.calls.again()
                self._told_at = 0.0
            watchers[words[1]] = monotonic() + 3 * WATCH_S

    def _forget(self) -> None:
        """Those who have not said for a while that they watch."""
        now = monotonic()
        for run_id, watchers in list(self._watched.items()):
            for name in [name for name, until in watchers.items() if until < now]:
                del watchers[name]
            if not watchers:
                del self._watched[run_id]

    def _tell(self, client: Any) -> None:
        """Everything that queued, then the calls under way: nothing of a run follows its last entry."""
        here = [(run_id, held, held.last) for run_id in list(self._watched) if (held := self._held.get(run_id))]
        told = self._queued()
        for run_id, held, last in here:
            if self._held.get(run_id) is held and (news := held.calls.news()) is not None:
                told.append((run_id, {"attempt": held.attempt, "now": news, "last": last}))
        if not told:
            return
        with client.pipeline(transaction=False) as pipeline:
            for run_id, entry in told:
                fields = {"entry": json.dumps(entry, default=str)}
                pipeline.xadd(stream_key(run_id), fields, maxlen=STREAM_ENTRIES, approximate=True)
            for run_id in {run_id for run_id, _ in told}:
                pipeline.expire(stream_key(run_id), STREAM_S)
            pipeline.execute()

    def _queued(self) -> list[tuple[int, Entry]]:
        """What queued; events that follow each other go together."""
        told: list[tuple[int, Entry]] = []
        latest: dict[int, Entry] = {}
        while not self._entries.empty():
            run_id, entry = self._entries.get()
            before = latest.get(run_id)
            if before and "events" in entry and "events" in before and before["attempt"] == entry["attempt"]:
                before["events"] += entry["events"]
                before["totals"] = entry["totals"]
                continue
            latest[run_id] = entry
            told.append((run_id, entry))
        return told

    def _drop(self) -> None:
        while not self._entries.empty():
            self._entries.get()
