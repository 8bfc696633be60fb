"""Celery's way in: run tickets, their dispatcher, the sweep. Each only finds the row and passes on."""

from __future__ import annotations

import sys
import threading
from typing import Any

from celery import shared_task
from celery.signals import worker_ready, worker_shutdown, worker_shutting_down


@shared_task  # type: ignore[untyped-decorator]
def run_execute_task(run_id: int) -> None:
    """A run's ticket: wait for a slot of this process, take the run, hand it to the loop."""
    from workbench.experiments.worker import current  # loads LangGraph: workers only

    current().take(run_id)


@shared_task  # type: ignore[untyped-decorator]
def experiment_open_task(experiment_id: int) -> None:
    """An experiment begins or goes on: load its models, then send its tickets."""
    from workbench.experiments.warming import experiment_open

    experiment_open(experiment_id)


@shared_task  # type: ignore[untyped-decorator]
def runs_dispatch_task(experiment_id: int, after: int = 0) -> None:
    """Send the tickets of an experiment, a hundred at a time, so that experiments take turns in the queue."""
    from workbench.experiments.sweeping import runs_dispatch

    runs_dispatch(experiment_id, after)


@shared_task  # type: ignore[untyped-decorator]
def runs_sweep_task() -> None:
    """Bring back what a dead worker or a lost ticket has left behind."""
    from workbench.experiments.sweeping import sweep

    sweep()


@worker_ready.connect  # type: ignore[untyped-decorator]
def worker_start(sender: Any, **_: Any) -> None:
    """A worker of the runs' queue is warm before its first ticket, and sweeps from its start."""
    if "runs" in sender.app.amqp.queues.consume_from:
        from workbench.experiments.preloading import preload
        from workbench.experiments.worker import current

        current()
        threading.Thread(target=preload, name="preload", daemon=True).start()


@worker_shutting_down.connect  # type: ignore[untyped-decorator]
def worker_drain(**_: Any) -> None:
    """A warm shutdown begins: take no more."""
    if (worker := _started()) is not None:
        worker.drain()


@worker_shutdown.connect  # type: ignore[untyped-decorator]
def worker_end(**_: Any) -> None:
    """The last tickets are dealt with: end the runs or give them back."""
    if (worker := _started()) is not None:
        worker.close()


def _started() -> Any:
    """The runs' worker of this process; asking must not load LangGraph in a process that ends, or never had one."""
    module = sys.modules.get("workbench.experiments.worker")
    started = getattr(module, "started", None)
    return started() if started else None
