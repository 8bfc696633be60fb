"""Statistics: every published case holds, and what can't be said is not said."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path

import numpy as np
import pytest

from workbench.results import statistics as s

CASES = json.loads((Path(__file__).parent / "data" / "statistics.json").read_text())["cases"]


def by_position(values):
    return {f"i{number}": [value] for number, value in enumerate(values)}


def rows(values):
    return {f"i{number}": row for number, row in enumerate(values)}


def wilson_interval(given, case):
    return s.wilson(given["successes"], given["n"], given["confidence"])._asdict()


def mcnemar_exact(given, case):
    return s.mcnemar(**given)._asdict()


def flip_table(given, case):
    found = s.flips(given["a"], given["b"])
    counts = {key: len(value) for key, value in found._asdict().items() if isinstance(value, tuple)}
    return {**counts, "aligned": found.aligned, "p_value": found.p_value}


def paired_difference(given, case):
    found = s.paired_difference(by_position(given["a"]), by_position(given["b"]))
    return {**found._asdict(), "t_interval_95": [found.low, found.high]}


def standard_error_of_mean(given, case):
    return s.mean_of(by_position(given["values"]))._asdict()


def repetitions(given, case):
    found = s.mean_of(rows(given["rows_are_instances"]))
    cells = [[cell] for row in given["rows_are_instances"] for cell in row]
    naive = s.mean_of(rows(cells)).standard_error
    return {
        "mean": found.mean,
        "standard_error_over_instances": found.standard_error,
        "wrong_naive_standard_error_over_cells": naive,
    }


def clustered_standard_error(given, case):
    found = s.clustered(given["clusters"])
    return {
        "mean": found.mean,
        "clusters": found.clusters,
        "standard_error_clustered": found.standard_error,
        "standard_error_small_sample": found.small_sample,
        "naive_standard_error": found.naive,
    }


def sign_flip_test(given, case):
    return {"p_value": s.sign_flip(given["differences"])}


def pass_at_k(given, case):
    return {"pass_at_k": s.pass_at_k(given["n"], given["c"], given["k"])}


def pass_hat_k(given, case):
    return {"pass_hat_k": s.pass_hat_k(given["n"], given["c"], given["k"])}


def pass_k_over_instances(given, case):
    counts, k = [(len(row), sum(row)) for row in given["rows_are_instances"]], given["k"]
    return {
        "pass_at_1": np.mean([s.pass_at_k(n, c, 1) for n, c in counts]),
        "pass_at_k": np.mean([s.pass_at_k(n, c, k) for n, c in counts]),
        "pass_hat_k": np.mean([s.pass_hat_k(n, c, k) for n, c in counts]),
    }


def sample_size_paired_binary(given, case):
    return s.sample_size_binary(**given)._asdict()


def sample_size_paired_mean(given, case):
    return s.sample_size_mean(
        given["variance_of_instance_difference"],
        given["difference"],
        within_a=given["within_variance_a"],
        repetitions_a=given["repetitions_a"],
        within_b=given["within_variance_b"],
        repetitions_b=given["repetitions_b"],
        alpha=given["alpha"],
        power=given["power"],
    )._asdict()


def smallest_significant_flips(given, case):
    count = s.smallest_significant_flips(given["alpha"])
    return {"one_sided_flips": count, "p_value": s.mcnemar(count, 0).p_value}


def holm(given, case):
    return {"adjusted": s.holm(given["p_values"])}


def pareto_front(given, case):
    points = given["points"]
    front = s.pareto_front([(point["score"], point["cost"]) for point in points])
    known = {index for index, point in enumerate(points) if point["cost"] is not None}
    named = {"front": front, "dominated": known - front, "cost_unknown": set(range(len(points))) - known}
    return {key: sorted(points[index]["name"] for index in found) for key, found in named.items()}


def denominator(given, case):
    return {rule: s.denominator(given["cells"], rule)._asdict() for rule in case["expected"]}


KINDS = {
    function.__name__: function
    for function in (
        wilson_interval, mcnemar_exact, flip_table, paired_difference, standard_error_of_mean, repetitions,
        clustered_standard_error, sign_flip_test, pass_at_k, pass_hat_k, pass_k_over_instances,
        sample_size_paired_binary, sample_size_paired_mean, smallest_significant_flips, holm, pareto_front, denominator,
    )
}  # fmt: skip
BOOTSTRAP = {"paired_bootstrap", "bootstrap_reproducible"}


def agrees(found, expected, tolerance):
    if isinstance(expected, dict):
        return all(agrees(found[key], expected[key], tolerance) for key in expected)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(agrees, found, expected, [tolerance] * len(expected)))
    if isinstance(expected, str) or expected is None:
        return found == expected
    return found is not None and math.isclose(found, expected, rel_tol=0, abs_tol=tolerance)


@pytest.mark.parametrize(
    "case", [case for case in CASES if case["kind"] not in BOOTSTRAP], ids=lambda case: f"{case['id']}-{case['kind']}"
)
def test_published_case_holds(case):
    found = KINDS[case["kind"]](case["input"], case)

    assert agrees(found, case["expected"], case["tolerance"]), found


@pytest.mark.parametrize("seed", [0, 1, 7, 12345])
@pytest.mark.parametrize("case", [case for case in CASES if case["kind"] == "paired_bootstrap"], ids=lambda c: c["id"])
def test_bootstrap_agrees_with_the_exact_resampling_distribution_for_any_seed(case, seed):
    given, expected = case["input"], case["expected"]

    found = s.bootstrap_difference(by_position(given["a"]), by_position(given["b"]), seed, given["resamples"])

    tolerance = expected["interval_tolerance"] + 1e-9
    error = expected["bootstrap_standard_error"]
    assert found.mean == pytest.approx(expected["difference"], abs=case["tolerance"])
    assert [found.low, found.high] == pytest.approx(expected["percentile_interval_95"], abs=tolerance)
    assert abs(found.standard_error - error) <= expected["standard_error_relative_tolerance"] * error + 1e-12


def test_same_seed_gives_the_same_interval_and_both_numbers_are_kept():
    given = next(case["input"] for case in CASES if case["kind"] == "bootstrap_reproducible")
    arguments = by_position(given["a"]), by_position(given["b"]), given["seed"], given["resamples"]

    first, second = s.bootstrap_difference(*arguments), s.bootstrap_difference(*arguments)

    assert first == second
    assert (first.seed, first.resamples) == (7, 10_000)


def test_every_kind_of_the_published_cases_is_covered():
    assert {case["kind"] for case in CASES} == KINDS.keys() | BOOTSTRAP


def test_bootstrap_averages_repetitions_first_and_ignores_the_order_of_instances():
    values = {"a": [1, 1, 1, 0], "b": [0], "c": [1, 0]}

    found = s.bootstrap_mean(values, seed=3)

    assert found.mean == pytest.approx((0.75 + 0 + 0.5) / 3)
    assert found.n == 3
    assert found == s.bootstrap_mean(dict(reversed(values.items())), seed=3)


def test_bootstrap_of_nothing_and_of_one_instance_gives_no_interval():
    nothing, one = s.bootstrap_mean({}), s.bootstrap_mean({"a": [0.5, 1.0], "b": []})

    assert (nothing.mean, nothing.low, nothing.high, nothing.n) == (None, None, None, 0)
    assert (one.mean, one.low, one.high, one.n) == (0.75, None, None, 1)


def test_bootstrap_of_a_thousand_instances_is_quick():
    values = {str(number): [number % 7 / 7] for number in range(1000)}
    start = time.perf_counter()

    found = s.bootstrap_mean(values, seed=1)

    assert time.perf_counter() - start < 5  # about 0.1 s when the machine is quiet
    assert found.low < found.mean < found.high


def test_difference_needs_two_instances_that_both_have():
    found = s.paired_difference({"a": [1], "b": [0]}, {"a": [0], "c": [1]})

    assert (found.n, found.difference, found.standard_error, found.low) == (1, 1.0, None, None)


def test_flips_name_the_instances_and_those_that_only_one_side_has():
    found = s.flips({"x": True, "y": True, "z": False}, {"y": False, "z": False, "w": True})

    assert found.only_a == ("y",)
    assert found.neither == ("z",)
    assert (found.missing_in_a, found.missing_in_b) == (("w",), ("x",))


def test_sign_flip_above_twenty_differences_draws_with_a_seed():
    differences = [1.0, -0.5, 0.25] * 10

    first = s.sign_flip(differences, seed=1, draws=2000)

    assert first == s.sign_flip(differences, seed=1, draws=2000)
    assert 0 < first < 0.2


def test_pareto_front_keeps_ties_and_can_be_turned_round():
    points = [(0.5, 1.0), (0.5, 1.0), (None, 0.1), (0.2, 2.0)]

    assert s.pareto_front(points) == {0, 1}
    assert s.pareto_front(points, higher_is_better=False) == {0, 1, 3}


@pytest.mark.parametrize(
    "call",
    [
        lambda: s.wilson(3, 2),
        lambda: s.pass_at_k(2, 1, 3),
        lambda: s.pass_hat_k(2, 3, 1),
        lambda: s.sample_size_binary(0.1, 0.2),
        lambda: s.sample_size_mean(0.1, 0),
        lambda: s.smallest_significant_flips(0),
    ],
)
def test_impossible_input_is_refused(call):
    with pytest.raises(ValueError):
        call()
