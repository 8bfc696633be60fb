"""What workers and web processes have agreed on: addresses, names, and the bell that both hear."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from django.conf import settings

logger = logging.getLogger(__name__)

WATCH_S = 2.0
"""How often a web process says that it watches a run; three times unheard, and nothing is told any more."""
TICK_S = 0.2
"""How often a worker tells of a watched run at most."""
STREAM_ENTRIES, STREAM_S = 1000, 60
PATIENCE_S = 1.0

EVENT_FIELDS = (
    "sequence", "attempt", "kind", "node", "visit", "at", "status", "fired", "seconds", "input_tokens", "output_tokens",
)  # fmt: skip
"""What viewers are told of an event; the rest stays in the journal."""


def redis_url() -> str:
    """The queue's Redis, as its own clients name it."""
    return settings.REDIS_URL or f"unix://{quote(str(settings.BROKER_SOCKET))}?db=0"


def stream_key(run_id: int) -> str:
    """Where a worker tells of a run."""
    return f"workbench:run:{run_id}"


def bell_name(url: str) -> str:
    """The channel of all that share this queue; channels do not know of databases, so it names its own."""
    import redis.connection

    parse: Any = redis.connection.parse_url
    return f"workbench:bell:{parse(url).get('db', 0)}"


def event_told(row: Sequence[Any]) -> dict[str, Any]:
    """An event as viewers are told of it."""
    return dict(zip(EVENT_FIELDS, row, strict=True))


def ring() -> None:
    """Tell the workers that there is something to stop or to hand in. Whoever misses it looks within a second anyway."""
    import redis

    url = redis_url()
    try:
        with redis.Redis.from_url(url, socket_timeout=PATIENCE_S, socket_connect_timeout=PATIENCE_S) as client:
            client.publish(bell_name(url), "stop")
    except (redis.RedisError, OSError) as error:
        logger.info("The workers could not be told at once (%s).", error)
