"""Pages of experiments: plan, start, watch, stop."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.middleware import HtmxDetails

from workbench.catalog.authors import author_of
from workbench.catalog.probing import models_listed
from workbench.engine.errors import InvalidDocument, WorkbenchError
from workbench.experiments import model_uses as uses
from workbench.experiments import probing, services
from workbench.experiments.drafting import Draft
from workbench.experiments.estimates import draft_estimate
from workbench.experiments.forms import DraftForm, blank_initial, draft_initial, rows_changed
from workbench.experiments.models import Experiment, Run
from workbench.experiments.paging import page_of, query_without, whole_number
from workbench.experiments.progress import counts_by_experiment, experiment_progress, together
from workbench.experiments.selectors import elapsed, experiments_listed, runs_listed, runs_recent

PER_PAGE = 50


class HtmxRequest(HttpRequest):
    """A request that knows whether htmx sent it."""

    htmx: HtmxDetails


@require_GET
def experiment_list(request: HttpRequest) -> HttpResponse:
    """Every experiment, newest first."""
    page = page_of(request, experiments_listed(), PER_PAGE)
    counts = counts_by_experiment(experiment.pk for experiment in page)
    rows = [(experiment, counts[experiment.pk]) for experiment in page]
    return render(request, "experiments/experiment_list.html", {"page": page, "rows": rows})


@require_http_methods(["GET", "POST"])
def experiment_create(request: HttpRequest) -> HttpResponse:
    """Plan a new experiment; saved, its page shows what it would do before anything starts."""
    return experiment_form(request, None)


@require_http_methods(["GET", "POST"])
def experiment_edit(request: HttpRequest, pk: int) -> HttpResponse:
    """Change a draft."""
    experiment = get_object_or_404(Experiment, pk=pk)
    if experiment.status != Experiment.Status.DRAFT:
        messages.info(request, "An experiment is frozen at its start. Copy it, and change the copy.")
        return redirect(experiment)
    return experiment_form(request, experiment)


def experiment_form(request: HttpRequest, experiment: Experiment | None) -> HttpResponse:
    """The form of a draft: shown, with a row more or less, refused, or saved."""
    if request.method == "GET":
        return form_page(request, experiment, DraftForm(initial=form_initial(request, experiment)))
    changed = rows_changed(request.POST)
    if changed is not None:
        return form_page(request, experiment, changed)
    form = DraftForm(request.POST)
    spec = form.spec()
    if spec is None:
        return form_page(request, experiment, form)
    if experiment is None:
        return redirect(services.experiment_create(spec, author=author_of(request)))
    return redirect(services.experiment_update(experiment, spec))


def form_initial(request: HttpRequest, experiment: Experiment | None) -> dict[str, Any]:
    """A stored draft, or a new one; links from elsewhere may name its topology or dataset."""
    if experiment is not None:
        return draft_initial(experiment)
    initial = blank_initial()
    initial["configurations"] = [{"topology": name} for name in request.GET.getlist("topology")] or [{}]
    initial["facts"]["dataset"] = request.GET.get("dataset", "")
    return initial


def form_page(request: HttpRequest, experiment: Experiment | None, form: DraftForm) -> HttpResponse:
    context = {
        "form": form,
        "experiment": experiment,
        "evaluators": probing.evaluator_notes(),
        "models": known_models(),
    }
    return render(request, "experiments/experiment_form.html", context)


def known_models() -> list[str]:
    """Models that providers listed lately or that earlier experiments asked, to choose from while typing anything."""
    overrides = Experiment.objects.order_by("-id").values_list("configurations__overrides", flat=True)[:200]
    return sorted({given["model"] for given in overrides if given and given.get("model")} | set(models_listed()))


@require_GET
def experiment_detail(request: HtmxRequest, pk: int) -> HttpResponse:
    """A draft: what it would do. Else: how it goes, once a second until it is over, and its runs."""
    experiment = get_object_or_404(Experiment.objects.select_related("dataset_version__dataset"), pk=pk)
    if experiment.status == Experiment.Status.DRAFT:
        return draft_page(request, experiment)
    context = {"experiment": experiment, **progress_context(experiment)}
    if not request.htmx or request.htmx.target == "runs-table":
        template = "experiments/_runs.html" if request.htmx else "experiments/experiment_detail.html"
        return render(request, template, {**context, **runs_context(request, experiment)})
    response = render(request, "experiments/_progress.html", context)
    if not context["active"]:
        response["HX-Refresh"] = "true"  # it is over: results and evaluations have their place on the page now
    return response


def draft_page(request: HttpRequest, experiment: Experiment, problems: Any = None) -> HttpResponse:
    """The plan before the click."""
    draft = Draft(experiment)
    context = {
        "experiment": experiment,
        "draft": draft,
        "estimate": draft_estimate(draft),
        "problems": draft.problems if problems is None else problems,
        "blocked": any(problem.severity == "error" for problem in draft.problems),
    }
    return render(request, "experiments/experiment_draft.html", context)


def progress_context(experiment: Experiment) -> dict[str, Any]:
    """What the part that asks again every second shows."""
    lines = experiment_progress(experiment)
    return {
        "lines": lines,
        "whole": together(lines),
        "recent": runs_recent(experiment),
        "elapsed": elapsed(experiment.started_at, experiment.ended_at),
        "active": experiment.status in (Experiment.Status.RUNNING, Experiment.Status.STOPPING),
    }


def runs_context(request: HttpRequest, experiment: Experiment) -> dict[str, Any]:
    """The table of runs, with its filters."""
    status, configuration = request.GET.get("status", ""), request.GET.get("configuration", "")
    chosen = whole_number(configuration)
    runs = runs_listed(experiment=experiment, status=status, configuration=chosen)
    return {
        "page": page_of(request, runs, PER_PAGE),
        "query": query_without(request),
        "status": status,
        "configuration": chosen,
        "statuses": Run.Status.choices,
    }


@require_GET
def experiment_providers(request: HttpRequest, pk: int) -> HttpResponse:
    """Whether the models of a draft answer, asked of their providers just now; a fragment of its page."""
    experiment = get_object_or_404(Experiment, pk=pk)
    draft = Draft(experiment)
    shown = set(draft.problems)  # what the page knew when it was made
    plans = [planned.plan for planned in draft.configurations if planned.plan is not None]
    answers = probing.models_probe(sorted(set().union(*(plan.models() for plan in plans))))
    news = [problem for problem in draft.model_problems() if problem not in shown]
    return render(request, "experiments/_providers.html", {"answers": answers, "problems": news})


@require_GET
def model_uses(request: HtmxRequest) -> HttpResponse:
    """Which models are asked for, and whether they are here; a fragment of the page of models, or a page."""
    template = "experiments/_model_uses.html" if request.htmx else "experiments/model_uses.html"
    return render(request, template, {"uses": uses.model_uses()})


@require_POST
def experiment_start(request: HttpRequest, pk: int) -> HttpResponse:
    """Freeze and start a draft; what stands in the way is said on its page."""
    experiment = get_object_or_404(Experiment, pk=pk)
    try:
        services.experiment_start(experiment)
    except InvalidDocument:
        pass  # the page lists every problem
    except WorkbenchError as error:
        messages.error(request, str(error))
    return redirect(experiment)


@require_POST
def experiment_stop(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask a running experiment to stop."""
    experiment = get_object_or_404(Experiment, pk=pk)
    return done(
        request, experiment, lambda: services.experiment_stop(experiment), "Stopping: runs end as their calls are cut."
    )


@require_POST
def experiment_resume(request: HttpRequest, pk: int) -> HttpResponse:
    """Go on with what was stopped, or try again what failed."""
    experiment = get_object_or_404(Experiment, pk=pk)
    failed = request.POST.get("what") == "failed"
    return done(request, experiment, lambda: services.experiment_resume(experiment, failed=failed), "It goes on.")


@require_POST
def experiment_copy(request: HttpRequest, pk: int) -> HttpResponse:
    """A new draft that says the same."""
    experiment = get_object_or_404(Experiment, pk=pk)
    try:
        copy = services.experiment_copy(experiment, author=author_of(request))
    except WorkbenchError as error:
        messages.error(request, str(error))
        return redirect(experiment)
    messages.success(request, "Copied as a draft. It takes the newest version of each topology when it starts.")
    return redirect(copy)


@require_http_methods(["GET", "POST"])
def experiment_delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask whether a draft is to go; then delete it."""
    experiment = get_object_or_404(Experiment, pk=pk)
    if request.method == "GET" and experiment.status == Experiment.Status.DRAFT:
        return render(request, "experiments/experiment_delete.html", {"experiment": experiment})
    try:
        services.experiment_delete(experiment)
    except WorkbenchError as error:
        messages.error(request, str(error))
        return redirect(experiment)
    messages.success(request, f"The draft “{experiment.name}” was deleted.")
    return redirect("experiment_list")


def done(request: HttpRequest, experiment: Experiment, action: Any, sentence: str) -> HttpResponse:
    """Do it, say so or why not, and show the experiment."""
    try:
        action()
        messages.success(request, sentence)
    except WorkbenchError as error:
        messages.error(request, str(error))
    return redirect(experiment)
