"""The throttle of a worker: calls wait here, first come first served, until this process's share has room for them.

Waiting is no failure and no model time: it is on the call's event as `waited_seconds`. A stopped run leaves the queue;
one that can't wait long enough is told so at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import deque
from collections.abc import Mapping
from time import monotonic
from typing import NamedTuple

from django.conf import settings

from workbench.engine.errors import LimitReached, ProviderError
from workbench.engine.throttle import FREE, Rate, SecondsLeft, Turn, rate_of
from workbench.experiments.live.wire import redis_url
from workbench.experiments.redis_shares import InRedis
from workbench.experiments.shares import MOST_PAUSE_S, Alone, Ask, Given, Shares, Together

CLOSELY_S = 0.05
LOOSELY_S = 0.25
"""How often a share is asked for anew: while somebody waits, and otherwise."""
GAP_S = 0.01
"""Askings lie at least so far apart: what comes meanwhile goes along with the next."""
READY_S = 1.0
"""So long a share is kept ready for calls that come again."""


class QueueThrottle:
    """A queue for each provider. Belongs to one event loop."""

    def __init__(self, rates: Mapping[str, Rate], shares: Shares) -> None:
        self._rates, self._shares = rates, shares
        self._gates: dict[str, Gate | None] = {}

    async def turn(self, provider: str, seconds_left: SecondsLeft) -> Turn:
        gate = self._gate(provider)
        return FREE if gate is None else await gate.enter(seconds_left)

    def _gate(self, provider: str) -> Gate | None:
        if provider not in self._gates:
            rate = rate_of(provider, self._rates)
            self._gates[provider] = None if rate is None else Gate(provider, rate, self._shares)
        return self._gates[provider]

    async def close(self) -> None:
        """Give all shares back."""
        for gate in self._gates.values():
            if gate is not None:
                await gate.close()
        self._gates.clear()
        await self._shares.close()


def throttle_of_workers(owner: str) -> QueueThrottle:
    """The throttle as the settings describe it, shared with every other worker."""
    return QueueThrottle(settings.PROVIDER_LIMITS, Together(InRedis(redis_url(), owner), settings.RUN_PROCESSES))


def throttle_alone() -> QueueThrottle:
    """The same limits for a process that runs by itself."""
    return QueueThrottle(settings.PROVIDER_LIMITS, Alone())


class Waiter(NamedTuple):
    """A call that waits for its turn."""

    ready: asyncio.Future[None]
    seconds_left: SecondsLeft
    since: float


class Gate:
    """One provider's queue, and this process's share."""

    def __init__(self, provider: str, rate: Rate, shares: Shares) -> None:
        self._provider, self._rate, self._shares = provider, rate, shares
        self._waiters: deque[Waiter] = deque()
        self._given, self._paused_until = Given(), 0.0
        self._held = self._unused = self._went_well = self._busy = self._busy_epoch = 0
        self._pause = 0.0
        self._peak, self._peak_since = 0, 0.0
        self._wake = asyncio.Event()
        self._asking: asyncio.Task[None] | None = None

    async def enter(self, seconds_left: SecondsLeft) -> OneTurn:
        """Wait for a turn."""
        if not self._waiters and self._may_start():
            self._start()
            return OneTurn(self, self._given.epoch, 0.0)
        waiter = Waiter(asyncio.get_running_loop().create_future(), seconds_left, monotonic())
        self._waiters.append(waiter)
        if self._asking is None or not self._given.contended:  # else it is asked again soon, and often enough
            self._ask_now()
        try:
            await waiter.ready
        except asyncio.CancelledError:
            if waiter.ready.done() and not waiter.ready.cancelled() and waiter.ready.exception() is None:
                self._held -= 1  # its turn came as it left
                self._let_in()
            raise
        return OneTurn(self, self._given.epoch, monotonic() - waiter.since)

    def leave(self, epoch: int, error: BaseException | None) -> None:
        """A call has ended."""
        self._held -= 1
        if error is None:
            self._went_well += 1
        elif isinstance(error, ProviderError) and error.busy:
            if epoch == self._given.epoch:  # one that began earlier says nothing of the limit now in force
                self._busy, self._busy_epoch = self._busy + 1, epoch
            self._pause = max(self._pause, min(error.retry_after or 0.0, MOST_PAUSE_S))
            self._paused_until = max(self._paused_until, monotonic() + self._pause)
            self._ask_now()
        self._let_in()

    async def close(self) -> None:
        """Give the share back."""
        if self._asking is not None:
            self._asking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._asking
            await self._shares.ask(self._provider, self._rate, Ask())

    def _may_start(self) -> bool:
        return (
            self._held < self._given.allowed
            and (self._given.starts is None or self._unused > 0)
            and monotonic() >= self._paused_until
        )

    def _start(self) -> None:
        self._held += 1
        if self._given.starts is not None:
            self._unused -= 1
        self._peak = max(self._peak, self._held)

    def _let_in(self) -> None:
        """Whoever waits longest, as far as there is room."""
        while self._waiters and self._may_start():
            waiter = self._waiters.popleft()
            if not waiter.ready.done():
                self._start()
                waiter.ready.set_result(None)

    def _ask_now(self) -> None:
        self._wake.set()
        if self._asking is None:
            self._asking = asyncio.ensure_future(self._keep_asking())

    async def _keep_asking(self) -> None:
        """Until there is nothing under way, nobody waits and the share is given back."""
        try:
            while await self._ask_once():
                await self._pass(self._interval())
        finally:
            self._asking = None

    def _interval(self) -> float:
        wait = self._wait()
        if wait > 0:
            return min(LOOSELY_S, max(CLOSELY_S, wait))
        return CLOSELY_S if self._given.contended else LOOSELY_S

    async def _pass(self, seconds: float) -> None:
        await asyncio.sleep(GAP_S)
        if not self._wake.is_set():
            timer = asyncio.get_running_loop().call_later(seconds - GAP_S, self._wake.set)
            await self._wake.wait()
            timer.cancel()

    async def _ask_once(self) -> bool:
        """Say what is so, hear what may be; whether there is a reason to ask again."""
        self._wake.clear()
        ask = self._said()
        self._given = await self._shares.ask(self._provider, self._rate, ask)
        self._paused_until = max(self._paused_until, monotonic() + self._given.pause)
        if self._given.starts is not None:
            self._unused = (self._unused if self._waiters else 0) + self._given.starts
        self._let_in()
        self._turn_away()
        return bool(self._held or self._waiters or ask.spare or self._given.allowed)

    def _said(self) -> Ask:
        while self._waiters and self._waiters[0].ready.done():
            self._waiters.popleft()
        now, waiting = monotonic(), sum(not waiter.ready.done() for waiter in self._waiters)
        demand = self._held + waiting
        if now - self._peak_since > READY_S:
            self._peak, self._peak_since = demand, now
        ask = Ask(
            held=self._held,
            waiting=waiting,
            spare=max(0, self._peak - demand),
            unused=self._unused,
            oldest_ms=math.ceil((now - self._waiters[0].since) * 1000) if self._waiters else 0,
            went_well=self._went_well,
            busy=self._busy,
            epoch=self._busy_epoch,
            pause_ms=math.ceil(self._pause * 1000),
        )
        self._went_well = self._busy = 0
        self._pause = 0.0
        return ask

    def _wait(self) -> float:
        """Seconds until any call may start."""
        return max(self._paused_until - monotonic(), self._given.rate_wait)

    def _turn_away(self) -> None:
        """Runs whose time is up before their call could start."""
        wait = self._wait()
        if wait <= 0:
            return
        for waiter in self._waiters:
            left = waiter.seconds_left()
            if left is not None and left < wait and not waiter.ready.done():
                waiter.ready.set_exception(LimitReached("seconds", self._too_late(wait, left)))

    def _too_late(self, wait: float, left: float) -> str:
        why = (
            f"gets {self._rate} (WORKBENCH_PROVIDER_LIMITS), and its next may start in {wait:.0f} s"
            if self._given.rate_wait >= wait
            else f"asks everybody to wait {wait:.0f} s"
        )
        return f"The provider {self._provider} {why}; the run has {max(left, 0):.0f} s left (limit seconds)."


class OneTurn:
    """A call's turn."""

    __slots__ = ("_epoch", "_gate", "waited_seconds")

    def __init__(self, gate: Gate, epoch: int, waited_seconds: float) -> None:
        self._gate, self._epoch, self.waited_seconds = gate, epoch, waited_seconds

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object, /) -> None:
        self._gate.leave(self._epoch, error)
