"""The first page: what this is, the ready-made experiment, what happened lately, and which models answer here."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from workbench.experiments.models import Experiment, Run
from workbench.results.providers import providers_asked
from workbench.topologies.models import Topology
from workbench.topologies.selectors import topology_cards

RECENT = 6
RUN_FIELDS = (
    "status",
    "queued_at",
    "ended_at",
    "seconds",
    "experiment__name",
    "configuration__label",
    "instance__key",
    "plan__topology",
)


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """Where people arrive: what this is, and the next thing to do."""
    experiments = Experiment.objects.select_related("dataset_version__dataset")
    ready = experiments.filter(ships=True).order_by("pk").first()
    recent = experiments.exclude(pk=ready.pk) if ready else experiments
    context = {
        "ready": ready,
        "progress": progress_of(ready) if ready else None,
        "recent_experiments": list(recent.order_by("-pk")[:RECENT]),
        "recent_runs": list(
            Run.objects.select_related("experiment", "configuration", "instance", "plan")
            .only(*RUN_FIELDS)
            .order_by("-pk")[:RECENT]
        ),
        "starters": topology_cards(list(Topology.objects.filter(deleted_at=None, ships=True))),
    }
    return render(request, "results/home.html", context)


def progress_of(experiment: Experiment) -> dict[str, Any]:
    """How far the experiment is, and what it asks for."""
    labels = list(experiment.configurations.values_list("label", flat=True))
    keys = experiment.instance_keys
    instances = len(keys) if keys is not None else experiment.dataset_version.count
    return {
        "labels": labels,
        "configurations": len(labels),
        "instances": instances,
        "planned": len(labels) * instances * experiment.repetitions,
        "runs": experiment.runs.count(),
        "ended": experiment.runs.filter(status__in=Run.ENDED).count(),
        "evaluations": experiment.evaluations.filter(status="finished").count(),
    }


@require_GET
def home_providers(request: HttpRequest) -> HttpResponse:
    """Which providers answer, asked now; a fragment that the first page loads by itself, or a page."""
    template = "results/_providers.html" if getattr(request, "htmx", False) else "results/home_providers.html"
    return render(request, template, {"providers": providers_asked()})
