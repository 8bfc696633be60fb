"""The web process's side: one subscription for each run that has viewers here, however many they are.

A viewer joins first, is then told what the journal holds, and from there on what comes; what it has been told before is
dropped on the way. What a worker told nobody (Redis was away, the run was not watched yet) is read from the journal.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import AsyncIterator
from dataclasses import replace
from time import monotonic
from typing import Any
from weakref import WeakKeyDictionary

from workbench.experiments.live.past import Past, past_of
from workbench.experiments.live.told import NOTHING, Told, ended
from workbench.experiments.live.wire import PATIENCE_S, WATCH_S, bell_name, redis_url, stream_key

logger = logging.getLogger(__name__)

QUEUED = 200
"""So far a viewer may fall behind; then it is sent away, comes back and is told the rest from the journal."""
HERE_S = 10.0
"""How often a viewer hears that the stream still stands."""
RETRY_S = 1.0
READ_AT_ONCE = 100


class Viewer:
    """One page that watches."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[Told] = asyncio.Queue(QUEUED)
        self.behind = False

    def tell(self, told: Told) -> None:
        """In its turn. Whoever does not read is not waited for: what it missed it will find in the journal."""
        if self.queue.full():
            self.waiting()
            self.behind = True
        self.queue.put_nowait(told)

    def waiting(self) -> list[Told]:
        """What has come so far, taken out."""
        found = []
        while not self.queue.empty():
            found.append(self.queue.get_nowait())
        return found


class Channel:
    """A run with viewers in this process."""

    def __init__(self, run_id: int, client: Any, bell: str) -> None:
        self.run_id, self.viewers = run_id, set[Viewer]()
        self._client, self._bell = client, bell
        self._so_far, self._known = NOTHING, asyncio.Event()
        self.listening = asyncio.ensure_future(self._listen())

    def knows(self, past: Past) -> None:
        """A viewer has read the journal: from there on this channel goes on."""
        if not self._known.is_set():
            self._so_far = Told(last=past.last, attempt=past.attempt, status=past.status)
            self._known.set()

    @property
    def so_far(self) -> Told:
        """What its viewers know: for whoever comes later, the calls under way with all that was said in them."""
        return self._so_far

    async def _listen(self) -> None:
        from redis import RedisError

        await self._known.wait()
        while True:
            try:
                await self._hear()
                return
            except (RedisError, OSError) as error:
                logger.info("Run %s can't be watched now (%s); trying again.", self.run_id, error)
            except Exception:
                logger.exception("Watching run %s met a fault.", self.run_id)
            await asyncio.sleep(RETRY_S)

    async def _hear(self) -> None:
        """Until the run has ended."""
        key, name, said = stream_key(self.run_id), secrets.token_hex(4), 0.0
        newest = await self._client.xrevrange(key, count=1)
        since = newest[0][0] if newest else "0-0"
        while not ended(self._so_far.status):
            if monotonic() - said >= WATCH_S:
                await self._client.publish(self._bell, f"watch {name} {self.run_id}")
                said = monotonic()
            found = await self._client.xread({key: since}, count=READ_AT_ONCE, block=int(WATCH_S * 1000))
            for entry_id, fields in found[0][1] if found else ():
                since = entry_id
                await self._take(json.loads(fields[b"entry"]))

    async def _take(self, entry: dict[str, Any]) -> None:
        before = self._so_far
        if entry["attempt"] < before.attempt or ended(before.status):
            return  # a worker that has lost the run, or its last words after the end
        told = before.next(entry)
        if told.gap:
            past = await past_of(self.run_id, before.last)
            if past is None:
                return
            told = told.mended(past)
        self._so_far = before.after(told)
        for viewer in list(self.viewers):
            viewer.tell(told)


class Hub:
    """The channels of one event loop."""

    def __init__(self, url: str) -> None:
        import redis.asyncio
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff

        self._client = redis.asyncio.Redis.from_url(
            url,
            socket_timeout=WATCH_S + PATIENCE_S,
            socket_connect_timeout=PATIENCE_S,
            retry=Retry(NoBackoff(), 0),
        )
        self._bell = bell_name(url)
        self._channels: dict[int, Channel] = {}

    def join(self, run_id: int) -> tuple[Channel, Viewer]:
        """Another viewer of a run; the first one opens the subscription."""
        before = self._channels.get(run_id)
        if before is None or ended(before.so_far.status):  # it may have been taken up again since
            self._channels[run_id] = Channel(run_id, self._client, self._bell)
        channel, viewer = self._channels[run_id], Viewer()
        channel.viewers.add(viewer)
        return channel, viewer

    def channel(self, run_id: int) -> Channel:
        """That of a run with viewers here."""
        return self._channels[run_id]

    def leave(self, channel: Channel, viewer: Viewer) -> None:
        """The last one closes it."""
        channel.viewers.discard(viewer)
        if not channel.viewers and self._channels.get(channel.run_id) is channel:
            del self._channels[channel.run_id]
            channel.listening.cancel()


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def current() -> Hub:
    """This loop's hub, made when first asked for."""
    loop = asyncio.get_running_loop()
    if loop not in _hubs:
        _hubs[loop] = Hub(redis_url())
    return _hubs[loop]


async def run_frames(run_id: int, after: int) -> AsyncIterator[bytes]:
    """What a viewer is sent, who knows the run's events up to `after`."""
    hub = current()
    channel, viewer = hub.join(run_id)
    try:
        past = await past_of(run_id, after)
        if past is None:
            return
        channel.knows(past)
        so_far, waiting = channel.so_far, viewer.waiting()  # of one moment: the calls of those that wait are in it
        yield b"retry: 1000\n\n"
        yield replace(Told.of_past(past), calls=so_far.calls, more=so_far.more).frame(after)
        last, status = past.last, past.status
        for told in waiting:
            yield replace(told, calls=None).frame(last)
            last, status = max(last, told.last), told.status or status
        while not ended(status):
            try:
                told = await asyncio.wait_for(viewer.queue.get(), HERE_S)
            except TimeoutError:
                yield b": here\n\n"
                continue
            if viewer.behind:
                yield b"event: behind\ndata: {}\n\n"
                return
            yield told.frame(last)
            last, status = max(last, told.last), told.status or status
    finally:
        hub.leave(channel, viewer)
