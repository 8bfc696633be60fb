"""Lists of experiments and runs. They never load what a model said, which may be a megabyte each."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Count, QuerySet
from django.utils import timezone

from workbench.experiments.models import Experiment, Run

NOT_IN_LISTS = (
    *("output", "outputs", "input", "reason", "plan__data"),
    *("instance__problem", "instance__files", "instance__references", "instance__metadata"),
)


def experiments_listed() -> QuerySet[Experiment]:
    """Every experiment, newest first, with its dataset and the number of its configurations."""
    counted = Experiment.objects.annotate(configuration_count=Count("configurations"))
    return counted.select_related("dataset_version__dataset").order_by("-pk")


def runs_listed(**filters: Any) -> QuerySet[Run]:
    """Runs as lists show them, oldest first; filters that are empty are left out."""
    wanted = {name: value for name, value in filters.items() if value not in (None, "")}
    runs = Run.objects.filter(**wanted).select_related("experiment", "configuration", "instance", "plan")
    return runs.defer(*NOT_IN_LISTS)


def runs_recent(experiment: Experiment, number: int = 6) -> list[Run]:
    """Runs that go on, the longest first, then those that ended last."""
    runs = runs_listed(experiment=experiment)
    going = runs.filter(status__in=Run.HELD).order_by("started_at")[:number]
    ended = runs.filter(ended_at__isnull=False).order_by("-ended_at", "-pk")[:number]
    return [*going, *ended]


def elapsed(started: datetime | None, ended: datetime | None) -> float | None:
    """Wall seconds from a start to the end, or until now."""
    return None if started is None else ((ended or timezone.now()) - started).total_seconds()
