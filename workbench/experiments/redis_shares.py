"""Shares that all processes agree on, in one script that Redis runs as a whole.

A hash per provider holds the limit now in force and a row for each process (reserved, under way, waiting, since when);
a sorted set beside it holds when each lease ends, another hash the starts of each second.
"""

from __future__ import annotations

from typing import Any

from workbench.engine.throttle import Rate
from workbench.experiments.shares import LEASE_S, MINUTE_S, MOST_PAUSE_S, PATIENCE_S, Ask, Given

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
