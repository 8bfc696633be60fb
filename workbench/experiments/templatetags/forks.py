"""What pages of runs and experiments say of forks."""

from __future__ import annotations

from typing import Any

from django import template
from django.db.models import Count, Q, Sum

from workbench.experiments.forking import forks_of
from workbench.experiments.journal import INHERITED
from workbench.experiments.models import Experiment, Run
from workbench.experiments.totals import plus

register = template.Library()

CALLED = Q(kind="model_called")


@register.filter
def forks(run: Run) -> list[Run]:
    """The forks of a run, newest first."""
    return forks_of(run)


@register.filter
def fork_taken(run: Run) -> dict[str, Any]:
    """What a fork has from its parent."""
    found = run.events.filter(attempt=INHERITED).aggregate(
        visits=Count("pk", filter=Q(kind="visit_ended")),
        calls=Count("pk", filter=CALLED),
        input=Sum("input_tokens", filter=CALLED),
        output=Sum("output_tokens", filter=CALLED),
    )
    return {**found, "tokens": plus(found["input"], found["output"])}


@register.filter
def fork_words(made: Run | Experiment) -> str:
    """What was changed, in a few words."""
    said = made.fork.get("change", {}) if isinstance(made, Experiment) else made.fork
    words = [f"another {name}" for name in said.get("settings", {})]
    words += ["an answer given by a person"] if said.get("answer") is not None else []
    words += [f"topology {said['topology']}"] if said.get("topology") else []
    return ", ".join(words) or "made again as it was"
