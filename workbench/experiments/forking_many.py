"""Forks of all runs of an experiment, or of one of its configurations, at the same node: a new experiment."""

from __future__ import annotations

from typing import NamedTuple

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from workbench.engine.errors import WorkbenchError
from workbench.engine.forking import CannotFork
from workbench.experiments import tickets
from workbench.experiments.forking import Wish, fork_look, fork_plan, fork_row, new_plan_store
from workbench.experiments.models import Configuration, Experiment, Run, RunEvent
from workbench.experiments.replaying import NewPlan
from workbench.experiments.starting import BATCH
from workbench.experiments.totals import Totals, plus

LOOKED = 50
"""So many runs are looked at before the click; of more, the rest is taken to be like them."""


class ManyLook(NamedTuple):
    """Forks before they are made: how many there would be, how many runs have no such visit, and what those that were
    looked at would make again and take. `refused` says why some of them can't be forked."""

    runs: int
    without: int
    looked: int
    again: Totals
    taken: Totals
    refused: tuple[str, ...]

    @property
    def is_all(self) -> bool:
        """Whether the numbers are of all runs, not of some."""
        return self.looked == self.runs

    def scaled(self, number: int) -> int:
        """What was counted in the runs looked at, for all of them."""
        return round(number * self.runs / self.looked) if self.looked else 0


def runs_with(experiment: Experiment, wish: Wish, configuration: Configuration | None) -> tuple[list[Run], int]:
    """The ended runs that have the visit, and how many have not."""
    runs = experiment.runs.filter(status__in=Run.ENDED, pruned_at=None)
    if configuration is not None:
        runs = runs.filter(configuration=configuration)
    visit = RunEvent.objects.filter(run=OuterRef("pk"), node=wish.place.full_node, visit=wish.place.visit)
    found = runs.filter(Exists(visit)).select_related("configuration", "experiment", "plan", "instance").order_by("pk")
    heavy = ("output", "outputs", "instance__files", "instance__references")
    return list(found.defer(*heavy)), runs.count() - found.count()


def experiment_fork_look(
    experiment: Experiment, wish: Wish, configuration: Configuration | None = None, *, most: int = LOOKED
) -> ManyLook:
    """What the forks would be. Raises `CannotFork`, `InvalidDocument`."""
    runs, without = runs_with(experiment, wish, configuration)
    if not runs:
        raise CannotFork(f"No run that has ended has this visit: {wish.place}.")
    again, taken, refused, plans = Totals(), Totals(), list[str](), dict[int, NewPlan]()
    for run in runs[:most]:
        if run.plan_id not in plans:
            plans[run.plan_id] = fork_plan(run, wish)
        try:
            look = fork_look(run, wish, plans[run.plan_id])
        except WorkbenchError as error:
            refused.append(f"Run {run.pk}: {error}")
            continue
        again, taken = together(again, look.again), together(taken, look.taken)
    return ManyLook(len(runs), without, min(len(runs), most), again, taken, tuple(refused[:5]))


def together(one: Totals, other: Totals) -> Totals:
    """The sum of two."""
    names = [name for name in Totals.COLUMNS if name != "seconds"]
    return Totals(**{name: plus(getattr(one, name), getattr(other, name)) for name in names})


def experiment_fork(
    experiment: Experiment,
    wish: Wish,
    configuration: Configuration | None = None,
    *,
    name: str = "",
    author: str = "",
) -> Experiment:
    """Fork every run that has the visit; the new experiment begins at once. Raises `CannotFork`, `InvalidDocument`,
    `QueueAway`."""
    experiment_fork_look(experiment, wish, configuration, most=1)
    runs, _ = runs_with(experiment, wish, configuration)
    tickets.queue_check()
    with transaction.atomic():
        made = Experiment.objects.create(
            name=(name or f"{experiment.name[:120]}, forked at {wish.place}")[:200],
            question=experiment.question,
            dataset_version=experiment.dataset_version,
            instance_keys=list(dict.fromkeys(run.instance.key for run in runs if run.instance)),
            repetitions=experiment.repetitions,
            limits=experiment.limits,
            evaluators=experiment.evaluators,
            status=Experiment.Status.RUNNING,
            started_at=timezone.now(),
            author=author,
            forked_from=experiment,
            fork={"node": wish.place.full_node, "visit": wish.place.visit, "change": wish.stored()},
        )
        Run.objects.bulk_create(fork_rows(made, runs, wish), batch_size=BATCH)
        transaction.on_commit(lambda: tickets.send_or_log([(tickets.OPEN, (made.pk,))]))
    return made


def fork_rows(made: Experiment, runs: list[Run], wish: Wish) -> list[Run]:
    """The rows of all forks, not saved, with their configurations, saved."""
    configurations: dict[int | None, Configuration] = {}
    for run in runs:
        if run.configuration_id not in configurations:
            configurations[run.configuration_id] = configuration_fork(made, run, wish, len(configurations))
    return [
        fork_row(run, wish, plan=configuration.plan, experiment=made, configuration=configuration)
        for run in runs
        for configuration in (configurations[run.configuration_id],)
    ]


def configuration_fork(made: Experiment, run: Run, wish: Wish, position: int) -> Configuration:
    """A configuration of forks: that of its parents, with the change in its plan."""
    new, parent = fork_plan(run, wish), run.configuration
    return Configuration.objects.create(
        experiment=made,
        position=position,
        label=parent.label if parent else run.plan.topology,
        topology=new.plan.topology["name"],
        commit=new.commit,
        overrides=parent.overrides if parent else {},
        plan=new_plan_store(new),
    )
