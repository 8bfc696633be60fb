"""What people do with experiments and runs: make, change, copy, stop, go on. Starting one is in `starting.py`."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from workbench.datasets.services import dataset_version
from workbench.engine.errors import WorkbenchError
from workbench.experiments import tickets
from workbench.experiments.lifecycle import runs_locked
from workbench.experiments.live.wire import ring
from workbench.experiments.models import Configuration, Experiment, Run
from workbench.experiments.spec import ConfigurationSpec, ExperimentSpec, own_label
from workbench.experiments.starting import experiment_start
from workbench.experiments.sweeping import experiment_close

__all__ = [
    "experiment_copy",
    "experiment_create",
    "experiment_delete",
    "experiment_resume",
    "experiment_start",
    "experiment_stop",
    "experiment_update",
    "run_stop",
    "starters_load",
]

STARTER = "First light: four ways to label a sentence"
EMBEDDED_MODEL = "embedded/smollm2:135m"


class NotNow(WorkbenchError):
    """Something that can't be done to an experiment or a run in the state it is in."""

    code = "not_now"


def experiment_create(spec: ExperimentSpec, *, author: str = "", ships: bool = False) -> Experiment:
    """A draft of what the spec describes. Raises `WorkbenchError` for a dataset that is not there."""
    return experiment_write(Experiment(author=author, ships=ships), spec)


def experiment_update(experiment: Experiment, spec: ExperimentSpec) -> Experiment:
    """Change a draft into what the spec describes. Raises `NotNow` once it has started."""
    if experiment.status != Experiment.Status.DRAFT:
        raise NotNow("An experiment is frozen at its start. Copy it, and change the copy.")
    return experiment_write(experiment, spec)


def experiment_write(experiment: Experiment, spec: ExperimentSpec) -> Experiment:
    """Everything of the spec into the rows of a draft."""
    experiment.name, experiment.question = spec.name, spec.question
    experiment.dataset_version = dataset_version(spec.dataset)
    experiment.instance_keys = None if spec.instances is None else list(spec.instances)
    experiment.repetitions = spec.repetitions
    experiment.limits = spec.limits.model_dump(exclude_unset=True)
    experiment.evaluators = [choice.model_dump() for choice in spec.evaluators]
    with transaction.atomic():
        experiment.save()
        experiment.configurations.all().delete()
        Configuration.objects.bulk_create(
            Configuration(
                experiment=experiment,
                position=position,
                label=label,
                topology=given.name,
                commit=given.commit,
                overrides=given.overrides.stored(),
            )
            for position, (given, label) in enumerate(labelled(spec.configurations))
        )
    return experiment


def labelled(configurations: tuple[ConfigurationSpec, ...]) -> list[tuple[ConfigurationSpec, str]]:
    """Each with a label of its own: what was given, or the topology and what is changed in it."""
    found: list[tuple[ConfigurationSpec, str]] = []
    seen: dict[str, int] = {}
    for given in configurations:
        label = (given.label.strip() or own_label(given.topology, given.overrides.stored()))[:190]
        seen[label] = seen.get(label, 0) + 1
        found.append((given, label if seen[label] == 1 else f"{label} ({seen[label]})"))
    return found


def experiment_copy(experiment: Experiment, *, author: str = "") -> Experiment:
    """A new draft that says the same; its topologies are the newest when it starts. Raises `NotNow`."""
    if experiment.fork:
        raise NotNow("The runs of this experiment are forks. Fork the runs of the first one again instead.")
    with transaction.atomic():
        copy = Experiment.objects.create(
            name=f"{experiment.name[:190]} (copy)",
            question=experiment.question,
            dataset_version=experiment.dataset_version,
            instance_keys=experiment.instance_keys,
            repetitions=experiment.repetitions,
            limits=experiment.limits,
            evaluators=experiment.evaluators,
            author=author,
        )
        Configuration.objects.bulk_create(
            Configuration(
                experiment=copy,
                position=it.position,
                label=it.label,
                topology=it.topology,
                overrides=it.overrides,
            )
            for it in experiment.configurations.all()
        )
    return copy


def experiment_delete(experiment: Experiment) -> None:
    """Delete a draft. Raises `NotNow` once it has started: what was run stays."""
    with transaction.atomic():
        draft = Experiment.objects.select_for_update().filter(pk=experiment.pk, status=Experiment.Status.DRAFT)
        if not draft.exists():
            raise NotNow("Only a draft can be deleted: what was run is kept.")
        draft.delete()


def experiment_stop(experiment: Experiment) -> None:
    """Ask a running experiment to stop: queued runs stop at once, running ones when their workers hear of it."""
    with transaction.atomic():
        asked = Experiment.objects.filter(pk=experiment.pk, status=Experiment.Status.RUNNING).update(
            status=Experiment.Status.STOPPING
        )
        if not asked:
            raise NotNow("Only an experiment that is running can be stopped.")
        runs_stop(experiment.runs.all())
    experiment_close(experiment.pk)


def run_stop(run: Run) -> None:
    """Ask one run to stop."""
    if not runs_stop(Run.objects.filter(pk=run.pk)):
        raise NotNow("Only a run that is queued, running or waiting can be stopped.")
    if run.experiment_id is not None:
        experiment_close(run.experiment_id)


def runs_stop(runs: Any) -> int:
    """queued or waiting → stopped, running → stopping. First the queued ones: a run claimed in between is then running."""
    with transaction.atomic():
        runs_locked(runs.filter(status__in=Run.OPEN))
        idle = runs.filter(status__in=(Run.Status.QUEUED, Run.Status.WAITING, Run.Status.LOST))
        begun = idle.filter(started_at__isnull=False)
        stopped = begun.update(status=Run.Status.STOPPED, ended_at=timezone.now(), reason="Stopped by a person.")
        stopped += idle.update(status=Run.Status.STOPPED, ended_at=timezone.now(), reason="Stopped before it began.")
        asked = runs.filter(status=Run.Status.RUNNING).update(status=Run.Status.STOPPING)
        if asked:
            transaction.on_commit(ring)
        return int(stopped + asked)


def experiment_resume(experiment: Experiment, *, failed: bool = False) -> int:
    """Queue again what was stopped, or with `failed` what failed, as new attempts; the number of runs.

    A new attempt takes the journal's results for what was done: only the rest costs again. Pruned runs have none to take.
    """
    wanted = Run.Status.FAILED if failed else Run.Status.STOPPED
    tickets.queue_check()
    with transaction.atomic():
        over = Experiment.objects.select_for_update().filter(
            pk=experiment.pk, status__in=(Experiment.Status.STOPPED, Experiment.Status.FINISHED)
        )
        runs = Run.objects.filter(experiment=experiment.pk, status=wanted, pruned_at=None)
        if not over.exists() or not runs.exists():
            raise NotNow(
                f"There are no {wanted} runs to go on with in an experiment that has ended. Of runs that were pruned too "
                "little is kept."
            )
        number = runs.update(
            status=Run.Status.QUEUED, queued_at=timezone.now(), ended_at=None, output=None, outputs={}, partial=False
        )
        over.update(status=Experiment.Status.RUNNING, ended_at=None, started_at=F("started_at"))
        transaction.on_commit(lambda: tickets.send_or_log([(tickets.OPEN, (experiment.pk,))]))
    return int(number)


def starters_load() -> None:
    """The ready-made experiment, once, as a draft that waits for one click."""
    if Experiment.objects.filter(name=STARTER).exists():
        return
    sentences = dataset_version("labels-mini").instances.order_by("position").values_list("key", flat=True)[:40]
    names = ("single_agent", "schema_answer", "few_shot", "vote_of_three")
    spec = ExperimentSpec.model_validate(
        {
            "name": STARTER,
            "question": "Forty sentences, three labels, one very small model: does an example, a schema or a vote of "
            "three help it more than a plain question, and what does each cost?",
            "dataset": "labels-mini",
            "instances": list(sentences),
            "configurations": [
                {"topology": name, "label": name, "overrides": {"model": EMBEDDED_MODEL}} for name in names
            ],
            # A small model says "Question." and means the label: how it writes it is not what is asked here.
            "evaluators": [{"name": "exact_match", "options": {"casefold": True, "strip_punctuation": True}}],
        }
    )
    experiment_create(spec, ships=True)
