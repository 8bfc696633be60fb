"""Pages of evaluations: start one, see one, and fragments for the pages of experiments and runs."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods
from django_htmx.middleware import HtmxDetails

from workbench.engine.errors import WorkbenchError
from workbench.engine.evaluation import EVALUATORS
from workbench.evaluations import selectors
from workbench.evaluations.forms import EvaluationForm
from workbench.evaluations.models import Evaluation
from workbench.evaluations.options import evaluator_cards
from workbench.evaluations.services import evaluation_same, evaluation_start
from workbench.experiments.models import Experiment, Run

PER_PAGE = 50
TABS = [("", "All"), ("passed", "Passed"), ("not_passed", "Not passed"), ("excluded", "Not scored")]


class HtmxRequest(HttpRequest):
    """A request that knows whether htmx sent it."""

    htmx: HtmxDetails


@require_GET
def experiment_evaluations(request: HtmxRequest, pk: int) -> HttpResponse:
    """The evaluations of an experiment and a form for another; a fragment of the experiment's page, or a page."""
    experiment = get_object_or_404(Experiment, pk=pk)
    return evaluations_page(request, experiment)


@require_http_methods(["GET", "POST"])
def evaluation_create(request: HtmxRequest, pk: int) -> HttpResponse:
    """Start an evaluation; what is wrong with it is said beside its form."""
    experiment = get_object_or_404(Experiment, pk=pk)
    if request.method == "GET":
        return evaluations_page(request, experiment)
    name = request.POST.get("evaluator", "")
    if name not in EVALUATORS.names():
        return evaluations_page(request, experiment, problem=f"There is no evaluator {name!r}. Choose one of the list.")
    form = EvaluationForm(name, request.POST)
    if not form.is_valid():
        return evaluations_page(request, experiment, form=form)
    options, partial = form.given(form.cleaned_data), form.cleaned_data["include_partial"]
    try:
        same = evaluation_same(experiment, name, options, include_partial=partial)
        if same is not None and "again" not in request.POST:
            return evaluations_page(request, experiment, form=form, same=same)
        evaluation = evaluation_start(experiment, name, options, include_partial=partial)
    except WorkbenchError as error:
        form.add_error(None, str(error))
        return evaluations_page(request, experiment, form=form)
    messages.success(request, f"{name} is queued.")
    return redirect(evaluation)


def evaluations_page(
    request: HtmxRequest,
    experiment: Experiment,
    *,
    form: EvaluationForm | None = None,
    problem: str = "",
    same: Evaluation | None = None,
) -> HttpResponse:
    """List and forms; `form` is the one that was sent and refused, or not taken yet because there is the `same`."""
    forms = [
        (card, form if form and form.evaluator == card.name else EvaluationForm(card.name))
        for card in evaluator_cards()
    ]
    context: dict[str, Any] = {
        "experiment": experiment,
        "evaluations": [
            (one, selectors.options_told(one, changed_only=True))
            for one in selectors.experiment_evaluations(experiment)
        ],
        "forms": forms,
        "sent": form,
        "problem": problem,
        "same": same,
        "ended": experiment.runs.filter(status__in=Run.ENDED).count(),
        "runs": experiment.runs.count(),
    }
    fragment = request.htmx and not (form or problem)
    template = "evaluations/_evaluations.html" if fragment else "evaluations/experiment_evaluations.html"
    return render(request, template, context, status=200 if same else 422 if form or problem else 200)


@require_GET
def evaluation_detail(request: HtmxRequest, pk: int) -> HttpResponse:
    """One evaluation: what it is, metrics per configuration, every score. Asks again while it runs."""
    evaluation = get_object_or_404(Evaluation.objects.select_related("experiment__dataset_version__dataset"), pk=pk)
    configuration, verdict = request.GET.get("configuration", ""), request.GET.get("verdict", "")
    scores = selectors.evaluation_scores(evaluation, configuration=configuration, verdict=verdict)
    table = selectors.metric_table(selectors.evaluation_rows(evaluation))
    narrowed = {"configuration": configuration, "verdict": verdict}
    context = {
        "evaluation": evaluation,
        "table": table,
        "rows": [(row, table.cells(row)) for row in table.rows],
        "options": selectors.options_told(evaluation),
        "tabs": TABS,
        "chosen": next((row.configuration for row in table.rows if str(row.configuration.pk) == configuration), None),
        "query": urlencode({key: value for key, value in narrowed.items() if value}),
        "page": Paginator(scores, PER_PAGE).get_page(request.GET.get("page")),
        **narrowed,
        "runs": evaluation.experiment.runs.count(),
        "scored": sum(row.tally.runs for row in table.rows),
    }
    template = "evaluations/_evaluation.html" if request.htmx else "evaluations/evaluation_detail.html"
    return render(request, template, context)


@require_GET
def run_scores(request: HtmxRequest, pk: int) -> HttpResponse:
    """Every verdict on one run; a fragment of the run's page, or a page."""
    run = get_object_or_404(Run.objects.select_related("experiment", "instance", "configuration"), pk=pk)
    template = "evaluations/_run_scores.html" if request.htmx else "evaluations/run_scores.html"
    return render(request, template, {"run": run, "scores": selectors.run_scores(run.pk)})
