"""What runs of each topology took so far, roughly: for the gallery, before anybody starts one."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from workbench.experiments.models import Run
from workbench.topologies.models import Topology

EARLIER = 30
MOST = 100


class Cost(NamedTuple):
    """Medians over the newest runs that ended; None is unknown. `runs` is how many they rest on."""

    pk: int
    last: Run | None
    runs: int
    tokens: float | None
    money: float | None
    seconds: float | None


@require_GET
def topology_costs(request: HttpRequest) -> HttpResponse:
    """A fragment that fills in what the cards of the gallery say of runs."""
    wanted = [
        int(part) for part in request.GET.get("topologies", "").split(",")[:MOST] if part.isdecimal() and len(part) < 12
    ]
    costs = [topology_cost(topology) for topology in Topology.objects.filter(pk__in=wanted)]
    return render(request, "experiments/_topology_costs.html", {"costs": costs})


def topology_cost(topology: Topology) -> Cost:
    """What the newest runs of a topology took."""
    runs = list(Run.objects.filter(plan__topology=topology.name).order_by("-pk")[:EARLIER])
    ended = [run for run in runs if run.status in Run.ENDED]
    return Cost(
        topology.pk,
        runs[0] if runs else None,
        len(ended),
        _middle([_tokens(run) for run in ended]),
        _middle([None if run.cost_usd is None or run.unpriced_calls else float(run.cost_usd) for run in ended]),
        _middle([run.seconds for run in ended]),
    )


def _tokens(run: Run) -> int | None:
    if run.input_tokens is None or run.output_tokens is None:
        return None
    return run.input_tokens + run.output_tokens


def _middle(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
