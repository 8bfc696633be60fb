"""A run whose journal is committed to the database, as a worker's is."""

from __future__ import annotations

import asyncio

from django.utils import timezone

from workbench.bench.engine import run_once
from workbench.engine.planning import RunPlan
from workbench.engine.providers import Providers
from workbench.engine.providers.scripted import Answer, ScriptedProvider
from workbench.experiments.journal import DatabaseJournal, Past
from workbench.experiments.models import Run
from workbench.experiments.starting import plan_store
from workbench.experiments.totals import Totals
from workbench.experiments.writer import Held, Writer


def run_in_database(plan: RunPlan, answer: Answer) -> None:
    """Run it to its end; returns when all of it is committed."""
    row = Run.objects.create(
        plan=plan_store(plan), status="running", attempt=1, owner="bench", heartbeat_at=timezone.now(), input="go"
    )
    writer = Writer()
    try:
        journal = DatabaseJournal(writer, Held(row.pk, 1, "bench"), [], Past(0, Totals()))
        done = asyncio.run(run_once(plan, journal, Providers({}, only=ScriptedProvider(answer))))
    finally:
        writer.close()
    assert done.status == "succeeded", done.reason
