"""Two configurations on the instances that both have: who won which, the difference, and what may be said of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from django.db.models.functions import Substr

from workbench.datasets.models import Instance
from workbench.evaluations.models import Evaluation, RunScore
from workbench.experiments.models import Configuration
from workbench.results import statistics
from workbench.results.differences import Difference, differing_settings
from workbench.results.table import Choice, Metric, Values, bootstrap_pair, measured

EXCERPT = 400
TARGET = 0.10
"""The difference that the sentence about more instances speaks of: ten points."""


class Pairing(NamedTuple):
    """Instance keys by who did better; `missing_*`: only the other one has a score there."""

    won: tuple[str, ...]
    lost: tuple[str, ...]
    tied: tuple[str, ...]
    missing_in_a: tuple[str, ...]
    missing_in_b: tuple[str, ...]

    @property
    def aligned(self) -> int:
        return len(self.won) + len(self.lost) + len(self.tied)


class Comparison(NamedTuple):
    """All of the page. `difference` is a − b; `p_value` only where every instance passed or did not."""

    a: Configuration
    b: Configuration
    evaluation: Evaluation
    metric: Metric
    choice: Choice
    pairing: Pairing
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    sentence: str
    more: str
    settings: list[Difference]

    @property
    def flipped(self) -> list[tuple[str, str]]:
        """Instance keys that only one won, with its letter: first those of a."""
        return [(key, "a") for key in self.pairing.won] + [(key, "b") for key in self.pairing.lost]


class Side(NamedTuple):
    """One run beside another: what it answered and what the evaluator said."""

    run_id: int
    repetition: int
    excerpt: str | None
    score: RunScore


class Flip(NamedTuple):
    """An instance that one configuration won, with the runs of both."""

    instance: Instance
    winner: str
    a: list[Side]
    b: list[Side]

    @property
    def won_a(self) -> bool:
        return self.winner == "a"

    @property
    def won_b(self) -> bool:
        return self.winner == "b"


def configurations_compare(a: Configuration, b: Configuration, evaluation: Evaluation, choice: Choice) -> Comparison:
    """The comparison of a with b under one evaluation."""
    metric, values = measured(evaluation, choice)
    ours, theirs = values.get(a.pk, {}), values.get(b.pk, {})
    pairing = paired(ours, theirs, higher_is_better=metric.higher_is_better)
    common = ours.keys() & theirs.keys()
    estimate = bootstrap_pair(tuple(sorted(ours.items())), tuple(sorted(theirs.items())), 0.95)
    p_value = mcnemar_p(metric, pairing, ours, theirs)
    low, high = estimate.low, estimate.high
    return Comparison(
        a,
        b,
        evaluation,
        metric,
        choice,
        pairing,
        mean({key: ours[key] for key in common}),
        mean({key: theirs[key] for key in common}),
        estimate.mean,
        low,
        high,
        p_value,
        verdict(a.label, b.label, metric, pairing, (low, high), p_value),
        more_needed(metric, pairing, p_value),
        differing_settings([a, b]),
    )


def paired(a: Values, b: Values, *, higher_is_better: bool) -> Pairing:
    """Each instance with whoever did better on it, in the order of `a`."""
    sides: dict[int, list[str]] = defaultdict(list)
    for key, value in a.items():
        if key in b:
            ahead = (value > b[key]) - (value < b[key])
            sides[ahead if higher_is_better else -ahead].append(key)
    return Pairing(
        tuple(sides[1]),
        tuple(sides[-1]),
        tuple(sides[0]),
        tuple(key for key in b if key not in a),
        tuple(key for key in a if key not in b),
    )


def mean(values: Mapping[str, float]) -> float | None:
    return sum(values.values()) / len(values) if values else None


def mcnemar_p(metric: Metric, pairing: Pairing, a: Values, b: Values) -> float | None:
    """The exact test, where each instance simply passed or did not."""
    binary = metric.is_rate and all(number in (0.0, 1.0) for number in [*a.values(), *b.values()])
    return statistics.mcnemar(len(pairing.won), len(pairing.lost)).p_value if binary and pairing.aligned else None


# --- in words


def verdict(
    a: str, b: str, metric: Metric, pairing: Pairing, interval: tuple[float | None, float | None], p: float | None
) -> str:
    """What the data show, in one sentence."""
    if not pairing.aligned:
        return "They have no judged instance in common, so there is nothing to compare."
    if not pairing.won and not pairing.lost:
        return f"No instance differs: {a} and {b} did equally well on all {pairing.aligned:,} that both have."
    better = a if len(pairing.won) >= len(pairing.lost) else b
    ahead = ahead_by(metric, interval, pairing, p)
    if ahead is None:
        return f"Not distinguishable: {reason_of_doubt(pairing, p)}"
    better = a if ahead else b
    return f"{better} is better: {counts(a, b, pairing)}{f'; exact McNemar p = {p_text(p)}' if p is not None else ''}."


def ahead_by(
    metric: Metric, interval: tuple[float | None, float | None], pairing: Pairing, p: float | None
) -> bool | None:
    """True: a is better; False: b is; None: the data can't tell."""
    low, high = interval
    if p is not None:
        return len(pairing.won) > len(pairing.lost) if p <= 0.05 else None
    if low is None or high is None or pairing.aligned < statistics.smallest_significant_flips():
        return None
    if low > 0:
        return metric.higher_is_better
    return not metric.higher_is_better if high < 0 else None


def reason_of_doubt(pairing: Pairing, p: float | None) -> str:
    """Why it can't be told."""
    flipped, fewest = len(pairing.won) + len(pairing.lost), statistics.smallest_significant_flips()
    if p is None:
        if pairing.aligned < fewest:
            return f"{pairing.aligned} instances are too few to tell anything."
        return "the interval of the difference holds 0."
    if flipped < fewest:
        few = f"only {flipped} of {pairing.aligned:,} instances differ"
        return f"{few}; it takes {fewest} in one direction to show anything."
    return f"a difference this large comes by chance with p = {p_text(p)} (exact McNemar)."


def counts(a: str, b: str, pairing: Pairing) -> str:
    return f"{len(pairing.won):,} instances for {a}, {len(pairing.lost):,} for {b}, {len(pairing.tied):,} tied"


def p_text(p: float | None) -> str:
    """A p-value with two digits; never 0."""
    return "unknown" if p is None else "below 0.0001" if p < 0.0001 else f"{p:.2g}"


def more_needed(metric: Metric, pairing: Pairing, p: float | None) -> str:
    """How many instances would show ten points, at the share of instances that differ here."""
    flipped = len(pairing.won) + len(pairing.lost)
    if p is None or p <= 0.05 or not pairing.aligned:
        return ""
    discordant = flipped / pairing.aligned
    if discordant < TARGET:
        return ""
    needed = statistics.sample_size_binary(discordant, TARGET).instances
    return f"To show 10 points where {discordant:.0%} of the instances differ takes about {needed:,} instances."


# --- the instances that flipped


def flips_with_runs(comparison: Comparison, chosen: list[tuple[str, str]]) -> list[Flip]:
    """These instances, each with the runs of both sides, in two queries."""
    keys = [key for key, _ in chosen]
    version = comparison.evaluation.experiment.dataset_version_id
    instances = {one.key: one for one in Instance.objects.filter(version_id=version, key__in=keys).defer("files")}
    sides: dict[tuple[str, int], list[Side]] = defaultdict(list)
    scores = (
        RunScore.objects.filter(
            evaluation=comparison.evaluation,
            run__configuration__in=[comparison.a, comparison.b],
            run__instance__in=instances.values(),
        )
        .select_related("run__instance")
        .defer("run__output", "run__outputs", "run__input", "run__instance__files", "run__instance__problem")
        .annotate(excerpt=Substr("run__output", 1, EXCERPT))
        .order_by("run__repetition")
    )
    for score in scores:
        run = score.run
        key = run.instance.key if run.instance else ""
        sides[key, run.configuration_id or 0].append(Side(run.pk, run.repetition, score.excerpt, score))
    return [
        Flip(instances[key], winner, sides[key, comparison.a.pk], sides[key, comparison.b.pk])
        for key, winner in chosen
        if key in instances
    ]
