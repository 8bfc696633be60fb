"""How many calls of a provider each process may have under way: agreed on in Redis (`redis_shares.py`), or decided alone
where Redis is away.

A process asks for a share, not for each call: it says what it holds and wants, and hears what it may hold until it asks
again, a few times a second. A share is a lease; that of a killed process is free again after `LEASE_S`.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import Counter
from typing import NamedTuple, Protocol

from workbench.engine.throttle import Rate

logger = logging.getLogger(__name__)

LEASE_S = 10.0
MINUTE_S = 60
MOST_PAUSE_S = 600.0
"""Whatever a server says, somebody tries again after so long."""
PATIENCE_S = 2.0
AGAIN_S = 5.0
"""So long a Redis that did not answer is left alone."""


class Ask(NamedTuple):
    """What a process says: calls under way and waiting, what it would keep ready, starts it was granted and has not
    used, how long its first waits; and since it last asked: calls that went well, whether the server was `busy` to one
    that began in `epoch`, and for how long it asks to be left alone."""

    held: int = 0
    waiting: int = 0
    spare: int = 0
    unused: int = 0
    oldest_ms: int = 0
    went_well: int = 0
    busy: int = 0
    epoch: int = 0
    pause_ms: int = 0

    @property
    def demand(self) -> int:
        return self.held + self.waiting


class Given(NamedTuple):
    """What it hears: calls it may have under way, starts within the minute (None: no limit), seconds until any call may
    start because the server asked for that (`pause`) or the minute is used up (`rate_wait`), the number of the last
    slowing down, whether somebody waits, and the limit now in force."""

    allowed: int = 0
    starts: int | None = None
    pause: float = 0.0
    rate_wait: float = 0.0
    epoch: int = 0
    contended: bool = False
    limit: float = 0.0


class Shares(Protocol):
    """Whoever gives shares."""

    async def ask(self, provider: str, rate: Rate, ask: Ask) -> Given: ...

    async def close(self) -> None: ...


class Alone:
    """Shares of a process that is alone, by its own clock. Half when the server is busy, a little more for each call
    that goes well."""

    def __init__(self, *, minute_s: int = MINUTE_S) -> None:
        self._states: dict[str, _State] = {}
        self._minute_s = minute_s

    async def ask(self, provider: str, rate: Rate, ask: Ask) -> Given:
        state = self._states.setdefault(provider, _State(rate, self._minute_s))
        now = time.monotonic()
        state.heed(ask, now)
        allowed = min(ask.demand + ask.spare, int(state.limit))
        starts, rate_wait = state.starts(ask, allowed, now)
        return Given(
            allowed=allowed,
            starts=starts,
            pause=max(0.0, state.pause_until - now),
            rate_wait=rate_wait,
            epoch=state.epoch,
            contended=ask.demand > allowed,
            limit=state.limit,
        )

    async def close(self) -> None:
        pass


class _State:
    def __init__(self, rate: Rate, minute_s: int) -> None:
        self.rate, self.limit = rate, float(rate.at_once)
        self._minute_s = minute_s
        self.epoch, self.pause_until = 0, 0.0
        self._begun: Counter[int] = Counter()

    def heed(self, ask: Ask, now: float) -> None:
        most = self.rate.at_once
        if ask.busy and ask.epoch == self.epoch:
            self.limit = max(1.0, min(self.limit, ask.held + ask.busy) // 2)
            self.epoch += 1
        elif ask.went_well:
            self.limit = min(most, self.limit + ask.went_well * max(1.0, most / 32) / self.limit)
        if ask.pause_ms:
            self.pause_until = max(self.pause_until, now + min(ask.pause_ms / 1000, MOST_PAUSE_S))

    def starts(self, ask: Ask, allowed: int, now: float) -> tuple[int | None, float]:
        """Starts granted now, and how long until there may be one. A second counts until a whole minute lies behind."""
        if self.rate.per_minute is None:
            return None, 0.0
        second = math.floor(now)
        self._begun = Counter({at: number for at, number in self._begun.items() if at >= second - self._minute_s})
        free = self.rate.per_minute - self._begun.total()
        wanted = max(0, min(ask.waiting, allowed - ask.held) - ask.unused)
        granted = max(0, min(free, wanted)) if now >= self.pause_until else 0
        if granted:
            self._begun[second] += granted
        wait = min(self._begun) + self._minute_s + 1 - now if ask.waiting and free <= 0 else 0.0
        return granted, wait


class Together:
    """Shares in Redis; while it is away, this process's part of the limit. No run fails for want of a Redis."""

    def __init__(self, shared: Shares, processes: int) -> None:
        self._shared, self._alone, self._processes = shared, Alone(), processes
        self._again = 0.0

    async def ask(self, provider: str, rate: Rate, ask: Ask) -> Given:
        if time.monotonic() >= self._again:
            try:
                async with asyncio.timeout(PATIENCE_S):
                    given = await self._shared.ask(provider, rate, ask)
            except Exception as error:  # the client raises of many kinds; a fault in here must not stop the runs either
                self._away(error)
            else:
                if self._again:
                    self._again = 0.0
                    logger.warning("Redis answers again: the limits of providers are shared.")
                return given
        return await self._alone.ask(provider, part_of(rate, self._processes), ask)

    def _away(self, error: Exception) -> None:
        if not self._again:
            logger.warning(
                "Redis does not answer (%s): until it does, each process keeps to its part of the limits.", error
            )
        self._again = time.monotonic() + AGAIN_S

    async def close(self) -> None:
        await self._shared.close()


def part_of(rate: Rate, processes: int) -> Rate:
    """A process's part, rounded up."""
    per_minute = None if rate.per_minute is None else -(-rate.per_minute // processes)
    return Rate(-(-rate.at_once // processes), per_minute)
