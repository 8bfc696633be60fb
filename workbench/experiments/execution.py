"""Executes one run, for workers and the command line: they load LangGraph through here, pages never do."""

from __future__ import annotations

import asyncio
import logging
import platform
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from django.db import Error

from workbench.engine.context import RunInput
from workbench.engine.errors import WorkbenchError
from workbench.engine.events import Noted
from workbench.engine.people import Answer, Desk
from workbench.engine.planning import RunPlan
from workbench.engine.providers import Providers
from workbench.engine.runtime import RunResult, run_plan
from workbench.engine.under_way import UnderWay
from workbench.experiments import lifecycle, tickets
from workbench.experiments.digests import changes, model_versions, versions_met
from workbench.experiments.forking import fork_inherit
from workbench.experiments.journal import DatabaseJournal, Past, journal_new, journal_past
from workbench.experiments.models import Run
from workbench.experiments.questions import answers_of
from workbench.experiments.questions_desk import desk_make
from workbench.experiments.recorded import worth_keeping
from workbench.experiments.stored import run_input, stored_plan
from workbench.experiments.sweeping import experiment_close
from workbench.experiments.text import storable
from workbench.experiments.workspace import workspace_quota, workspace_ready
from workbench.experiments.writer import Held, Writer

logger = logging.getLogger(__name__)


class Prepared(NamedTuple):
    """All that an attempt needs, read from the database before the loop gets it."""

    run: Run
    plan: RunPlan
    given: RunInput
    workspace: Path
    recorded: Sequence[Any]
    past: Past
    versions_met: Mapping[str, str] = {}
    answers: Mapping[str, Answer] = {}


class Outcome(NamedTuple):
    """How an attempt ended. `result` is missing where the engine did not come to one."""

    status: str
    reason: str
    code: str
    result: RunResult | None = None


def run_prepare(run: Run) -> Prepared:
    """Read plan, input and earlier attempts of a claimed run. Not for the loop."""
    fork_inherit(run)
    plan = stored_plan(run.plan_id)
    new = run.attempt == 1 and run.parent_id is None  # nothing can have happened yet
    events, past = journal_new(run) if new else journal_past(run)
    met, answers = versions_met(run), {} if new else answers_of(run.pk)
    folder = workspace_ready(run, begun=bool(events))
    return Prepared(run, plan, run_input(run), folder, worth_keeping(events, plan), past, met, answers)


async def run_execute(
    prepared: Prepared,
    *,
    providers: Providers,
    writer: Writer,
    stop: asyncio.Event,
    under_way: UnderWay | None = None,
    desk: Desk | None = None,
) -> Outcome:
    """Run a claimed run to its end and write that down; `lost` where that can't be done any more: the run is somebody
    else's by then, or the database can't be written.

    Cancelling it puts the run back into the queue: what it has done is in the journal.
    """
    run = prepared.run
    held = Held(run.pk, run.attempt, run.owner)
    journal = DatabaseJournal(writer, held, prepared.recorded, prepared.past)
    try:
        desk = desk or desk_make(run, writer, prepared.answers)
        outcome = await run_outcome(prepared, providers, journal, stop, under_way, desk)
    except asyncio.CancelledError:
        await writer.call(lambda: lifecycle.run_release(run))
        raise
    if journal.lost is not None:
        logger.info("Run %s, attempt %s: %s", run.pk, run.attempt, journal.lost)
        return Outcome(Run.Status.LOST, str(journal.lost), "lost")
    try:
        status = await writer.call(lambda: run_finish(run, outcome, journal.seconds))
    except Error as error:
        logger.error("The end of run %s, attempt %s, can't be written: %s", run.pk, run.attempt, error)
        reason = f"The end of the run can't be written ({error}). What was written down before is kept."
        return Outcome(Run.Status.LOST, reason, "lost")
    return outcome._replace(status=status)


async def run_outcome(
    prepared: Prepared,
    providers: Providers,
    journal: DatabaseJournal,
    stop: asyncio.Event,
    under_way: UnderWay | None = None,
    desk: Desk | None = None,
) -> Outcome:
    """What the engine makes of it. A bug ends the run too, with its traceback in the log."""
    run = prepared.run
    try:
        met = {} if providers.replaced else await model_versions(prepared.plan)
        for sentence in changes(prepared.versions_met, met):
            await journal.append(Noted(at=time.time(), text=sentence, code="model_changed"))
        result = await run_plan(
            prepared.plan,
            prepared.given,
            providers=providers,
            journal=journal,
            workspace=prepared.workspace,
            quota=workspace_quota(),
            stop=stop,
            run_id=str(run.pk),
            repetition=run.repetition,
            attempt=run.attempt,
            versions=versions() | met,
            worked=prepared.past.totals.seconds_before,
            under_way=under_way,
            desk=desk,
        )
    except WorkbenchError as error:
        return Outcome(Run.Status.FAILED, str(error), error.code)
    except Exception as error:
        if journal.lost is None:
            logger.exception("Run %s met a fault in the workbench.", run.pk)
        return Outcome(Run.Status.FAILED, f"A fault in the workbench: {error!r}", "fault")
    return Outcome(result.status, result.reason, result.code, result)


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """What this worker runs on, for the journal."""
    names = ("workbench", "langgraph", "pydantic", "jinja2")
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in names}}


def run_finish(run: Run, outcome: Outcome, seconds: float) -> str:
    """Write the end of a run, and its experiment's when this was the last. One that waits for people is let go of; what
    became of it is its status."""
    result = outcome.result
    if result is not None and outcome.status == Run.Status.WAITING:
        status = lifecycle.run_wait(run, result.asking, reason=outcome.reason, seconds=seconds)
        if status == Run.Status.QUEUED and not run.scripted:
            tickets.send_or_log([(tickets.RUN, (run.pk,))])
        if status == Run.Status.STOPPED and run.experiment_id is not None:
            experiment_close(run.experiment_id)
        return status or Run.Status.LOST
    output = result.output if result else None
    lifecycle.run_end(
        run,
        status=outcome.status,
        reason=storable(outcome.reason),
        code=outcome.code[:60],
        output=None if output is None else storable(output),
        outputs={node: storable(text) for node, text in result.outputs.items()} if result else {},
        partial=bool(result and result.partial),
        seconds=seconds,
    )
    if run.experiment_id is not None:
        experiment_close(run.experiment_id)
    return outcome.status
