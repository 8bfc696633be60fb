"""Real runs in the database of the test, executed in its own process as a worker does it, by a script."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from itertools import count

from django.db import connection
from django.utils import timezone

from tests.engine.support import planned
from tests.experiments.rows import make_dataset
from workbench.engine.planning import RunPlan
from workbench.engine.providers import Providers
from workbench.engine.providers.scripted import Script, ScriptedProvider
from workbench.experiments import lifecycle
from workbench.experiments.execution import Outcome, run_execute, run_prepare
from workbench.experiments.models import Configuration, Experiment, Run
from workbench.experiments.starting import plan_store
from workbench.experiments.writer import Writer

OWNERS = count(1)


def queued_run(document, **fields) -> Run:
    """A run that waits for a worker."""
    plan = document if isinstance(document, RunPlan) else planned(document)
    return Run.objects.create(plan=plan_store(plan), **{"input": "input", **fields})


def queued_experiment(document, size=2, **fields) -> Experiment:
    """An experiment of one configuration, whose runs wait for a worker."""
    version, plan = make_dataset(size), plan_store(planned(document))
    made = {"name": "An experiment", "status": "running", "started_at": timezone.now()}
    experiment = Experiment.objects.create(dataset_version=version, **{**made, **fields})
    configuration = Configuration.objects.create(
        experiment=experiment, position=0, label="whole", topology="test", plan=plan
    )
    for instance in version.instances.all():
        Run.objects.create(experiment=experiment, configuration=configuration, plan=plan, instance=instance)
    return experiment


def scripted(script) -> ScriptedProvider:
    return ScriptedProvider(Script.model_validate(script))


def execute(run: Run, script) -> Outcome:
    """Claim it and run it to its end; the row is read anew. In a thread of its own: that of the tests has a loop once a
    browser was opened."""
    with ThreadPoolExecutor(1) as thread:
        outcome = thread.submit(execute_here, run, script).result()
        thread.submit(lambda: connection.close()).result()
    run.refresh_from_db()
    return outcome


def execute_here(run: Run, script) -> Outcome:
    claimed = lifecycle.run_claim(run.pk, f"worker-{next(OWNERS)}")
    assert claimed is not None, run.status
    prepared = run_prepare(claimed)

    async def go() -> Outcome:
        writer, providers = Writer(), Providers({}, only=scripted(script))
        try:
            return await run_execute(prepared, providers=providers, writer=writer, stop=asyncio.Event())
        finally:
            await providers.close()
            writer.close()

    return asyncio.run(go())
