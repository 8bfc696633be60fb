"""Pages of runs: the list, one run, one visit, the journal."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import Max
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_GET, require_POST

from workbench.engine.errors import WorkbenchError
from workbench.experiments import run_page, run_selectors, services
from workbench.experiments.journal import event_json
from workbench.experiments.models import Configuration, Experiment, Run, RunEvent
from workbench.experiments.paging import page_of, query_without, whole_number
from workbench.experiments.selectors import elapsed, runs_listed
from workbench.experiments.views import HtmxRequest
from workbench.topologies.picture import topology_svg

PER_PAGE = 50
EVENTS_PER_PAGE = 100


@require_GET
def run_list(request: HttpRequest) -> HttpResponse:
    """All runs, those of the command line too, newest first."""
    filters = {name: request.GET.get(name, "") for name in ("status", "topology", "code")}
    within = {name: whole_number(request.GET.get(name, "")) for name in ("experiment", "configuration")}
    runs = runs_listed(
        status=filters["status"],
        plan__topology=filters["topology"],
        code=filters["code"],
        experiment_id=within["experiment"],
        configuration_id=within["configuration"],
    ).order_by("-pk")
    topologies = Run.objects.order_by("plan__topology").values_list("plan__topology", flat=True).distinct()
    context = {
        **filters,
        "narrowed": [(name, value) for name, value in {**within, "code": filters["code"]}.items() if value],
        "experiment": Experiment.objects.filter(pk=within["experiment"] or 0).first(),
        "configuration": Configuration.objects.filter(pk=within["configuration"] or 0).first(),
        "page": page_of(request, runs, PER_PAGE),
        "query": query_without(request),
        "statuses": Run.Status.choices,
        "topologies": list(topologies),
    }
    return render(request, "experiments/run_list.html", context)


@require_GET
def run_detail(request: HtmxRequest, pk: int) -> HttpResponse:
    """One run. While it goes on, the page asks every second; nothing new is answered by nothing."""
    run = get_object_or_404(run_query(), pk=pk)
    if request.htmx and request.GET.get("part") == "visits":
        context = {"run": run, "active": not run.has_ended, **run_page.visits_part(request, run, run_document(run))}
        return render(request, "experiments/_run_visits.html", context)
    seen = run_seen(run)
    if request.htmx and request.GET.get("seen") == seen:
        return HttpResponse(status=204)
    template = "experiments/_run_again.html" if request.htmx else "experiments/run_detail.html"
    return render(request, template, {**run_context(request, run), "seen": seen, "last": seen.partition("-")[0]})


def run_query() -> Any:
    """Runs with all that their page names."""
    related = ("experiment", "configuration", "instance__version__dataset", "plan")
    return Run.objects.select_related(*related).defer("instance__files", "instance__references", "instance__metadata")


def run_seen(run: Run) -> str:
    """Changes whenever something happened in the run."""
    last = run.events.aggregate(last=Max("sequence"))["last"] or 0
    return f"{last}-{run.attempt}-{run.status}"


def run_document(run: Run) -> dict[str, Any]:
    """The run's topology, with its layout."""
    return {**run.plan.data.get("topology", {}), "layout": run.plan.data.get("layout", {})}


def run_context(request: HttpRequest, run: Run) -> dict[str, Any]:
    document = run_document(run)
    nodes = run_selectors.run_nodes(run)
    states = run_selectors.node_states(run, nodes)
    edges = run_selectors.run_edges(run)
    return {
        "run": run,
        "active": not run.has_ended,
        "elapsed": elapsed(run.started_at, run.ended_at),
        # The picture escapes every name in it.
        "picture": mark_safe(topology_svg(document, nodes=states, edges=edges)) if run.plan.data else "",
        "nodes": nodes,
        "open": run_page.run_open(run, nodes),
        "sums": run_page.run_sums(nodes, edges, document),
        **run_page.visits_part(request, run, document),
        "notes": run_selectors.run_notes(run),
        "twins": twins(run),
    }


def twins(run: Run) -> Any:
    """The other repetitions of the same instance."""
    if run.configuration_id is None:
        return ()
    same = Run.objects.filter(configuration=run.configuration_id, instance=run.instance_id)
    return list(same.order_by("repetition").values("pk", "repetition", "status")[:50])


@require_GET
def run_visit(request: HtmxRequest, pk: int, node: str, visit: int) -> HttpResponse:
    """One visit in full: what it read, every call, what it said."""
    run = get_object_or_404(run_query(), pk=pk)
    found = run_selectors.run_visit(run, node, visit)
    if found.started is None and found.ended is None and not found.calls:
        raise Http404("The run has no such visit.")
    fired = run_selectors.targets(run.plan.data, node, found.ended.event.fired) if found.ended else []
    context = {"run": run, "node": node, "visit": visit, "found": found, "fired": fired}
    return render(request, "experiments/run_visit.html", context)


@require_GET
def run_events(request: HttpRequest, pk: int) -> HttpResponse:
    """The journal, page by page."""
    run = get_object_or_404(run_query(), pk=pk)
    filters = {name: request.GET.get(name, "") for name in ("kind", "node")}
    context = {
        **filters,
        "run": run,
        "page": page_of(request, run_selectors.run_events(run, **filters), EVENTS_PER_PAGE),
        "query": query_without(request),
        "kinds": run_selectors.KINDS,
        "nodes": list(run.plan.data.get("topology", {}).get("nodes", {})),
    }
    return render(request, "experiments/run_events.html", context)


@require_GET
def run_event(request: HttpRequest, pk: int, sequence: int) -> HttpResponse:
    """One event as it stands in the journal, whole."""
    data = RunEvent.objects.filter(run=pk, sequence=sequence).values_list("data", flat=True).first()
    if data is None:
        raise Http404("The run has no such event.")
    response = HttpResponse(event_json(data), content_type="application/json; charset=utf-8")
    response["X-Content-Type-Options"] = "nosniff"
    return response


@require_POST
def run_stop(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask one run to stop."""
    run = get_object_or_404(Run, pk=pk)
    try:
        services.run_stop(run)
    except WorkbenchError as error:
        messages.error(request, str(error))
    return redirect(run)


@require_GET
def topology_runs(request: HtmxRequest, name: str) -> HttpResponse:
    """The newest runs of a topology; a fragment of its page, or the list of runs."""
    if not request.htmx:
        return redirect(f"{reverse('run_list')}?{urlencode({'topology': name})}")
    runs = runs_listed(plan__topology=name).order_by("-pk")[:8]
    return render(request, "experiments/_topology_runs.html", {"runs": runs, "name": name})
