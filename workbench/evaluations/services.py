"""Starting evaluations: by a person, by an experiment that asked for them, and again after a crash."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from workbench.engine.errors import WorkbenchError
from workbench.evaluations.models import Evaluation
from workbench.evaluations.options import evaluator_ready
from workbench.experiments import tickets
from workbench.experiments.models import Experiment

JUDGE = "workbench.evaluations.tasks.evaluation_run_task"

STALE = timedelta(seconds=60)
"""An evaluation whose worker was silent for so long is taken by another one."""


def evaluation_start(
    experiment: Experiment,
    evaluator: str,
    options: Mapping[str, Any] | None = None,
    *,
    include_partial: bool = False,
    author: str = "",
) -> Evaluation:
    """Queue an evaluation of the experiment's ended runs.

    Raises `PluginError` (no such evaluator), `InvalidDocument` (its options), `EvaluationError` (what is missing here).
    """
    ready = evaluator_ready(evaluator, options or {})
    evaluation = Evaluation.objects.create(
        experiment=experiment,
        evaluator=evaluator,
        evaluator_version=ready.version,
        options=ready.options.model_dump(mode="json"),
        include_partial=include_partial,
        author=author,
    )
    transaction.on_commit(lambda: tickets.send_or_log([(JUDGE, (evaluation.pk,))]))
    return evaluation


def evaluation_same(
    experiment: Experiment, evaluator: str, options: Mapping[str, Any], *, include_partial: bool
) -> Evaluation | None:
    """An evaluation that would come to the same, for it judged the same runs in the same way: unless a run ended since.

    Raises what `evaluation_start` raises.
    """
    ready = evaluator_ready(evaluator, options)
    alike = experiment.evaluations.filter(
        evaluator=evaluator, evaluator_version=ready.version, include_partial=include_partial
    ).exclude(status=Evaluation.Status.FAILED)
    wanted = ready.options.model_dump(mode="json")
    found = next((one for one in alike.order_by("-id") if one.options == wanted), None)
    if found is None or experiment.runs.filter(ended_at__gt=found.started_at or found.created_at).exists():
        return None
    return found


def experiment_evaluate(experiment: Experiment) -> list[Evaluation]:
    """Start what the experiment asked for, once per end of it. What can't start is kept as failed."""
    with transaction.atomic():
        # The lock makes a second delivery of the same message wait, and then find the evaluations of the first.
        experiment = Experiment.objects.select_for_update().get(pk=experiment.pk)
        if evaluations_since_end(experiment):
            return []
        return [asked_evaluation(experiment, asked) for asked in experiment.evaluators]


def evaluations_since_end(experiment: Experiment) -> bool:
    """Whether the evaluations were already started for this end; a resumed experiment ends again, later."""
    automatic = experiment.evaluations.filter(author=AUTOMATIC)
    if experiment.ended_at is not None:
        automatic = automatic.filter(created_at__gte=experiment.ended_at)
    return automatic.exists()


AUTOMATIC = "experiment"
"""The author of evaluations that the experiment itself asked for."""


def asked_evaluation(experiment: Experiment, asked: Mapping[str, Any]) -> Evaluation:
    """One evaluation of `Experiment.evaluators`."""
    name, options = str(asked.get("name", "")), asked.get("options") or {}
    try:
        return evaluation_start(
            experiment, name, options, include_partial=bool(asked.get("include_partial")), author=AUTOMATIC
        )
    except WorkbenchError as error:
        return Evaluation.objects.create(
            experiment=experiment,
            evaluator=name[:60],
            options=options,
            author=AUTOMATIC,
            status=Evaluation.Status.FAILED,
            reason=str(error),
            ended_at=timezone.now(),
        )


def evaluations_sweep() -> int:
    """Ring again for what was lost: stale or orphaned evaluations, and experiments that nobody evaluated.

    A message too many does no harm: an evaluation is taken by a conditional update.
    """
    now = timezone.now()
    silent = Q(heartbeat_at__lt=now - STALE) | Q(heartbeat_at=None, created_at__lt=now - STALE)
    lost = list(
        Evaluation.objects.filter(silent, status__in=[Evaluation.Status.QUEUED, Evaluation.Status.RUNNING]).values_list(
            "pk", "status"
        )
    )
    for pk, status in lost:
        if status == Evaluation.Status.QUEUED:  # remember when it was rung for, or every sweep would ring
            Evaluation.objects.filter(pk=pk, status=status).update(heartbeat_at=now)
    tickets.send_or_log([(JUDGE, (pk,)) for pk, _ in lost])
    forgotten = forgotten_experiments()
    for experiment in forgotten:
        experiment_evaluate(experiment)
    return len(lost) + len(forgotten)


def forgotten_experiments() -> list[Experiment]:
    """Finished experiments whose evaluators were never started, because the message was lost."""
    since_end = Evaluation.objects.filter(
        experiment=OuterRef("pk"), author=AUTOMATIC, created_at__gte=OuterRef("ended_at")
    )
    finished = Experiment.objects.filter(
        status=Experiment.Status.FINISHED, ended_at__lt=timezone.now() - STALE
    ).exclude(evaluators=[])
    return list(finished.filter(~Exists(since_end)).order_by(F("ended_at"))[:20])
