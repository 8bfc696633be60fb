"""What this app says to the queue. A ticket is a doorbell: the row is the truth, and a ticket too many does no harm."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from kombu.exceptions import ChannelError, OperationalError

from workbench.celery import app
from workbench.engine.errors import WorkbenchError

logger = logging.getLogger(__name__)

QUEUE = "runs"
RUN = "workbench.experiments.tasks.run_execute_task"
OPEN = "workbench.experiments.tasks.experiment_open_task"
DISPATCH = "workbench.experiments.tasks.runs_dispatch_task"
EVALUATE = "workbench.evaluations.tasks.experiment_evaluate_task"
AWAY = "The queue does not answer. Start it with `workbench up`, or set REDIS_URL to one that runs."

Message = tuple[str, tuple[Any, ...]]


class QueueAway(WorkbenchError):
    """Nobody takes messages: nothing can be started."""

    code = "queue"


def send(messages: Sequence[Message]) -> None:
    """Hand these to the queue over one connection. Raises `QueueAway`."""
    try:
        with app.producer_pool.acquire(block=True) as producer:
            for name, args in messages:
                app.send_task(name, args, producer=producer, retry=False, ignore_result=True)
    except (OperationalError, OSError) as error:
        raise QueueAway(AWAY) from error


def send_or_log(messages: Sequence[Message]) -> bool:
    """The same where the sweep mends what gets lost."""
    try:
        send(messages)
    except QueueAway as error:
        logger.warning("%s The next sweep tries again.", error)
        return False
    return True


def queue_check() -> None:
    """Raises `QueueAway` unless the queue answers now."""
    try:
        with app.connection_for_write(
            transport_options={"socket_connect_timeout": 2, "socket_timeout": 2}
        ) as connection:
            connection.ensure_connection(max_retries=1, timeout=2, interval_start=0)
            connection.default_channel.client.ping()
    except (OperationalError, OSError) as error:
        raise QueueAway(AWAY) from error


def queue_length() -> int | None:
    """How many tickets wait; None when the queue does not answer."""
    try:
        with app.connection_for_read() as connection:
            return int(connection.default_channel.queue_declare(queue=QUEUE, passive=True).message_count)
    except ChannelError:
        return 0
    except (OperationalError, OSError):
        return None
