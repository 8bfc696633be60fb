"""Before an experiment's first run its models are loaded, once each: no run waits for that, none is compared by it."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Iterator
from typing import Any

from django.db import connection
from django.utils import timezone

from workbench.engine.errors import WorkbenchError
from workbench.engine.planning import RunPlan, window_of
from workbench.engine.providers import Providers
from workbench.experiments import sweeping, tickets
from workbench.experiments.models import Experiment, Plan

logger = logging.getLogger(__name__)

BEAT_S = 1.0


def experiment_open(experiment_id: int) -> None:
    """Send the tickets of an experiment that begins or goes on, after its models are loaded, which nobody waits for."""
    loads = models_to_load(experiment_id)
    if not loads:
        sweeping.runs_dispatch(experiment_id)
        return
    Experiment.objects.filter(pk=experiment_id).update(warming_at=timezone.now())
    threading.Thread(target=warm_and_dispatch, args=(experiment_id, loads), name="warm-up", daemon=True).start()


def models_to_load(experiment_id: int) -> dict[str, int]:
    """Model → window, for models whose servers load one when it is asked for. A model that is compared under several
    windows is loaded for the first of them."""
    plans = Plan.objects.filter(configurations__experiment=experiment_id).order_by("configurations__position")
    found: dict[str, int] = {}
    for data in plans.values_list("data", flat=True):
        for model, window in windows_of(data):
            found.setdefault(model, window)
    return found


def windows_of(data: Any) -> Iterator[tuple[str, int]]:
    for model, windows in RunPlan.model_validate(data).windows().items():
        if (default := window_of(model)) is not None:
            yield model, max(window or default for window in windows)


def warm_and_dispatch(experiment_id: int, loads: dict[str, int]) -> None:
    """On a thread of its own. What can't be loaded is for the runs to say."""
    try:
        asyncio.run(models_load(experiment_id, loads))
    except Exception:
        logger.exception("The models of experiment %s could not be loaded.", experiment_id)
    finally:
        Experiment.objects.filter(pk=experiment_id).update(warming_at=None)
        tickets.send_or_log([(tickets.DISPATCH, (experiment_id,))])
        connection.close()


async def models_load(experiment_id: int, loads: dict[str, int]) -> None:
    """All at once; once a second the row says that it still goes on, until somebody stops the experiment."""
    providers = Providers(os.environ)
    try:
        tasks = [asyncio.ensure_future(model_load(providers, model, window)) for model, window in loads.items()]
        going = set(tasks)
        while going:
            _, going = await asyncio.wait(going, timeout=BEAT_S)
            if going and not await asyncio.to_thread(still_wanted, experiment_id):
                for task in going:
                    task.cancel()
    finally:
        await providers.close()


async def model_load(providers: Providers, model: str, window: int) -> None:
    provider, _, name = model.partition("/")
    try:
        await providers.get(provider).warm_up(name, {"num_ctx": window})
    except WorkbenchError as error:
        logger.info("%s was not loaded before its runs: %s", model, error)


def still_wanted(experiment_id: int) -> bool:
    """Whether the experiment is still running; says at the same time that its models are being loaded."""
    try:
        running = Experiment.objects.filter(pk=experiment_id, status=Experiment.Status.RUNNING)
        return bool(running.update(warming_at=timezone.now()))
    finally:
        connection.close()
