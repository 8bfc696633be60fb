"""Pages of results: the table with its picture, exports, and the comparison of two configurations."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from workbench.experiments.models import Configuration, Experiment, Run
from workbench.results.differences import differing_settings

# The statistics stand on numpy and scipy: they are imported by the first page that needs them, not by every process.

FLIPS_PER_PAGE = 20


def experiment_get(pk: int) -> Experiment:
    """The experiment with what every page names of it."""
    return get_object_or_404(Experiment.objects.select_related("dataset_version__dataset"), pk=pk)


@require_GET
def results_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """A row per configuration: outcome with its interval, what it took, what failed; and outcome against cost."""
    from workbench.results.clusters import clusterings
    from workbench.results.exports import COLUMNS
    from workbench.results.forms import MISSING, chosen_from
    from workbench.results.selectors import REDUCERS
    from workbench.results.table import AXES, result_table

    experiment = experiment_get(pk)
    chosen = chosen_from(request.GET, experiment)
    table = result_table(experiment, chosen.evaluation, chosen.choice)
    runs, ended = sum(row.spent.runs for row in table.rows), sum(row.spent.ended for row in table.rows)
    judged = sum(row.tally.runs for row in table.rows)
    context = {
        "experiment": experiment,
        "chosen": chosen,
        "table": table,
        "differences": differing_settings([row.configuration for row in table.rows]),
        "runs": runs,
        "ended": ended,
        "judged": judged,
        "not_judged": max(0, ended - judged),
        "reducers": REDUCERS,
        "missing": MISSING,
        "clusterings": clusterings(experiment),
        "axes": [(key, label, chosen.query(axis=key)) for key, label in AXES.items()],
        "columns": [(name, meaning) for name, meaning, _ in COLUMNS],
        "query": chosen.query(),
        "opened": experiment.status in (Experiment.Status.RUNNING, Experiment.Status.STOPPING),
    }
    return render(request, "results/results_detail.html", context)


@require_GET
def results_chart(request: HttpRequest, pk: int) -> HttpResponse:
    """The picture: `?format=png` for a PNG, `?theme=dark`, `?size=small`; the rest as on the page."""
    from workbench.results.charts import SIZES, THEMES, chart_draw, chart_notice
    from workbench.results.forms import chosen_from, one_of
    from workbench.results.table import result_table

    experiment = experiment_get(pk)
    chosen = chosen_from(request.GET, experiment)
    table = result_table(experiment, chosen.evaluation, chosen.choice)
    theme, size = one_of(request.GET.get("theme"), THEMES), one_of(request.GET.get("size"), SIZES)
    as_png = request.GET.get("format") == "png"
    if not table.drawn:
        return HttpResponse(chart_notice(theme), content_type="image/svg+xml")
    picture = chart_draw(table, theme=theme, size=size, as_png=as_png)
    response = HttpResponse(picture, content_type="image/png" if as_png else "image/svg+xml")
    if as_png:
        response["Content-Disposition"] = f'attachment; filename="experiment-{pk}-{chosen.choice.axis}.png"'
    return response


@require_GET
def results_csv(request: HttpRequest, pk: int) -> HttpResponse:
    """The table as CSV."""
    from workbench.results.exports import table_csv
    from workbench.results.forms import chosen_from
    from workbench.results.table import result_table

    experiment = experiment_get(pk)
    chosen = chosen_from(request.GET, experiment)
    text = table_csv(result_table(experiment, chosen.evaluation, chosen.choice))
    disposition = {"Content-Disposition": f'attachment; filename="experiment-{pk}-results.csv"'}
    return HttpResponse(text, content_type="text/csv; charset=utf-8", headers=disposition)


@require_GET
def results_json(request: HttpRequest, pk: int) -> HttpResponse:
    """The table as JSON, with the meaning of its columns."""
    from workbench.results.exports import table_json
    from workbench.results.forms import chosen_from
    from workbench.results.table import result_table

    experiment = experiment_get(pk)
    chosen = chosen_from(request.GET, experiment)
    text = table_json(experiment, result_table(experiment, chosen.evaluation, chosen.choice))
    return HttpResponse(text, content_type="application/json")


@require_GET
def results_compare(request: HttpRequest, pk: int) -> HttpResponse:
    """Two configurations, instance by instance: `?a=ID&b=ID`, without them the first two."""
    from workbench.results.comparison import configurations_compare, flips_with_runs
    from workbench.results.forms import chosen_from
    from workbench.results.selectors import REDUCERS

    experiment = experiment_get(pk)
    chosen = chosen_from(request.GET, experiment)
    configurations = list(experiment.configurations.select_related("plan").defer("plan__data"))
    a, b = two_of(configurations, request.GET.get("a", ""), request.GET.get("b", ""))
    context = {
        "experiment": experiment,
        "chosen": chosen,
        "configurations": configurations,
        "a": a,
        "b": b,
        "pair": [("a", a), ("b", b)],
        "reducers": REDUCERS,
    }
    if a is not None and b is not None and chosen.evaluation is not None:
        comparison = configurations_compare(a, b, chosen.evaluation, chosen.choice)
        page = Paginator(comparison.flipped, FLIPS_PER_PAGE).get_page(request.GET.get("page"))
        context |= {
            "comparison": comparison,
            "page": page,
            "flips": flips_with_runs(comparison, list(page.object_list)),
            "query": chosen.query(a=a.pk, b=b.pk),
            "swapped": chosen.query(a=b.pk, b=a.pk),
            "open_runs": experiment.runs.filter(status__in=Run.OPEN).count(),
        }
    return render(request, "results/results_compare.html", context)


def two_of(configurations: list[Configuration], a: str, b: str) -> tuple[Configuration | None, Configuration | None]:
    """The two that were named; where none or nonsense is named, the first two."""
    by_key = {str(one.pk): one for one in configurations}
    first = by_key.get(a) or next(iter(configurations), None)
    second = by_key.get(b) or next((one for one in configurations if one is not first), None)
    return first, second
