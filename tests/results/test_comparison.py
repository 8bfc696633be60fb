from __future__ import annotations

import pytest
from django.urls import reverse

from tests.evaluations.rows import make_experiment

pytestmark = pytest.mark.django_db

FAILED = {"status": "failed", "output": None}


def compared(client, experiment, **query):
    return client.get(reverse("results_compare", args=[experiment.pk]), query)


def test_ten_against_none_is_a_difference_and_says_so(client, judged):
    experiment = make_experiment({"good": ["yes"] * 12, "poor": ["no"] * 10 + ["yes"] * 2}, references=["yes"] * 12)
    judged(experiment)

    comparison = compared(client, experiment).context["comparison"]

    assert comparison.p_value == pytest.approx(0.001953125)
    assert comparison.difference == pytest.approx(10 / 12)
    assert comparison.low <= comparison.difference <= comparison.high
    assert comparison.sentence == (
        "good is better: 10 instances for good, 0 for poor, 2 tied; exact McNemar p = 0.002."
    )


def test_five_flips_are_not_distinguishable_and_it_says_why_and_what_would_help(client, judged):
    experiment = make_experiment({"good": ["yes"] * 8, "poor": ["no"] * 5 + ["yes"] * 3}, references=["yes"] * 8)
    judged(experiment)

    comparison = compared(client, experiment).context["comparison"]

    assert comparison.sentence == (
        "Not distinguishable: only 5 of 8 instances differ; it takes 6 in one direction to show anything."
    )
    assert comparison.more.startswith("To show 10 points where 62% of the instances differ takes about ")


def test_no_instance_differs(client, judged):
    experiment = make_experiment({"one": ["yes"] * 4, "two": ["yes"] * 4})
    judged(experiment)

    text = compared(client, experiment).content.decode()

    assert "No instance differs: one and two did equally well on all 4 that both have." in text


def test_missing_instances_are_counted_on_their_side(client, judged):
    experiment = make_experiment({"a": ["yes", FAILED, "yes", "yes"], "b": ["yes", "yes", FAILED, FAILED]})
    judged(experiment)

    pairing = compared(client, experiment).context["comparison"].pairing

    assert (pairing.aligned, pairing.missing_in_a, pairing.missing_in_b) == (1, ("i1",), ("i2", "i3"))


def test_nothing_in_common_is_said(client, judged):
    experiment = make_experiment({"a": ["yes", FAILED], "b": [FAILED, "yes"]}, references=["yes"] * 2)
    judged(experiment)

    assert "no judged instance in common" in compared(client, experiment).content.decode()


def test_flipped_instances_show_both_runs_with_links(client, judged):
    experiment = make_experiment({"a": ["yes", "no", "yes", "yes"], "b": ["yes", "yes", "<b>no</b>", "yes"]})
    judged(experiment)

    response = compared(client, experiment)

    flips = response.context["flips"]
    assert [(flip.instance.key, flip.winner) for flip in flips] == [("i2", "a"), ("i1", "b")]
    runs = {run.pk: run for run in experiment.runs.select_related("instance")}
    assert runs[flips[0].a[0].run_id].output == "yes"
    text = response.content.decode()
    assert "&lt;b&gt;no&lt;/b&gt;" in text
    for flip in flips:
        for side in (*flip.a, *flip.b):
            assert reverse("run_detail", args=[side.run_id]) in text


def test_values_without_verdicts_are_compared_by_a_paired_bootstrap(client, judged):
    sentence = "the small dog runs over the green field"
    answers = {"good": [sentence] * 8, "poor": ["the small dog sleeps in a brown box now"] * 8}
    experiment = make_experiment(answers, references=[sentence] * 8)
    judged(experiment, "bleu")

    comparison = compared(client, experiment).context["comparison"]

    assert comparison.p_value is None
    assert comparison.sentence == "good is better: 8 instances for good, 0 for poor, 0 tied."


def test_the_two_are_chosen_by_the_address(client, judged):
    experiment = make_experiment({"a": ["yes"] * 4, "b": ["yes"] * 4, "c": ["no"] * 4})
    judged(experiment)
    c, a = experiment.configurations.get(label="c"), experiment.configurations.get(label="a")

    comparison = compared(client, experiment, a=c.pk, b=a.pk).context["comparison"]

    assert (comparison.a, comparison.b) == (c, a)
    assert len(comparison.pairing.lost) == 4


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        ({"solo": ["yes"] * 4}, "has only one configuration"),
        ({"a": ["yes"] * 4, "b": ["no"] * 4}, "Nothing is judged yet"),
    ],
)
def test_where_there_is_nothing_to_compare_the_page_says_what_is_missing(client, answers, sentence):
    assert sentence in compared(client, make_experiment(answers)).content.decode()


def test_queries_do_not_grow_with_flips(client, judged, django_assert_max_num_queries):
    counts = []
    for size in (4, 100):
        experiment = make_experiment({"a": ["yes"] * size, "b": ["no"] * size}, references=["yes"] * size)
        judged(experiment)
        with django_assert_max_num_queries(14) as queries:
            compared(client, experiment)
        counts.append(len(queries))
    assert counts[0] == counts[1]
