"""How many calls of a provider each process may have under way: agreed on in Redis, or decided alone where Redis is away.

A process asks for a share, not for each call: it says what it holds and wants, and hears what it may hold until it asks
again, a few times a second. A share is a lease; that of a killed process is free again after `LEASE_S`.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import Counter
from typing import Any, NamedTuple, Protocol

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


SCRIPT = """
local key, me = KEYS[1], ARGV[1]
local most, per_minute, lease, minute, most_pause = unpack(ARGV, 2, 6)
most, per_minute, lease = tonumber(most), tonumber(per_minute), tonumber(lease)
minute, most_pause = tonumber(minute), tonumber(most_pause)
local held, waiting, spare, unused, oldest, well, busy, busy_epoch, pause = unpack(ARGV, 7, 15)
held, waiting, spare, unused, oldest = tonumber(held), tonumber(waiting), tonumber(spare), tonumber(unused), tonumber(oldest)
well, busy, busy_epoch, pause = tonumber(well), tonumber(busy), tonumber(busy_epoch), tonumber(pause)
local clock = redis.call('TIME')
local second = tonumber(clock[1])
local now = second * 1000 + math.floor(tonumber(clock[2]) / 1000)

-- Who lives, and what they said last. A lease that has run out is nobody's.
local leases = key .. ':leases'
for _, dead in ipairs(redis.call('ZRANGEBYSCORE', leases, '-inf', now)) do
  redis.call('HDEL', key, 'owner ' .. dead)
end
redis.call('ZREMRANGEBYSCORE', leases, '-inf', now)
local facts, owners = {}, {}
local all = redis.call('HGETALL', key)
for i = 1, #all, 2 do
  local owner = string.match(all[i], '^owner (.*)$')
  if not owner then
    facts[all[i]] = tonumber(all[i + 1])
  elseif owner ~= me then
    local reserved, has, wants, since = string.match(all[i + 1], '^(%d+) (%d+) (%d+) (%d+)$')
    table.insert(owners, {
      reserved = tonumber(reserved), held = tonumber(has), waiting = tonumber(wants), since = tonumber(since)
    })
  end
end

-- The limit: half of what is under way when the server is busy, once for all calls that began before; back in steps.
local epoch = facts.epoch or 0
local limit = facts.limit or most
if facts.most ~= most then limit = most end
if busy > 0 and busy_epoch == epoch then
  local flying = held + busy
  for _, owner in ipairs(owners) do flying = flying + owner.held end
  limit = math.max(1, math.floor(math.min(limit, flying) / 2))
  epoch = epoch + 1
elseif well > 0 then
  limit = math.min(most, limit + well * math.max(1, most / 32) / limit)
end
local until_ms = facts.pause or 0
if pause > 0 then until_ms = math.max(until_ms, now + math.min(pause, most_pause)) end

-- Everybody's fair share: the same for all, less for who needs less, what is left over to who waits longest.
local mine = {reserved = 0, held = held, waiting = waiting, since = now - oldest}
local taken, others_wait = 0, false
for _, owner in ipairs(owners) do
  taken = taken + owner.reserved
  others_wait = others_wait or owner.waiting > 0
end
table.insert(owners, mine)
local room, open = math.floor(limit), owners
for _, owner in ipairs(owners) do owner.share = 0 end
while room > 0 do
  local still = {}
  for _, owner in ipairs(open) do
    if owner.share < owner.held + owner.waiting then table.insert(still, owner) end
  end
  open = still
  local each = math.floor(room / math.max(1, #open))
  if #open == 0 or each == 0 then break end
  for _, owner in ipairs(open) do
    local more = math.min(each, owner.held + owner.waiting - owner.share)
    owner.share = owner.share + more
    room = room - more
  end
end
table.sort(open, function(a, b) return a.since < b.since end)
for _, owner in ipairs(open) do
  if room > 0 and owner.share < owner.held + owner.waiting then
    owner.share = owner.share + 1
    room = room - 1
  end
end
local allowed = math.max(0, math.min(mine.share + math.min(spare, room), math.floor(limit) - taken))

-- Starts within the minute, counted by the second.
local granted, rate_wait = -1, 0
if per_minute > 0 then
  local begun, sum, first = key .. ':begun', 0, nil
  local counts = redis.call('HGETALL', begun)
  for i = 1, #counts, 2 do
    local at = tonumber(counts[i])
    if at < second - minute then
      redis.call('HDEL', begun, counts[i])
    else
      sum = sum + tonumber(counts[i + 1])
      first = math.min(first or at, at)
    end
  end
  local wanted = math.max(0, math.min(waiting, allowed - held) - unused)
  granted = math.max(0, math.min(per_minute - sum, wanted))
  if now < until_ms then granted = 0 end
  if granted > 0 then
    redis.call('HINCRBY', begun, second, granted)
    redis.call('EXPIRE', begun, minute + 2)
  end
  if waiting > 0 and sum >= per_minute then rate_wait = (first + minute + 1) * 1000 - now end
end

if held + waiting + allowed == 0 then
  redis.call('HDEL', key, 'owner ' .. me)
  redis.call('ZREM', leases, me)
else
  local row = string.format('%.0f %.0f %.0f %.0f', math.max(held, allowed), held, waiting, now - oldest)
  redis.call('HSET', key, 'owner ' .. me, row)
  redis.call('ZADD', leases, now + lease, me)
end
redis.call('HSET', key, 'limit', limit, 'most', most, 'epoch', epoch, 'pause', string.format('%.0f', until_ms))
redis.call('EXPIRE', key, 3600)
redis.call('EXPIRE', leases, 3600)
local contended = (others_wait or held + waiting > allowed) and 1 or 0
return {allowed, granted, math.max(0, until_ms - now), rate_wait, epoch, contended, math.floor(limit * 100)}
"""


class InRedis:
    """Shares that all processes agree on. Raises what the client raises."""

    def __init__(self, url: str, owner: str, *, lease_s: float = LEASE_S, minute_s: int = MINUTE_S) -> None:
        import redis.asyncio  # noqa: F401  half a second that the loop must not lose at the first call

        self._url, self._owner, self._lease_s, self._minute_s = url, owner, lease_s, minute_s
        self._client: Any = None

    async def ask(self, provider: str, rate: Rate, ask: Ask) -> Given:
        if self._client is None:
            self._connect()
        settings = (rate.at_once, rate.per_minute or 0, self._lease_s * 1000, self._minute_s, MOST_PAUSE_S * 1000)
        said = await self._script(keys=[f"workbench:throttle:{{{provider}}}"], args=[self._owner, *settings, *ask])
        allowed, starts, pause, rate_wait, epoch, contended, limit = said
        return Given(
            allowed=allowed,
            starts=None if starts < 0 else starts,
            pause=pause / 1000,
            rate_wait=rate_wait / 1000,
            epoch=epoch,
            contended=bool(contended),
            limit=limit / 100,
        )

    def _connect(self) -> None:
        import redis.asyncio
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff

        self._client = redis.asyncio.Redis.from_url(
            self._url, socket_timeout=PATIENCE_S, socket_connect_timeout=PATIENCE_S, retry=Retry(NoBackoff(), 0)
        )
        self._script = self._client.register_script(SCRIPT)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()


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
