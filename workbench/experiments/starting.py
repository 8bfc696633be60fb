"""The start of an experiment: everything it stands on is frozen, its runs are written down, the queue is told."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from workbench.engine.errors import InvalidDocument, WorkbenchError, has_errors
from workbench.engine.planning import RunPlan
from workbench.experiments import tickets
from workbench.experiments.drafting import Draft, Planned
from workbench.experiments.models import Experiment, Plan, Run

BATCH = 1000
PATIENCE_S = 5.0
"""So long may the providers take to say what their models can do."""


class AlreadyStarted(WorkbenchError):
    """A start that came second."""

    code = "already_started"


def experiment_start(experiment: Experiment) -> int:
    """Freeze and start a draft; the number of runs. Nothing is left half-started.

    Raises `InvalidDocument` with everything that stands in the way, `QueueAway`, or `AlreadyStarted`.
    """
    draft = Draft(experiment, patience=PATIENCE_S)
    if has_errors(draft.problems):
        raise InvalidDocument(draft.problems)
    tickets.queue_check()
    with transaction.atomic():
        taken = Experiment.objects.filter(pk=experiment.pk, status=Experiment.Status.DRAFT).update(
            status=Experiment.Status.RUNNING,
            started_at=timezone.now(),
            instance_keys=[instance.key for instance in draft.instances],
        )
        if not taken:
            raise AlreadyStarted("It has been started already.")
        for planned in draft.configurations:
            configuration_freeze(planned)
        Run.objects.bulk_create(experiment_runs(draft), batch_size=BATCH)
        # One message: models are loaded, then tickets sent. If even that gets lost, the sweep finds the queued rows.
        transaction.on_commit(lambda: tickets.send_or_log([(tickets.OPEN, (experiment.pk,))]))
    return draft.runs


def configuration_freeze(planned: Planned) -> None:
    """Pin the topology's commit and the whole plan."""
    assert planned.plan is not None  # a configuration without a plan has an error, and nothing starts
    configuration = planned.configuration
    configuration.plan = plan_store(planned.plan, planned.commit, planned.blob)
    configuration.commit = planned.commit
    configuration.save(update_fields=["plan", "commit"])


def plan_store(plan: RunPlan, commit: str = "", blob: str = "") -> Plan:
    """The row of a plan, which is kept once by its hash."""
    made = {"data": plan.model_dump(mode="json"), "topology": plan.topology["name"], "commit": commit, "blob": blob}
    return Plan.objects.get_or_create(hash=plan.hash, defaults=made)[0]


def experiment_runs(draft: Draft) -> list[Run]:
    """A run for each configuration, instance and repetition. Configurations take turns, so that an experiment that is
    stopped half-way can still compare them."""
    return [
        Run(
            experiment=draft.experiment,
            configuration=planned.configuration,
            plan=planned.configuration.plan,
            instance=instance,
            repetition=repetition,
        )
        for repetition in range(1, draft.experiment.repetitions + 1)
        for instance in draft.instances
        for planned in draft.configurations
    ]
