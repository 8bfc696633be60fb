"""The states of a run's row. Every passage is one conditional update, so that two who want it can't both have it.

queued → running (claimed by a worker) → ended, or back: a worker that went away loses its runs to the queue.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import F, Min, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from workbench.experiments.models import Experiment, Question, Run

MOST_LOSSES = 10
"""A run that takes its worker with it each time must not do so for ever."""

WARMING = timedelta(seconds=15)
"""So long after its last sign a process that loads an experiment's models counts as gone, and its runs begin."""

GONE = "The worker that ran it went away."
AHEAD = timedelta(minutes=10)
"""So far may the clocks of two machines differ."""
RUN_STALE, RUN_ORPHAN = "RUN_STALE_S", "RUN_ORPHAN_S"

GOES_BACK = Q(experiment__isnull=False) | (Q(parent__isnull=False) | Q(attempt__gt=1)) & Q(scripted=False)
"""Runs that go back into the queue when they are lost; one that a command runs has none to go back to, but for one that
waited for a person, whose answer has brought it there."""


def owner_name() -> str:
    """A name for this start of this process: a process id alone comes again."""
    return f"{socket.gethostname()[:60]}:{os.getpid()}:{secrets.token_hex(6)}"


def run_claim(run_id: int, owner: str, *, among: Sequence[str] = (Run.Status.QUEUED,)) -> Run | None:
    """Take a run in one of these states; None when it is not to be had (any more)."""
    taken = _take(Run.objects.filter(pk=run_id, status__in=among), owner)
    return Run.objects.select_related("instance").get(pk=run_id) if taken else None


def runs_claim(run_id: int, owner: str, most: int) -> list[Run]:
    """Take a queued run and the next of its experiment with it, at most so many: each by itself would be a transaction
    of its own, and wait for those of others. Empty when the run is not to be had (any more)."""
    queued = Run.objects.filter(status=Run.Status.QUEUED)
    its = queued.filter(pk=run_id).values_list("experiment_id", flat=True)[:1]  # a ticket too many locks nothing
    for experiment_id in its:
        wanted = queued.filter(Q(pk=run_id) | Q(experiment_id=experiment_id, pk__gt=run_id))
        with transaction.atomic():
            ids = list(wanted.order_by("pk").select_for_update(skip_locked=True).values_list("pk", flat=True)[:most])
            if ids[:1] != [run_id]:
                return []
            _take(Run.objects.filter(pk__in=ids), owner)
        return list(Run.objects.select_related("instance").filter(pk__in=ids).order_by("pk"))
    return []


def _take(runs: QuerySet[Run], owner: str) -> int:
    now = timezone.now()
    return runs.update(
        status=Run.Status.RUNNING,
        attempt=F("attempt") + 1,
        owner=owner,
        heartbeat_at=now,
        started_at=Coalesce(F("started_at"), now),
        ended_at=None,
        reason="",
        code="",
    )


def runs_beat(owner: str, run_ids: list[int]) -> set[int]:
    """Say that these runs are alive; the answer is those that are to stop."""
    with transaction.atomic():
        held = runs_locked(Run.objects.filter(pk__in=run_ids, owner=owner, status__in=Run.HELD))
        Run.objects.filter(pk__in=held).update(heartbeat_at=timezone.now())
    return {pk for pk, run in held.items() if run.status == Run.Status.STOPPING}


def runs_locked(runs: QuerySet[Run], *, skip: bool = False) -> dict[int, Run]:
    """These rows, locked until the end of the transaction, in the order in which everybody locks several: or two who
    want the same rows wait for each other for ever. `skip`: not those that somebody else has locked."""
    found = runs.order_by("pk").select_for_update(skip_locked=skip).only("pk", "status", "experiment_id")
    return {run.pk: run for run in found}


def held_by(run: Run) -> Any:
    """The row, as long as it still belongs to this attempt: what every write of a run starts from."""
    return Run.objects.filter(pk=run.pk, attempt=run.attempt, owner=run.owner, status__in=Run.HELD)


def run_end(run: Run, **fields: Any) -> bool:
    """Write the end of an attempt; False when the run is somebody else's by now."""
    return bool(held_by(run).update(owner="", ended_at=timezone.now(), **fields))


def run_release(run: Run) -> bool:
    """Put a run back into the queue, whole journal and all; one that was asked to stop is stopped instead."""
    stopped = held_by(run).filter(status=Run.Status.STOPPING)
    if stopped.update(status=Run.Status.STOPPED, owner="", ended_at=timezone.now(), reason="Stopped."):
        return False
    return bool(held_by(run).update(status=Run.Status.QUEUED, owner="", queued_at=timezone.now()))


def run_wait(run: Run, asking: Sequence[str], **fields: Any) -> str:
    """Let go of a run that has nothing left but these questions (their keys): it holds no worker. Where one of them was
    answered meanwhile it is queued again; its status then, or nothing when it is somebody else's by now."""
    with transaction.atomic():
        runs_locked(held_by(run))  # whoever answers has the row first, or after
        if (
            held_by(run)
            .filter(status=Run.Status.STOPPING)
            .update(owner="", ended_at=timezone.now(), **{**fields, "status": Run.Status.STOPPED, "reason": "Stopped."})
        ):
            return Run.Status.STOPPED
        still = Question.objects.filter(run=run.pk, key__in=asking, status=Question.Status.OPEN).count()
        status = Run.Status.WAITING if still == len(asking) else Run.Status.QUEUED
        when = {"queued_at": timezone.now()} if status == Run.Status.QUEUED else {}
        kept = held_by(run).update(owner="", **{**fields, **when, "status": status})
        return status if kept else ""


class Settled(NamedTuple):
    """What became of an experiment that has no open run left."""

    status: str
    changed: bool


def experiment_settle(experiment_id: int) -> Settled | None:
    """Once no run is open: running → finished, stopping → stopped; one caller sees `changed`. None: not over."""
    if Run.objects.filter(experiment=experiment_id, status__in=Run.OPEN).exists():
        return None
    status = Experiment.Status
    for before, after in ((status.RUNNING, status.FINISHED), (status.STOPPING, status.STOPPED)):
        if Experiment.objects.filter(pk=experiment_id, status=before).update(status=after, ended_at=timezone.now()):
            return Settled(after, True)
    return Settled("", False)


class Swept(NamedTuple):
    """What a sweep found: runs back in the queue, and experiments that something happened to."""

    requeued: list[int]
    experiments: set[int]


def out_of(now: datetime, field: str, setting: str) -> Q:
    """A moment that is too long ago; or in the future, where a clock was set back: nobody has seen to it since."""
    most = timedelta(seconds=getattr(settings, setting))
    return Q(**{f"{field}__lt": now - most}) | Q(**{f"{field}__gt": now + AHEAD})


def runs_sweep() -> Swept:
    """Runs whose worker went away: stopping → stopped, running → lost → queued again (those of a command: lost)."""
    now = timezone.now()
    with transaction.atomic():
        gone = runs_locked(Run.objects.filter(out_of(now, "heartbeat_at", RUN_STALE), status__in=Run.HELD), skip=True)
        stale = Run.objects.filter(pk__in=gone)
        touched = {run.experiment_id for run in gone.values() if run.experiment_id is not None}
        stale.filter(status=Run.Status.STOPPING).update(
            status=Run.Status.STOPPED, owner="", ended_at=now, reason=f"Stopped. {GONE}"
        )
        stale.filter(status=Run.Status.RUNNING).update(
            status=Run.Status.LOST, owner="", reason=GONE, code="lost", losses=F("losses") + 1
        )
        lost = Run.objects.filter(GOES_BACK, status=Run.Status.LOST)
        lost.filter(losses__gte=MOST_LOSSES).update(
            status=Run.Status.FAILED, ended_at=now, reason=f"{GONE} {MOST_LOSSES} workers have died of this run."
        )
        over = lost.filter(experiment__isnull=False).exclude(experiment__status=Experiment.Status.RUNNING)
        over.update(status=Run.Status.STOPPED, ended_at=now)
        requeued = list(lost.values_list("pk", flat=True))
        Run.objects.filter(pk__in=requeued).update(status=Run.Status.QUEUED, queued_at=now)
    return Swept(requeued, touched)


def runs_waiting_long() -> dict[int, int]:
    """Experiments with runs that have been in the queue for a while → their first such run."""
    now = timezone.now()
    waiting = Run.objects.filter(
        out_of(now, "queued_at", RUN_ORPHAN),
        status=Run.Status.QUEUED,
        experiment__status=Experiment.Status.RUNNING,
    ).exclude(experiment__warming_at__gt=now - WARMING)
    return dict(waiting.order_by().values_list("experiment_id").annotate(Min("pk")))


def runs_alone_waiting_long() -> list[int]:
    """Runs outside experiments that have been in the queue for a while."""
    waiting = Run.objects.filter(
        out_of(timezone.now(), "queued_at", RUN_ORPHAN),
        status=Run.Status.QUEUED,
        experiment__isnull=True,
        scripted=False,
    )
    return list(waiting.order_by("pk").values_list("pk", flat=True)[:100])
