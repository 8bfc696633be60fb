"""The results of an experiment as one table: outcome with its interval, cost, failures; and what may be said of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from workbench.engine.errors import PluginError
from workbench.engine.evaluation import EVALUATORS, Evaluator
from workbench.evaluations.models import Evaluation
from workbench.evaluations.selectors import Tally, evaluation_tallies
from workbench.experiments.models import Configuration, Experiment
from workbench.results import selectors, statistics
from workbench.results.clusters import Clustering, clustered_interval, clusterings, differs
from workbench.results.selectors import Failure, InstanceValue, Spent, Spread

AXES = {"tokens": "Tokens", "seconds": "Seconds", "money": "Money"}
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Choice(NamedTuple):
    """What the reader chose: how repetitions become one value, what missing answers count as, which cost is drawn, by which
    field instances go together."""

    reducer: str = "mean"
    missing: str = "left_out"
    axis: str = "tokens"
    cluster: str = ""

    @property
    def missing_is_wrong(self) -> bool:
        return self.missing == "wrong"


class Metric(NamedTuple):
    """What is measured, in words: `pass` rates are shares of instances, others the evaluator's own numbers."""

    name: str
    is_rate: bool
    higher_is_better: bool
    scale: float
    unit: str

    def text(self, value: float | None) -> str:
        """A value as a table says it."""
        if value is None:
            return "unknown"
        return f"{value * 100:.1f} %" if self.is_rate else f"{value:.3g}" if self.scale <= 1 else f"{value:.1f}"


class Outcome(NamedTuple):
    """A mean over `n` of `instances` instances with its 95 % interval; `interval` names how that was made."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    instances: int
    interval: str


class ResultRow(NamedTuple):
    """One configuration. `letter` stands for it in the picture; `verdict` says how it compares with the best."""

    letter: str
    configuration: Configuration
    outcome: Outcome
    tally: Tally
    spent: Spent
    failures: tuple[Failure, ...]
    together: str
    cost: float | None
    on_front: bool
    verdict: str
    spread: Spread | None = None


class ResultTable(NamedTuple):
    """All configurations of an experiment under one evaluation."""

    evaluation: Evaluation | None
    metric: Metric | None
    choice: Choice
    rows: list[ResultRow]
    summary: str

    @property
    def drawn(self) -> list[ResultRow]:
        """Those that have a place in the picture."""
        return [row for row in self.rows if row.cost is not None and row.outcome.value is not None]

    @property
    def not_drawn(self) -> list[ResultRow]:
        """Those whose outcome or cost is unknown: listed apart, never drawn at 0."""
        return [row for row in self.rows if row.cost is None or row.outcome.value is None]


Values = dict[str, float]
"""Instance key → its value."""


def result_table(experiment: Experiment, evaluation: Evaluation | None, choice: Choice) -> ResultTable:
    """The table; without an evaluation only what the runs took."""
    configurations = list(experiment.configurations.select_related("plan").defer("plan__data"))
    spent, failures = selectors.experiment_spent(experiment), selectors.experiment_failures(experiment)
    tallies: Mapping[int, Tally] = evaluation_tallies(evaluation) if evaluation else {}
    metric, values = measured(evaluation, choice) if evaluation else (None, {})
    instances = instance_count(experiment)
    together_by = clustering_of(experiment, choice)
    wilson = by_wilson(values, choice)
    outcomes = [outcome(metric, values.get(one.pk, {}), instances, wilson, together_by) for one in configurations]
    costs = [spent.get(one.pk, Spent()).per_run(choice.axis) for one in configurations]
    better = metric.higher_is_better if metric else True
    points = [(one.value, cost) for one, cost in zip(outcomes, costs, strict=True)]
    front = statistics.pareto_front(points, higher_is_better=better)
    verdicts, summary = judged_against_best(configurations, outcomes, values, metric, together_by)
    repeated = evaluation is not None and experiment.repetitions > 1
    spread = selectors.repetition_spread(evaluation) if evaluation is not None and repeated else {}
    rows = [
        ResultRow(
            LETTERS[place] if place < len(LETTERS) else str(place + 1),
            one,
            outcomes[place],
            tallies.get(one.pk, Tally(0, 0, 0, 0, ())),
            spent.get(one.pk, Spent()),
            tuple(failures.get(one.pk, ())),
            together(evaluation, metric, one, outcomes[place]),
            costs[place],
            place in front,
            verdicts[place],
            spread.get(one.pk),
        )
        for place, one in enumerate(configurations)
    ]
    return ResultTable(evaluation, metric, choice, rows, summary)


def together(evaluation: Evaluation | None, metric: Metric | None, one: Configuration, found: Outcome) -> str:
    """The evaluator's own number for all answers together, where it is another than the mean (corpus BLEU)."""
    if evaluation is None or metric is None or metric.is_rate or found.value is None:
        return ""
    own = (evaluation.metrics.get(str(one.pk)) or {}).get(evaluation.evaluator)
    text = metric.text(own) if isinstance(own, int | float) else ""
    return "" if text == metric.text(found.value) else text


def instance_count(experiment: Experiment) -> int:
    """How many instances each configuration is run on."""
    keys = experiment.instance_keys
    return len(keys) if keys is not None else experiment.dataset_version.count


def measured(evaluation: Evaluation, choice: Choice) -> tuple[Metric, dict[int, Values]]:
    """The metric and, by configuration id, a value for each instance. A pass rate where every score has a verdict."""
    found = selectors.instance_values(evaluation, reducer=choice.reducer, missing_is_wrong=choice.missing_is_wrong)
    scored = [one for one in found if one.value is not None]
    is_rate = any(one.passed is not None for one in scored) and verdicts_complete(evaluation)
    values: dict[int, Values] = defaultdict(dict)
    for one in scored:
        number = one.passed if is_rate else one.value
        if number is not None:
            values[one.configuration_id][one.key] = number
    return metric_of(evaluation, choice, is_rate=is_rate), dict(values)


def verdicts_complete(evaluation: Evaluation) -> bool:
    """Whether every score says passed or not; else the value is the measure."""
    return not evaluation.scores.filter(value__isnull=False, passed=None).exists()


def metric_of(evaluation: Evaluation, choice: Choice, *, is_rate: bool) -> Metric:
    """The metric's full name, with the reducer where repetitions make it matter."""
    plugin = evaluator_class(evaluation.evaluator)
    name = f"{evaluation.evaluator} pass rate" if is_rate else f"mean {evaluation.evaluator}"
    if evaluation.experiment.repetitions > 1:
        words = {"mean": "mean", "best": "best", "worst": "worst"}[choice.reducer]
        name += f", {words} of {evaluation.experiment.repetitions} repetitions"
    unit = "" if is_rate else getattr(plugin, "unit", "")
    return Metric(name, is_rate, plugin.higher_is_better, 1.0 if is_rate else plugin.scale, unit)


def evaluator_class(name: str) -> type[Evaluator]:
    """The plug-in, or the contract's defaults where it is no longer installed."""
    try:
        return EVALUATORS.get(name)
    except PluginError:
        return Evaluator


def by_wilson(values: Mapping[int, Values], choice: Choice) -> bool:
    """Whether every instance simply passed or did not: only then is Wilson's interval right."""
    return all(number in (0.0, 1.0) for one in values.values() for number in one.values())


def clustering_of(experiment: Experiment, choice: Choice) -> Clustering | None:
    """Which instances go together, if the reader chose so."""
    found = clusterings(experiment).get(choice.cluster) if choice.cluster else None
    return None if found is None else Clustering(choice.cluster, found)


def outcome(
    metric: Metric | None, values: Values, instances: int, wilson: bool, together_by: Clustering | None = None
) -> Outcome:
    """The mean over instances with its interval."""
    if metric is None or not values:
        return Outcome(None, None, None, 0, instances, "")
    n = len(values)
    if together_by is not None:
        return clustered_outcome(metric, values, instances, together_by)
    if metric.is_rate and wilson:
        passed = round(sum(values.values()))
        low, high = statistics.wilson(passed, n)
        return Outcome(passed / n, low, high, n, instances, "Wilson")
    estimate = bootstrap(tuple(sorted(values.items())))
    return Outcome(estimate.mean, estimate.low, estimate.high, n, instances, "bootstrap over instances")


def clustered_outcome(metric: Metric, values: Values, instances: int, together_by: Clustering) -> Outcome:
    """The same where instances go together; a share stays between 0 and 1."""
    (low, high), number = clustered_interval(values, together_by.of)
    if metric.is_rate and low is not None and high is not None:
        low, high = max(0.0, low), min(1.0, high)
    mean = sum(values.values()) / len(values)
    return Outcome(mean, low, high, len(values), instances, f"t over {number} clusters ({together_by.field})")


@lru_cache(maxsize=512)
def bootstrap(values: tuple[tuple[str, float], ...]) -> statistics.Estimate:
    """Ten thousand resamples cost up to 50 ms; a finished evaluation's never change."""
    return statistics.bootstrap_mean({key: (value,) for key, value in values})


# --- what may be said


def judged_against_best(
    configurations: Sequence[Configuration],
    outcomes: Sequence[Outcome],
    values: Mapping[int, Values],
    metric: Metric | None,
    together_by: Clustering | None = None,
) -> tuple[list[str], str]:
    """For each configuration `best`, `leading`, `close` (not distinguishable from the best) or `behind`; a sentence."""
    known = [place for place, one in enumerate(outcomes) if one.value is not None]
    nothing = [""] * len(configurations)
    if metric is None or len(known) < 2:
        return nothing, ""
    sign = 1 if metric.higher_is_better else -1
    best = max(known, key=lambda place: (sign * (outcomes[place].value or 0.0), -place))
    others = [place for place in known if place != best]
    ours = values[configurations[best].pk]
    apart = distinguishable([(ours, values[configurations[place].pk]) for place in others], metric, together_by)
    verdicts = list(nothing)
    for place, is_apart in zip(others, apart, strict=True):
        verdicts[place] = "behind" if is_apart else "close"
    verdicts[best] = "best" if all(apart) else "leading"
    return verdicts, verdict_sentence(configurations, best, others, apart)


def verdict_sentence(
    configurations: Sequence[Configuration], best: int, others: Sequence[int], apart: Sequence[bool]
) -> str:
    """What the comparison with the best shows, in words."""
    name = configurations[best].label
    close = [configurations[place].label for place, is_apart in zip(others, apart, strict=True) if not is_apart]
    if not close:
        return f"{name} is best, and distinguishable from every other configuration."
    if len(close) == len(others):
        rest = close[0] if len(close) == 1 else "the others"
        return f"{name} has the best number, but is not distinguishable from {rest} on these instances."
    behind = [configurations[place].label for place, is_apart in zip(others, apart, strict=True) if is_apart]
    return (
        f"{name} leads. On these instances it is not distinguishable from {listed(close)}; "
        f"it is ahead of {listed(behind)}."
    )


def listed(names: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def distinguishable(
    pairs: Sequence[tuple[Values, Values]], metric: Metric, together_by: Clustering | None = None
) -> list[bool]:
    """Whether each pair differs on the instances both have, at 5 % over all pairs together.

    Pass or fail: exact McNemar, Holm. Other values: the paired bootstrap interval at 1 − 5 %/pairs excludes 0. Instances
    that go together: the clustered interval of the difference, at the same level.
    """
    if together_by is not None:
        return [differs(a, b, together_by.of, 1 - 0.05 / len(pairs)) for a, b in pairs]
    binary = metric.is_rate and all(number in (0.0, 1.0) for pair in pairs for side in pair for number in side.values())
    if binary:
        p_values = [
            statistics.flips(
                {key: bool(value) for key, value in a.items()}, {key: bool(value) for key, value in b.items()}
            ).p_value
            for a, b in pairs
        ]
        return [p <= 0.05 for p in statistics.holm(p_values)]
    return [excludes_zero(a, b, confidence=1 - 0.05 / len(pairs)) for a, b in pairs]


def excludes_zero(a: Values, b: Values, *, confidence: float) -> bool:
    """Whether the interval of the paired difference leaves 0 out; below six instances it never does."""
    if len(a.keys() & b.keys()) < statistics.smallest_significant_flips():
        return False
    estimate = bootstrap_pair(tuple(sorted(a.items())), tuple(sorted(b.items())), confidence)
    return estimate.low is not None and estimate.high is not None and (estimate.low > 0 or estimate.high < 0)


@lru_cache(maxsize=512)
def bootstrap_pair(
    a: tuple[tuple[str, float], ...], b: tuple[tuple[str, float], ...], confidence: float
) -> statistics.Estimate:
    """The paired difference, kept like `bootstrap`."""
    return statistics.bootstrap_difference(
        {key: (value,) for key, value in a}, {key: (value,) for key, value in b}, confidence=confidence
    )


__all__ = ["AXES", "Choice", "InstanceValue", "Metric", "Outcome", "ResultRow", "ResultTable", "result_table"]
