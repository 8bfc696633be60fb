"""Instances that go together: the interval on the page is the clustered one, and pairs are compared by it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.urls import reverse

from tests.evaluations.rows import make_experiment

pytestmark = pytest.mark.django_db

CASE = next(
    case
    for case in json.loads((Path(__file__).parent / "data" / "statistics.json").read_text())["cases"]
    if case["id"] == "ST39"
)
T_OF_THREE = 3.182446  # 97.5 % of Student's t with three degrees of freedom


def repositories(experiment, clusters):
    """The instances, each in its cluster."""
    names = [name for name, values in clusters.items() for _ in values]
    for instance, name in zip(experiment.dataset_version.instances.order_by("position"), names, strict=True):
        instance.metadata = {"repository": name, "number": instance.position}
        instance.save()


def table(client, experiment, **query):
    response = client.get(reverse("results_detail", args=[experiment.pk]), query)
    return response.content.decode(), response.context["table"]


def test_the_published_case_holds_on_the_page(client, judged):
    values = [value for row in CASE["input"]["clusters"].values() for value in row]
    experiment = make_experiment({"solo": ["yes" if value else "no" for value in values]}, ["yes"] * len(values))
    repositories(experiment, CASE["input"]["clusters"])
    judged(experiment)

    page, plain = table(client, experiment)
    _, clustered = table(client, experiment, cluster="repository")

    outcome = clustered.rows[0].outcome
    half = T_OF_THREE * CASE["expected"]["standard_error_small_sample"]
    assert "those of one repository" in page
    assert "those of one number" not in page  # each has its own: nothing goes together
    assert plain.rows[0].outcome.interval == "Wilson"
    assert outcome.interval == "t over 4 clusters (repository)"
    assert outcome.value == pytest.approx(CASE["expected"]["mean"])
    assert outcome.low == pytest.approx(max(0, 0.5 - half), abs=1e-6)
    assert outcome.high == pytest.approx(min(1, 0.5 + half), abs=1e-6)


def test_a_difference_that_a_few_clusters_make_is_none(client, judged):
    experiment = make_experiment({"a": ["yes"] * 16, "b": ["no"] * 8 + ["yes"] * 8}, ["yes"] * 16)
    repositories(experiment, {name: range(4) for name in "wxyz"})
    judged(experiment)

    _, plain = table(client, experiment)
    _, clustered = table(client, experiment, cluster="repository")

    assert [row.verdict for row in plain.rows] == ["best", "behind"]
    assert [row.verdict for row in clustered.rows] == ["leading", "close"]


def test_a_field_that_is_not_there_is_the_default(client, judged):
    experiment = make_experiment({"a": ["yes"] * 4})
    judged(experiment)

    assert table(client, experiment, cluster="nope")[1].rows[0].outcome.interval == "Wilson"
