"""Pages that begin from a run's journal: replay it, fork it at a visit, fork all runs of an experiment."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from workbench.catalog.authors import author_of
from workbench.engine.errors import InvalidDocument, Problem, WorkbenchError
from workbench.engine.forking import CannotFork
from workbench.engine.recorded import Place
from workbench.experiments import forking, forking_many, run_selectors
from workbench.experiments.fork_forms import ForkForm
from workbench.experiments.models import Configuration, Experiment, Run
from workbench.experiments.paging import whole_number
from workbench.experiments.replaying import difference_lines, plan_of_version, run_replay

RELATED = ("experiment", "configuration", "instance", "plan")


def run_of(pk: int) -> Run:
    return get_object_or_404(Run.objects.select_related(*RELATED), pk=pk)


def problems_of(error: WorkbenchError) -> list[Problem]:
    """What stands in the way, as pages list it."""
    if isinstance(error, InvalidDocument):
        return list(error.problems)
    return [Problem("error", error.code, "", str(error))]


@require_GET
def run_replay_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Do a run again from its journal alone, by its own plan or by the topology that was asked for."""
    run, topology = run_of(pk), request.GET.get("topology", "").strip()
    context: dict[str, Any] = {"run": run, "topology": topology, "problems": []}
    try:
        done = run_replay(run, plan_of_version(run, topology) if topology else None)
        context["done"] = done
        if done.first is not None:
            context["lines"] = difference_lines(done.first)
    except WorkbenchError as error:
        context["problems"] = problems_of(error)
    return render(request, "experiments/run_replay.html", context)


@require_http_methods(["GET", "POST"])
def run_fork(request: HttpRequest, pk: int, node: str, visit: int) -> HttpResponse:
    """Fork a run at a visit: what would be made again is said before the click."""
    run, place = run_of(pk), Place.read(node, visit)
    form = ForkForm(request.POST or None, run=run, place=place, answer=answer_of(run, node, visit))
    context: dict[str, Any] = {"run": run, "place": place, "form": form, "problems": []}
    try:
        if form.is_bound and form.is_valid() and is_click(request):
            return redirect(forking.run_fork(run, form.wish()))
        if not form.is_bound or form.is_valid():
            context["look"] = forking.fork_look(run, form.wish() if form.is_bound else forking.Wish(place))
    except WorkbenchError as error:
        context["problems"] = problems_of(error)
    return render(request, "experiments/run_fork.html", context)


def is_click(request: HttpRequest) -> bool:
    """Whether the fork is to be made. The page's own request after a change carries the button that was clicked since."""
    return request.POST.get("do") == "fork" and "look" not in request.GET


def answer_of(run: Run, node: str, visit: int) -> str:
    """What the visit said, to be changed."""
    ended = run_selectors.run_visit(run, node, visit).ended
    if ended is None:
        return ""
    if ended.event.targets is not None:
        return " ".join(ended.event.targets)
    return "\n\n".join(message.text for message in ended.event.messages)


@require_http_methods(["GET", "POST"])
def experiment_fork(request: HttpRequest, pk: int) -> HttpResponse:
    """Fork all runs of an experiment at the same node: first the node, then what is changed there."""
    experiment = get_object_or_404(Experiment, pk=pk)
    chosen = request.POST or request.GET
    node, visit = chosen.get("node", ""), whole_number(chosen.get("visit", "")) or 1
    configuration = experiment.configurations.filter(pk=whole_number(chosen.get("configuration", "")) or 0).first()
    context: dict[str, Any] = {
        "experiment": experiment,
        "configurations": experiment.configurations.all(),
        "configuration": configuration,
        "node": node,
        "visit": visit,
        "nodes": nodes_of(experiment),
        "problems": [],
    }
    if not node:
        return render(request, "experiments/experiment_fork.html", context)
    try:
        return experiment_fork_page(request, experiment, configuration, Place.read(node, visit), context)
    except WorkbenchError as error:
        context["problems"] = problems_of(error)
        return render(request, "experiments/experiment_fork.html", context)


def experiment_fork_page(
    request: HttpRequest,
    experiment: Experiment,
    configuration: Configuration | None,
    place: Place,
    context: dict[str, Any],
) -> HttpResponse:
    """The second step: shown, looked at again, or done."""
    wish = forking.Wish(place)
    runs, _ = forking_many.runs_with(experiment, wish, configuration)
    if not runs:
        raise CannotFork(f"No run that has ended has this visit: {place}.")
    form = context["form"] = ForkForm(request.POST or None, run=runs[0], place=place)
    if form.is_bound and not form.is_valid():
        return render(request, "experiments/experiment_fork.html", context)
    if form.is_bound:
        wish = form.wish()
        if is_click(request):
            made = forking_many.experiment_fork(experiment, wish, configuration, author=author_of(request))
            messages.success(request, f"{made.runs.count():,} forks have begun.")
            return redirect(made)
    look = context["look"] = forking_many.experiment_fork_look(experiment, wish, configuration)
    context["again_calls"] = look.scaled(look.again.model_calls)
    context["again_tools"] = look.scaled(look.again.tool_calls)
    return render(request, "experiments/experiment_fork.html", context)


def nodes_of(experiment: Experiment) -> list[str]:
    """The nodes that runs of the experiment visited, in the order of their topologies."""
    plans = experiment.configurations.exclude(plan=None).values_list("plan__data", flat=True)
    return list(dict.fromkeys(name for data in plans for name in data.get("nodes", {})))
