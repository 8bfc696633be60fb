"""What pages and other apps read of evaluations."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any, NamedTuple

from django.db.models import Count, F, Q, QuerySet
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Substr

from workbench.engine.evaluation import EVALUATORS
from workbench.evaluations.judging import EXCLUDED, plain
from workbench.evaluations.models import Evaluation, RunScore
from workbench.experiments.models import Configuration, Experiment
from workbench.experiments.paging import whole_number

EXCERPT = 200


class Exclusion(NamedTuple):
    """So many runs that were not judged, of one kind."""

    kind: str
    words: str
    number: int


class Tally(NamedTuple):
    """How many runs of a configuration have a score, passed, and why the others have none."""

    runs: int
    scored: int
    judged: int
    passed: int
    exclusions: tuple[Exclusion, ...]

    @property
    def rate(self) -> float | None:
        """The share that passed, of those with a verdict."""
        return self.passed / self.judged if self.judged else None


class MetricRow(NamedTuple):
    """A configuration, its tally and what the evaluator summarised."""

    configuration: Configuration
    tally: Tally
    metrics: dict[str, Any]


class MetricTable(NamedTuple):
    """What the evaluator summarised: numbers as columns; texts and the rest (a signature, options) once, below."""

    names: list[str]
    rows: list[MetricRow]
    texts: list[tuple[str, str]]

    def cells(self, row: MetricRow) -> list[str]:
        """The row's numbers in the order of the columns."""
        return [number_text(row.metrics.get(name)) for name in self.names]


def number_text(value: Any) -> str:
    """A metric for a table: sensible digits, thousands set apart."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.1f}"


TALLIED = {"n", "passed"}
"""What evaluators count that the tally shows already."""


def metric_table(rows: list[MetricRow]) -> MetricTable:
    """The rows' metrics, sorted into columns and texts."""
    numbers: dict[str, None] = {}
    texts: dict[tuple[str, str], None] = {}
    for row in rows:
        for name, value in row.metrics.items():
            if name in TALLIED:
                continue
            if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
                numbers[name] = None
            else:
                texts[name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)] = None
    return MetricTable(list(numbers), rows, list(texts))


def evaluation_rows(evaluation: Evaluation) -> list[MetricRow]:
    """The metrics table of an evaluation's page."""
    tallies = evaluation_tallies(evaluation)
    return [
        MetricRow(configuration, tallies[configuration.pk], evaluation.metrics.get(str(configuration.pk)) or {})
        for configuration in evaluation.experiment.configurations.all()
    ]


def evaluation_tallies(evaluation: Evaluation) -> dict[int, Tally]:
    """Configuration id → its tally, whatever the number of runs in two queries."""
    scores = RunScore.objects.filter(evaluation=evaluation).order_by()
    counted = scores.values(configuration=F("run__configuration_id")).annotate(
        runs=Count("pk"),
        scored=Count("pk", filter=Q(value__isnull=False)),
        judged=Count("pk", filter=Q(passed__isnull=False)),
        passes=Count("pk", filter=Q(passed=True)),
    )
    reasons = (
        scores.filter(value=None)
        .values(configuration=F("run__configuration_id"))
        .annotate(kind=KeyTextTransform("excluded", "details"), number=Count("pk"))
    )
    exclusions: dict[int, list[Exclusion]] = defaultdict(list)
    for row in reasons:
        kind = row["kind"] or "refused"
        exclusions[row["configuration"]].append(Exclusion(kind, EXCLUDED.get(kind, kind), row["number"]))
    tallies: dict[int, Tally] = defaultdict(lambda: Tally(0, 0, 0, 0, ()))
    for count in counted:
        why = tuple(sorted(exclusions[count["configuration"]], key=lambda one: (-one.number, one.kind)))
        tallies[count["configuration"]] = Tally(count["runs"], count["scored"], count["judged"], count["passes"], why)
    return tallies


VERDICTS = {
    "passed": Q(passed=True),
    "not_passed": Q(passed=False),
    "scored": Q(value__isnull=False),
    "excluded": Q(value=None),
}
"""How a list of scores can be narrowed."""


def evaluation_scores(evaluation: Evaluation, *, configuration: str = "", verdict: str = "") -> QuerySet[RunScore]:
    """The scores for the table: runs with excerpts of their predictions, not the whole of them."""
    scores = RunScore.objects.filter(VERDICTS.get(verdict, Q()), evaluation=evaluation)
    if (number := whole_number(configuration)) is not None:
        scores = scores.filter(run__configuration_id=number)
    return (
        scores.select_related("run__configuration", "run__instance")
        .defer("run__output", "run__outputs", "run__input", "run__instance__problem", "run__instance__files")
        .annotate(excerpt=Substr("run__output", 1, EXCERPT))
        .order_by("run__instance__position", "run__configuration__position", "run__repetition", "run_id")
    )


def options_told(evaluation: Evaluation, *, changed_only: bool = False) -> list[tuple[str, str]]:
    """The options as name and JSON; only those that are not the plug-in's defaults, where asked for."""
    defaults: dict[str, Any] = {}
    if changed_only and evaluation.evaluator in EVALUATORS.names():
        fields = EVALUATORS.get(evaluation.evaluator).Options.model_fields
        defaults = {name: field.get_default(call_default_factory=True) for name, field in fields.items()}
    return [
        (name, json.dumps(value, ensure_ascii=False))
        for name, value in evaluation.options.items()
        if name not in defaults or plain(defaults[name]) != value
    ]


def experiment_evaluations(experiment: Experiment) -> QuerySet[Evaluation]:
    """All evaluations of an experiment, the newest first."""
    return experiment.evaluations.order_by("-id")


def latest_evaluations(experiment: Experiment) -> list[Evaluation]:
    """The newest finished evaluation of each evaluator, by name; where none finished, the newest of any status."""
    latest: dict[str, Evaluation] = {}
    for evaluation in experiment.evaluations.order_by("id"):
        kept = latest.get(evaluation.evaluator)
        if kept is None or evaluation.status == Evaluation.Status.FINISHED or kept.status != Evaluation.Status.FINISHED:
            latest[evaluation.evaluator] = evaluation
    return [latest[name] for name in sorted(latest)]


def run_scores(run_id: int) -> QuerySet[RunScore]:
    """Every verdict on one run, the newest evaluation first."""
    return RunScore.objects.filter(run_id=run_id).select_related("evaluation").order_by("-evaluation_id")
