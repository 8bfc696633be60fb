"""The throttle that workers share. Each of them is a `QueueThrottle` with a lease of its own, as in a process."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import asynccontextmanager
from itertools import count

import pytest
from django.conf import settings

from workbench.engine.errors import LimitReached, ProviderError
from workbench.engine.throttle import Rate
from workbench.experiments.redis_shares import InRedis
from workbench.experiments.shares import Alone, Ask, Together, part_of
from workbench.experiments.throttle import QueueThrottle

NAMES = count(1)


@pytest.fixture
def cloud():
    """The name of a provider of which Redis has never heard."""
    return f"cloud{next(NAMES)}_{time.time_ns()}"


def url() -> str:
    return settings.REDIS_URL or f"unix://{settings.BROKER_SOCKET}"


@asynccontextmanager
async def workers(provider, rate, number=2, *, alone=False, **options):
    """Throttles of so many workers."""
    shares = [Alone(**options) if alone else InRedis(url(), f"worker-{n}", **options) for n in range(number)]
    throttles = [QueueThrottle({provider: rate}, share) for share in shares]
    try:
        yield throttles
    finally:
        for throttle in throttles:
            await throttle.close()


class Server:
    """What is called: knows how many calls there are at once, and when each began."""

    def __init__(self, seconds=0.01):
        self.seconds, self.now, self.most, self.begun = seconds, 0, 0, []

    async def answer(self, error=None):
        self.begun.append(time.monotonic())
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(self.seconds)
            if error is not None:
                raise error
        finally:
            self.now -= 1


async def call(throttle, provider, server, *, error=None, left=None):
    turn = await throttle.turn(provider, lambda: left)
    with turn:
        await server.answer(error)
    return turn.waited_seconds


def too_many(retry_after=None):
    return ProviderError("Too many.", code="rate_limited", temporary=True, busy=True, retry_after=retry_after)


@pytest.mark.parametrize("alone", [False, True])
def test_calls_of_a_worker_never_exceed_the_limit_and_come_in_order(cloud, alone):
    async def scenario():
        server, order = Server(), []

        async def one(number, throttle):
            await call(throttle, cloud, server)
            order.append(number)

        async with workers(cloud, Rate(3), 1, alone=alone) as (throttle,):
            await asyncio.gather(*(one(number, throttle) for number in range(12)))
        return server, order

    server, order = asyncio.run(scenario())

    assert server.most == 3
    assert order == sorted(order)


def test_workers_share_a_limit_and_each_gets_its_part(cloud):
    async def scenario():
        server, calls = Server(0.02), [0, 0, 0]

        async def keep_calling(number, throttle, until):
            while time.monotonic() < until:
                await call(throttle, cloud, server)
                calls[number] += 1

        async with workers(cloud, Rate(6), 3) as throttles:
            until = time.monotonic() + 1
            await asyncio.gather(
                *(keep_calling(number, throttle, until) for number, throttle in enumerate(throttles) for _ in range(8))
            )
        return server, calls

    server, calls = asyncio.run(scenario())

    assert server.most == 6
    assert min(calls) > max(calls) / 3, calls


def test_a_limit_of_one_goes_round(cloud):
    async def scenario():
        server, calls = Server(0.02), [0, 0]

        async def keep_calling(number, throttle, until):
            while time.monotonic() < until:
                await call(throttle, cloud, server)
                calls[number] += 1

        async with workers(cloud, Rate(1), 2) as throttles:
            until = time.monotonic() + 1.5
            await asyncio.gather(
                *(keep_calling(number, throttle, until) for number, throttle in enumerate(throttles) for _ in range(3))
            )
        return server, calls

    server, calls = asyncio.run(scenario())

    assert server.most == 1
    assert min(calls) >= 3, calls


def test_what_a_killed_worker_held_is_free_after_its_lease(cloud):
    async def scenario():
        async with workers(cloud, Rate(2), 1, lease_s=0.5) as (living,):
            dead = InRedis(url(), "killed", lease_s=0.5)
            await dead.ask(cloud, Rate(2), Ask(waiting=2))
            await dead.close()
            return await call(living, cloud, Server())

    waited = asyncio.run(scenario())

    assert 0.2 < waited < 3


@pytest.mark.parametrize("alone", [False, True])
def test_a_busy_server_gets_half_at_once_and_all_again_when_it_recovers(cloud, alone):
    async def scenario():
        async with workers(cloud, Rate(16), 1, alone=alone) as (throttle,):
            refused = Server()
            calls = [call(throttle, cloud, refused, error=too_many()) for _ in range(16)]
            await asyncio.gather(*calls, return_exceptions=True)
            await asyncio.sleep(0.1)
            slowed, recovered = Server(), Server(0.001)
            await asyncio.gather(*(call(throttle, cloud, slowed) for _ in range(16)))
            for _ in range(12):
                await asyncio.gather(*(call(throttle, cloud, recovered) for _ in range(32)))
            return refused.most, slowed.most, recovered.most

    refused, slowed, recovered = asyncio.run(scenario())

    assert refused == 16
    assert 8 <= slowed <= 10  # sixteen refusals of calls that began together halve it once
    assert recovered == 16


@pytest.mark.parametrize("slowing", [1, 2, 3])
def test_refusals_that_go_on_leave_one_call_at_once(cloud, slowing):
    async def scenario():
        async with workers(cloud, Rate(8), 1) as (throttle,):
            for _ in range(slowing):
                calls = [call(throttle, cloud, Server(), error=too_many()) for _ in range(8)]
                await asyncio.gather(*calls, return_exceptions=True)
                await asyncio.sleep(0.05)
            slowed = Server()
            await asyncio.gather(*(call(throttle, cloud, slowed) for _ in range(2)))
            return slowed.most

    assert asyncio.run(scenario()) in ((1, 2) if slowing == 3 else (2,))


def test_retry_after_holds_back_every_worker(cloud):
    async def scenario():
        server = Server(0.001)
        async with workers(cloud, Rate(4), 2) as (one, other):
            await call(other, cloud, server)
            with pytest.raises(ProviderError):
                await call(one, cloud, server, error=too_many(retry_after=1))
            refused = time.monotonic()
            await asyncio.sleep(0.3)  # as long as the other may take to hear of it
            await asyncio.gather(call(one, cloud, server), call(other, cloud, server))
            return [begun - refused for begun in server.begun[2:]]

    begun = asyncio.run(scenario())

    assert all(0.9 < seconds < 2 for seconds in begun), begun


def test_a_run_that_has_not_so_long_is_told_at_once(cloud):
    async def scenario():
        async with workers(cloud, Rate(4), 1) as (throttle,):
            with pytest.raises(ProviderError):
                await call(throttle, cloud, Server(), error=too_many(retry_after=30))
            began = time.monotonic()
            with pytest.raises(LimitReached) as raised:
                await call(throttle, cloud, Server(), left=5)
            return raised.value, time.monotonic() - began

    error, seconds = asyncio.run(scenario())

    assert error.limit == "seconds"
    assert "asks everybody to wait 30 s; the run has 5 s left" in str(error)
    assert seconds < 1


@pytest.mark.parametrize("alone", [False, True])
def test_no_more_calls_start_within_a_minute_than_are_allowed(cloud, alone):
    minute = 1

    async def scenario():
        server = Server(0.001)
        async with workers(cloud, Rate(8, 5), 1 if alone else 2, alone=alone, minute_s=minute) as throttles:
            await asyncio.gather(*(call(throttles[n % len(throttles)], cloud, server) for n in range(8)))
        return server.begun

    begun = asyncio.run(scenario())

    assert all(later - earlier >= minute for earlier, later in zip(begun, begun[5:], strict=False))
    assert begun[-1] - begun[0] < 3 * minute + 3


def test_a_minute_that_is_used_up_is_said_to_runs_that_cannot_wait(cloud):
    async def scenario():
        async with workers(cloud, Rate(8, 1), 1) as (throttle,):
            await call(throttle, cloud, Server())
            with pytest.raises(LimitReached, match=r"gets 8 calls at once, 1 a minute .*the run has 9 s left"):
                await call(throttle, cloud, Server(), left=9)

    asyncio.run(scenario())


def test_a_call_that_is_given_up_leaves_the_queue(cloud):
    async def scenario():
        server = Server(0.2)
        async with workers(cloud, Rate(1), 1) as (throttle,):
            first = asyncio.create_task(call(throttle, cloud, server))
            await asyncio.sleep(0.05)
            given_up = asyncio.create_task(call(throttle, cloud, server))
            third = asyncio.create_task(call(throttle, cloud, server))
            await asyncio.sleep(0.05)
            given_up.cancel()
            await asyncio.gather(first, third)
            return len(server.begun), server.most

    assert asyncio.run(scenario()) == (2, 1)


def test_without_redis_each_process_keeps_to_its_part_and_says_so_once(cloud, caplog, tmp_path):
    async def scenario():
        server = Server()
        away = InRedis(f"unix://{tmp_path}/nobody.sock", "me")
        throttle = QueueThrottle({cloud: Rate(5)}, Together(away, 2))
        await asyncio.gather(*(call(throttle, cloud, server) for _ in range(12)))
        await throttle.close()
        return server

    with caplog.at_level(logging.WARNING):
        server = asyncio.run(scenario())

    assert (len(server.begun), server.most) == (12, 3)
    assert [record.getMessage()[:21] for record in caplog.records] == ["Redis does not answer"]
    assert part_of(Rate(5, 9), 2) == Rate(3, 5)


def test_nothing_is_left_in_redis_of_a_worker_that_closed(cloud):
    import redis

    async def scenario():
        async with workers(cloud, Rate(4), 1) as (throttle,):
            await asyncio.gather(*(call(throttle, cloud, Server()) for _ in range(8)))

    asyncio.run(scenario())

    with redis.Redis.from_url(url()) as client:
        facts = client.hgetall(f"workbench:throttle:{{{cloud}}}")
        assert not [name for name in facts if name.startswith(b"owner")]
        assert client.zcard(f"workbench:throttle:{{{cloud}}}:leases") == 0
