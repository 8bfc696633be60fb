"""Run an evaluation in a worker: taken once, written down batch by batch, continued after a crash."""

from __future__ import annotations

import os
import socket
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby

from django.db import OperationalError, connection, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from workbench.engine.errors import EvaluationError, WorkbenchError
from workbench.engine.evaluation import Evaluator, Score
from workbench.evaluations.judging import exclusion, judge, pair, plain
from workbench.evaluations.models import Evaluation, RunScore
from workbench.evaluations.options import evaluator_ready
from workbench.evaluations.services import STALE
from workbench.experiments.models import Run

BATCH = 100
HEARTBEAT_SECONDS = 5.0


class TakenOver(Exception):
    """Another worker goes on with this evaluation: this one was silent for too long and may not write any more."""


def evaluation_run(evaluation_id: int) -> None:
    """Judge the ended runs of the evaluation's experiment, unless somebody else does or has done so."""
    evaluation = evaluation_take(evaluation_id)
    if evaluation is None:
        return
    try:
        with heartbeat(evaluation):
            evaluator = evaluator_ready(evaluation.evaluator, evaluation.options)
            runs_judge(evaluation, evaluator)
            evaluation_end(evaluation, evaluator)
    except TakenOver:
        return
    except WorkbenchError as error:
        evaluation_fail(evaluation, str(error))
    except Exception as error:
        evaluation_fail(evaluation, f"A fault in the evaluator or the workbench: {error!r}")
        raise


def evaluation_take(evaluation_id: int) -> Evaluation | None:
    """The evaluation, now ours, if it waits or its worker fell silent."""
    now = timezone.now()
    free = Q(status=Evaluation.Status.QUEUED) | Q(status=Evaluation.Status.RUNNING, heartbeat_at__lt=now - STALE)
    owner = f"{socket.gethostname()[:60]}-{os.getpid()}-{uuid.uuid4().hex[:12]}"
    taken = Evaluation.objects.filter(free, pk=evaluation_id).update(
        status=Evaluation.Status.RUNNING,
        owner=owner,
        heartbeat_at=now,
        started_at=Coalesce("started_at", now),
        reason="",
    )
    return Evaluation.objects.select_related("experiment").get(pk=evaluation_id) if taken else None


@contextmanager
def heartbeat(evaluation: Evaluation) -> Iterator[None]:
    """Tell the database every few seconds that this worker lives, also while one tool judges for an hour."""
    done = threading.Event()

    def beat() -> None:
        while not done.wait(HEARTBEAT_SECONDS):
            try:
                owned(evaluation).update(heartbeat_at=timezone.now())
            except OperationalError:
                pass  # a busy or restarting database: the next beat tells it
            finally:
                connection.close()

    thread = threading.Thread(target=beat, name="evaluation-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def owned(evaluation: Evaluation) -> QuerySet[Evaluation]:
    """The row, as long as it is ours: every write goes through this."""
    return Evaluation.objects.filter(pk=evaluation.pk, owner=evaluation.owner, status=Evaluation.Status.RUNNING)


def runs_judge(evaluation: Evaluation, evaluator: Evaluator) -> None:
    """Score what has no score yet, in batches of one configuration and repetition (so no instance is twice in one)."""
    todo = (
        Run.objects.filter(experiment=evaluation.experiment, status__in=Run.ENDED)
        .exclude(scores__evaluation=evaluation)
        .order_by("configuration__position", "repetition", "id")
        .values_list("pk", "configuration_id", "repetition")
    )
    for _, group in groupby(list(todo), key=lambda row: row[1:]):
        ids = [row[0] for row in group]
        for start in range(0, len(ids), BATCH):
            batch_judge(evaluation, evaluator, ids[start : start + BATCH])


def batch_judge(evaluation: Evaluation, evaluator: Evaluator, ids: Sequence[int]) -> None:
    """Judge these runs and write all their scores at once."""
    runs = list(Run.objects.filter(pk__in=ids).select_related("instance").order_by("id"))
    verdicts = {run.pk: exclusion(run, include_partial=evaluation.include_partial) for run in runs}
    judged = [run for run in runs if verdicts[run.pk] is None]
    if judged:
        scores = judge(evaluator, [pair(run) for run in judged])
        verdicts.update({run.pk: score for run, score in zip(judged, scores, strict=True)})
    rows = [score_row(evaluation, pk, score) for pk, score in verdicts.items() if score is not None]
    with transaction.atomic():
        if not owned(evaluation).update(heartbeat_at=timezone.now()):
            raise TakenOver
        RunScore.objects.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["evaluation", "run"],
            update_fields=["value", "passed", "details"],
        )


def score_row(evaluation: Evaluation, run_id: int, score: Score) -> RunScore:
    """The row of one verdict."""
    return RunScore(evaluation=evaluation, run_id=run_id, value=score.value, passed=score.passed, details=score.details)


def evaluation_end(evaluation: Evaluation, evaluator: Evaluator) -> None:
    """Summarise each configuration and finish; an evaluator that could judge nothing at all has failed."""
    refusal = refusal_of_all(evaluation)
    if refusal:
        raise EvaluationError(refusal)
    metrics = {
        str(configuration.pk): plain(evaluator.summarise(configuration_scores(evaluation, configuration.pk)))
        for configuration in evaluation.experiment.configurations.all()
    }
    owned(evaluation).update(status=Evaluation.Status.FINISHED, metrics=metrics, ended_at=timezone.now())


def refusal_of_all(evaluation: Evaluation) -> str:
    """The evaluator's own words when every prediction that it was given was refused, else nothing."""
    tried = RunScore.objects.filter(evaluation=evaluation).filter(
        Q(value__isnull=False) | Q(details__excluded__in=["refused", "fault"])
    )
    first = tried.order_by("run_id").first()
    if first is None or tried.filter(value__isnull=False).exists():
        return ""
    return f"None of the {tried.count():,} predictions could be judged. The first: {first.details.get('reason', '')}"


def configuration_scores(evaluation: Evaluation, configuration_id: int) -> list[Score]:
    """The scores of one configuration that are numbers, in the order of runs."""
    rows = RunScore.objects.filter(
        evaluation=evaluation, run__configuration_id=configuration_id, value__isnull=False
    ).order_by("run_id")
    return [Score(row.value, row.passed, row.details) for row in rows]


def evaluation_fail(evaluation: Evaluation, reason: str) -> None:
    """End it with a sentence; scores that were written stay."""
    owned(evaluation).update(status=Evaluation.Status.FAILED, reason=reason, ended_at=timezone.now())
