"""What the scores of an experiment can and cannot show: intervals, paired comparisons, sample sizes, the Pareto front.

Pure functions. Everywhere a repetition belongs to its instance: repetitions are averaged first, and n counts instances.
Where no value can be given there is None, never 0. Shares and scores keep the unit they came in.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special  # scipy.stats would take two seconds to load

Repetitions = Mapping[str, Sequence[float]]
"""Instance id → one value per repetition."""

RESAMPLES = 10_000
_CELLS_AT_ONCE = 4_000_000  # 32 MB of draws at a time, however many instances there are


class Interval(NamedTuple):
    """Where the value lies with the stated confidence; None and None when there is nothing to say it from."""

    low: float | None
    high: float | None


class Estimate(NamedTuple):
    """A mean over `n` instances with its bootstrap interval, and what is needed to get the same interval again."""

    mean: float | None
    low: float | None
    high: float | None
    n: int
    standard_error: float | None
    seed: int
    resamples: int


class Mean(NamedTuple):
    """A mean over `n` instances and its standard error (None below two instances)."""

    mean: float | None
    standard_error: float | None
    n: int


class Clustered(NamedTuple):
    """A mean with its standard error over clusters, the small-sample form of it, and the one that ignores clusters."""

    mean: float | None
    clusters: int
    standard_error: float | None
    small_sample: float | None
    naive: float | None


class Difference(NamedTuple):
    """Mean of a − b over the `n` instances that both have, its standard error and its t interval."""

    n: int
    difference: float | None
    standard_error: float | None
    unpaired_standard_error: float | None
    low: float | None
    high: float | None


class PairedTest(NamedTuple):
    """Two-sided p-values: the exact one, and its less cautious mid-p form."""

    p_value: float
    mid_p: float


class Flips(NamedTuple):
    """Instance ids by who passed, with the exact McNemar test over those that flipped."""

    both: tuple[str, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    neither: tuple[str, ...]
    missing_in_a: tuple[str, ...]
    missing_in_b: tuple[str, ...]
    p_value: float
    mid_p: float

    @property
    def aligned(self) -> int:
        """How many instances both have."""
        return len(self.both) + len(self.only_a) + len(self.only_b) + len(self.neither)


class SampleSize(NamedTuple):
    """How many instances a comparison needs, and the number before rounding up."""

    instances: int
    unrounded: float


class Denominator(NamedTuple):
    """The pass rate over the `n` cells that count."""

    n: int
    excluded: int
    rate: float | None


# --- one configuration


def wilson(passed: int, n: int, confidence: float = 0.95) -> Interval:
    """Wilson score interval of a pass rate, as shares of 1.

    (p + z²/2n ± z √(p(1−p)/n + z²/4n²)) / (1 + z²/n), with p = passed/n. Wilson 1927, JASA 22:209.
    """
    if not 0 <= passed <= n:
        raise ValueError("passed must lie between 0 and n")
    if n == 0:
        return Interval(None, None)
    z = float(special.ndtri(0.5 + confidence / 2))
    share = passed / n
    centre = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return Interval(max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale))


def instance_means(values: Repetitions) -> dict[str, float]:
    """One value per instance: the mean of its repetitions. Instances without any value are left out."""
    return {key: math.fsum(row) / len(row) for key, row in values.items() if len(row)}


def mean_of(values: Repetitions) -> Mean:
    """Mean over instances and s(q)/√n, where q are the instances' means and s divides by n−1."""
    means = np.array(list(instance_means(values).values()))
    return Mean(_mean(means), _standard_error(means), len(means))


def bootstrap_mean(
    values: Repetitions, seed: int = 0, resamples: int = RESAMPLES, confidence: float = 0.95
) -> Estimate:
    """Mean over instances with a percentile bootstrap interval.

    Instances are drawn with replacement, each with all its repetitions. The same seed and number of resamples give the
    same interval; the order of the instances does not matter. Efron & Tibshirani 1993, ch. 13.
    """
    means = instance_means(values)
    return _bootstrap(np.array([means[key] for key in sorted(means)]), seed, resamples, confidence)


def clustered(clusters: Mapping[str, Sequence[float]]) -> Clustered:
    """Mean over all instances, and its standard error where instances of one cluster (a repository) go together.

    √(Σ_c (Σ_{i∈c} (xᵢ − x̄))²) / n; the small-sample form is that times √(C/(C−1)). One cluster says nothing.
    """
    rows = [np.asarray(row, dtype=float) for row in clusters.values() if len(row)]
    values = np.concatenate(rows) if rows else np.array([])
    if len(rows) < 2:
        return Clustered(_mean(values), len(rows), None, None, _standard_error(values))
    centre = float(values.mean())
    error = math.sqrt(sum(float((row - centre).sum()) ** 2 for row in rows)) / len(values)
    small = error * math.sqrt(len(rows) / (len(rows) - 1))
    return Clustered(centre, len(rows), error, small, _standard_error(values))


def pass_at_k(n: int, passed: int, k: int) -> float:
    """Chance that one of k samples passes: 1 − C(n−c, k)/C(n, k). Chen et al. 2021, arXiv:2107.03374."""
    _check_samples(n, passed, k)
    return 1 - math.comb(n - passed, k) / math.comb(n, k)


def pass_hat_k(n: int, passed: int, k: int) -> float:
    """Chance that all of k samples pass (pass^k): C(c, k)/C(n, k). Yao et al. 2024, arXiv:2406.12045."""
    _check_samples(n, passed, k)
    return math.comb(passed, k) / math.comb(n, k)


def denominator(cells: Mapping[str, int], rule: Literal["default", "all", "judged_only"] = "default") -> Denominator:
    """Pass rate by cell status (status → count): `resolved` over the cells that count.

    `default` leaves out `infra_error` and `not_scored`, `all` nothing, `judged_only` keeps resolved and unresolved.
    """
    total = sum(cells.values())
    counted = {
        "default": total - cells.get("infra_error", 0) - cells.get("not_scored", 0),
        "all": total,
        "judged_only": cells.get("resolved", 0) + cells.get("unresolved", 0),
    }[rule]
    return Denominator(counted, total - counted, cells.get("resolved", 0) / counted if counted else None)


# --- two configurations, joined on instance id


def paired_difference(a: Repetitions, b: Repetitions, confidence: float = 0.95) -> Difference:
    """Mean of dᵢ = aᵢ − bᵢ, s(d)/√n, and the t interval with n−1 degrees of freedom.

    `unpaired_standard_error` is √(s(a)²/n + s(b)²/n): what ignoring the pairs would have cost.
    """
    left, right = _aligned(a, b)
    differences = left - right
    n = len(differences)
    error = _standard_error(differences)
    if error is None:
        return Difference(n, _mean(differences), None, None, None, None)
    unpaired = math.sqrt(float(left.var(ddof=1) + right.var(ddof=1)) / n)
    mean = float(differences.mean())
    low, high = t_interval(mean, error, n - 1, confidence)
    return Difference(n, mean, error, unpaired, low, high)


def t_interval(mean: float, error: float, freedom: int, confidence: float = 0.95) -> Interval:
    """The interval around a mean with that standard error, by Student's t."""
    half = float(special.stdtrit(freedom, 0.5 + confidence / 2)) * error
    return Interval(mean - half, mean + half)


def bootstrap_difference(
    a: Repetitions, b: Repetitions, seed: int = 0, resamples: int = RESAMPLES, confidence: float = 0.95
) -> Estimate:
    """Mean of a − b with a percentile bootstrap interval; instances are drawn, each with all its repetitions."""
    left, right = _aligned(a, b)
    return _bootstrap(left - right, seed, resamples, confidence)


def mcnemar(only_a: int, only_b: int) -> PairedTest:
    """Exact McNemar test: are the instances that only one configuration passed a fair coin's work?

    min(1, 2 Σ_{k ≤ min(b,c)} C(b+c, k)/2^{b+c}); mid-p takes off the probability of min(b,c), or is
    1 − half of it when b = c. Fagerland, Lydersen & Laake 2013, BMC Med. Res. Methodol. 13:91.
    """
    n, fewer = only_a + only_b, min(only_a, only_b)
    if n == 0:
        return PairedTest(1.0, 1.0)
    point = math.comb(n, fewer) / 2**n
    exact = min(1.0, 2 * float(special.bdtr(fewer, n, 0.5)))
    return PairedTest(exact, 1 - point / 2 if only_a == only_b else exact - point)


def flips(a: Mapping[str, bool], b: Mapping[str, bool]) -> Flips:
    """Who passed which instance, in the order of `a`, with the exact test."""
    cells: dict[tuple[bool, bool], list[str]] = {}
    for key in a:
        if key in b:
            cells.setdefault((bool(a[key]), bool(b[key])), []).append(key)
    both, only_a, only_b, neither = (
        tuple(cells.get(cell, ())) for cell in ((True, True), (True, False), (False, True), (False, False))
    )
    missing_in_a = tuple(key for key in b if key not in a)
    missing_in_b = tuple(key for key in a if key not in b)
    test = mcnemar(len(only_a), len(only_b))
    return Flips(both, only_a, only_b, neither, missing_in_a, missing_in_b, *test)


def smallest_significant_flips(alpha: float = 0.05) -> int:
    """The fewest instances flipped, all in one direction, that bring the exact p-value to `alpha`: 6 for 0.05."""
    if not 0 < alpha < 1:
        raise ValueError("alpha must lie between 0 and 1")
    count = 1
    while mcnemar(count, 0).p_value > alpha:
        count += 1
    return count


def sign_flip(differences: Sequence[float], seed: int = 0, draws: int = 100_000) -> float:
    """Two-sided permutation test of "the differences are symmetric about 0" over sign patterns.

    All 2ⁿ patterns up to 20 differences that are not 0 (zeros change no sum); above, `draws` seeded random patterns,
    counted as (hits + 1)/(draws + 1). Sums are compared with a tolerance: 0.1 + 0.2 is not 0.3 in binary.
    """
    values = np.array([value for value in differences if value])
    if not len(values):
        return 1.0
    bound = abs(math.fsum(values)) - 1e-9 * float(np.abs(values).sum())
    if len(values) > 20:
        random = np.random.default_rng(seed)
        hits = 0
        for size in _steps(draws, len(values)):
            signs = random.choice((-1.0, 1.0), size=(size, len(values)))
            hits += int(np.count_nonzero(np.abs(signs @ values) >= bound))
        return (hits + 1) / (draws + 1)
    sums: NDArray[np.float64] = np.zeros(1)
    for value in values:
        sums = np.concatenate((sums + value, sums - value))
    return float(np.mean(np.abs(sums) >= bound))


# --- many configurations


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p-values, in the order given: sorted p times m, m−1, …, running maximum, at most 1."""
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        highest = max(highest, min(1.0, p_values[index] * (len(p_values) - rank)))
        adjusted[index] = highest
    return adjusted


def pareto_front(points: Sequence[tuple[float | None, float | None]], *, higher_is_better: bool = True) -> set[int]:
    """Indices of the (outcome, cost) points that no other point beats.

    A point is beaten by one at least as good in both and better in one; ties stay. A point whose outcome or cost is
    unknown takes no part: unknown is neither 0 nor infinite.
    """
    sign = 1 if higher_is_better else -1
    known = [
        (cost, -sign * score, index)
        for index, (score, cost) in enumerate(points)
        if score is not None and cost is not None
    ]
    front: set[int] = set()
    best, best_cost = math.inf, math.inf
    for cost, loss, index in sorted(known):  # by cost: a point is beaten by a better one before it
        if loss < best or (loss == best and cost == best_cost):
            front.add(index)
            best, best_cost = loss, cost
    return front


# --- before the start


def sample_size_binary(
    discordant_rate: float, difference: float, alpha: float = 0.05, power: float = 0.8
) -> SampleSize:
    """Instances needed to see a difference in pass rates of two configurations on the same instances.

    (z_{α/2} √ψ + z_β √(ψ − δ²))² / δ², ψ = share of instances that only one passes, δ = difference, 0 < δ ≤ ψ.
    Connor 1987, Biometrics 43:207.
    """
    if not 0 < abs(difference) <= discordant_rate <= 1:
        raise ValueError("the difference must be above 0 and at most the discordant rate, which is at most 1")
    z_alpha, z_beta = _quantiles(alpha, power)
    spread = z_alpha * math.sqrt(discordant_rate) + z_beta * math.sqrt(discordant_rate - difference**2)
    return _sample_size(spread**2 / difference**2)


def sample_size_mean(
    variance_of_difference: float,
    difference: float,
    *,
    within_a: float = 0.0,
    repetitions_a: int = 1,
    within_b: float = 0.0,
    repetitions_b: int = 1,
    alpha: float = 0.05,
    power: float = 0.8,
) -> SampleSize:
    """The same for mean scores: (z_{α/2} + z_β)² (ω² + σ_A²/K_A + σ_B²/K_B) / δ².

    ω² = variance over instances of the true difference, σ² = variance within an instance, K = repetitions.
    Miller 2024, arXiv:2411.00640.
    """
    if difference == 0:
        raise ValueError("no number of instances shows a difference of 0")
    z_alpha, z_beta = _quantiles(alpha, power)
    variance = variance_of_difference + within_a / repetitions_a + within_b / repetitions_b
    return _sample_size((z_alpha + z_beta) ** 2 * variance / difference**2)


# --- helpers


def _mean(values: NDArray[np.float64]) -> float | None:
    return float(values.mean()) if len(values) else None


def _standard_error(values: NDArray[np.float64]) -> float | None:
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None


def _aligned(a: Repetitions, b: Repetitions) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    left, right = instance_means(a), instance_means(b)
    keys = sorted(left.keys() & right.keys())
    return np.array([left[key] for key in keys]), np.array([right[key] for key in keys])


def _bootstrap(values: NDArray[np.float64], seed: int, resamples: int, confidence: float) -> Estimate:
    n = len(values)
    if n == 0:
        return Estimate(None, None, None, 0, None, seed, resamples)
    if n == 1:  # one instance drawn again and again has no spread: that is ignorance, not certainty
        return Estimate(float(values[0]), None, None, 1, None, seed, resamples)
    random = np.random.default_rng(seed)
    draws = (values[random.integers(0, n, size=(size, n))].mean(axis=1) for size in _steps(resamples, n))
    means = np.concatenate(list(draws))
    tail = 50 * (1 - confidence)
    low, high = np.percentile(means, [tail, 100 - tail])
    error = float(means.std(ddof=1))
    return Estimate(float(values.mean()), float(low), float(high), n, error, seed, resamples)


def _steps(total: int, width: int) -> Iterator[int]:
    """`total` rows in portions, so that a portion of rows that wide fits the memory."""
    step = max(1, _CELLS_AT_ONCE // width)
    for start in range(0, total, step):
        yield min(step, total - start)


def _check_samples(n: int, passed: int, k: int) -> None:
    if not 0 <= passed <= n:
        raise ValueError("passed must lie between 0 and n")
    if not 1 <= k <= n:
        raise ValueError("k must lie between 1 and the number of samples")


def _quantiles(alpha: float, power: float) -> tuple[float, float]:
    return float(special.ndtri(1 - alpha / 2)), float(special.ndtri(power))


def _sample_size(unrounded: float) -> SampleSize:
    return SampleSize(math.ceil(unrounded), unrounded)
