from __future__ import annotations

from decimal import Decimal

import pytest

from tests.evaluations.rows import make_experiment
from workbench.results.table import Choice, result_table

pytestmark = pytest.mark.django_db

FAILED = {"status": "failed", "code": "timeout", "output": None}
UNPRICED = {"output": "yes", "cost_usd": None, "unpriced_calls": 2}


def test_pass_rate_has_wilsons_interval_and_says_what_is_left_out(judged):
    experiment = make_experiment({"solo": ["yes", "yes", "no", FAILED, None]}, references=["yes"] * 5)

    table = result_table(experiment, judged(experiment), Choice())

    row = table.rows[0]
    assert table.metric.name == "exact_match pass rate"
    assert row.outcome.value == pytest.approx(2 / 3)
    assert (row.outcome.low, row.outcome.high) == (pytest.approx(0.2077, abs=1e-4), pytest.approx(0.9385, abs=1e-4))
    assert row.outcome.interval == "Wilson"
    assert (row.outcome.n, row.outcome.instances) == (3, 5)
    assert {(one.kind, one.number) for one in row.tally.exclusions} == {("failed", 1), ("no_answer", 1)}
    assert [(one.words, one.number) for one in row.failures] == [("failed (timeout)", 1)]


def test_missing_answers_can_be_counted_as_wrong(judged):
    experiment = make_experiment({"solo": ["yes", "yes", "no", FAILED, None]}, references=["yes"] * 5)

    table = result_table(experiment, judged(experiment), Choice(missing="wrong"))

    assert table.rows[0].outcome.value == pytest.approx(2 / 5)
    assert table.rows[0].outcome.n == 5


def test_repetitions_become_one_value_first_and_n_counts_instances(judged):
    experiment = make_experiment({"solo": ["yes", "no", "yes", "yes"]}, references=["yes"] * 2, repetitions=2)
    evaluation = judged(experiment)

    mean = result_table(experiment, evaluation, Choice()).rows[0].outcome
    best = result_table(experiment, evaluation, Choice(reducer="best"))

    assert (mean.value, mean.n, mean.interval) == (0.75, 2, "bootstrap over instances")
    assert best.rows[0].outcome.value == 1.0
    assert best.metric.name == "exact_match pass rate, best of 2 repetitions"


def test_means_have_a_bootstrap_interval_and_the_evaluators_own_number_beside(judged):
    experiment = make_experiment({"solo": ["a b c d e", "a b x y z", "q"]}, references=["a b c d e", "a b c d e", "p"])

    table = result_table(experiment, judged(experiment, "bleu"), Choice())

    row = table.rows[0]
    assert table.metric.name == "mean bleu"
    assert row.outcome.interval == "bootstrap over instances"
    assert row.outcome.low <= row.outcome.value <= row.outcome.high
    assert row.together, "corpus BLEU is not the mean of sentences"


def test_unknown_money_is_neither_zero_nor_drawn(judged):
    priced = {"output": "yes", "cost_usd": Decimal("0.5")}
    experiment = make_experiment(
        {"free": [{"output": "yes", "cost_usd": Decimal(0)}] * 2, "part": [priced, UNPRICED], "dark": [UNPRICED] * 2},
        references=["yes"] * 2,
    )

    table = result_table(experiment, judged(experiment), Choice(axis="money"))

    assert [row.spent.money for row in table.rows] == [0, None, None]
    assert [row.spent.money_at_least for row in table.rows] == [None, Decimal("0.5"), None]
    assert [row.configuration.label for row in table.drawn] == ["free"]
    assert [row.configuration.label for row in table.not_drawn] == ["part", "dark"]
    assert [row.on_front for row in table.rows] == [True, False, False]


def test_tokens_that_no_call_told_are_unknown(judged):
    silent = {"output": "yes", "input_tokens": None, "output_tokens": None, "unknown_usage_calls": 2}
    experiment = make_experiment({"solo": [silent, "yes"]}, references=["yes"] * 2)

    row = result_table(experiment, judged(experiment), Choice()).rows[0]

    assert (row.spent.input_tokens, row.spent.unknown_calls, row.spent.tokens, row.cost) == (100, 2, None, None)


def test_a_run_without_calls_cost_nothing(judged):
    fields = {"model_calls": 0, "input_tokens": None, "output_tokens": None, "cost_usd": None}
    experiment = make_experiment({"literal": [{"output": "yes", **fields}]}, references=["yes"])

    row = result_table(experiment, judged(experiment), Choice(axis="money")).rows[0]

    assert (row.spent.money, row.spent.tokens, row.cost) == (0, 0, 0.0)


def test_the_best_is_only_called_so_when_every_other_is_behind(judged):
    answers = {"good": ["yes"] * 12, "poor": ["no"] * 12, "near": ["yes"] * 10 + ["no"] * 2}
    experiment = make_experiment(answers, references=["yes"] * 12)

    table = result_table(experiment, judged(experiment), Choice())

    assert [row.verdict for row in table.rows] == ["leading", "behind", "close"]
    assert table.summary == "good leads. On these instances it is not distinguishable from near; it is ahead of poor."


def test_five_instances_show_nothing_however_clear_they_look(judged):
    experiment = make_experiment({"good": ["yes"] * 5, "poor": ["no"] * 5}, references=["yes"] * 5)

    table = result_table(experiment, judged(experiment), Choice())

    assert table.summary == "good has the best number, but is not distinguishable from poor on these instances."


def test_cost_is_of_every_ended_run_failed_ones_too(judged):
    experiment = make_experiment(
        {
            "solo": [
                {"output": "yes"},
                {**FAILED, "input_tokens": 300, "output_tokens": 0},
                {"status": "queued", "output": None, "model_calls": 0, "input_tokens": None, "output_tokens": None},
            ]
        },
        references=["yes"] * 3,
    )

    row = result_table(experiment, judged(experiment), Choice()).rows[0]

    assert row.spent.ended == 2
    assert row.cost == pytest.approx((120 + 300) / 2)
