from __future__ import annotations

from decimal import Decimal
from xml.etree import ElementTree

import pytest
from django.urls import reverse

from tests.evaluations.rows import make_experiment
from workbench.results.charts import chart_spec
from workbench.results.table import Choice, result_table

pytestmark = pytest.mark.django_db


@pytest.fixture
def experiment(judged):
    cheap = {"output": "no", "input_tokens": 10, "output_tokens": 0}
    dear = {"output": "yes", "input_tokens": 500, "output_tokens": 0}
    beaten = {"output": "no", "input_tokens": 700, "output_tokens": 0}
    unpriced = {"output": "yes", "cost_usd": None, "unpriced_calls": 2}
    experiment = make_experiment(
        {"cheap": [cheap] * 2, "<script>\x07dear": [dear] * 2, "beaten": [beaten] * 2, "dark": [unpriced] * 2},
        references=["yes"] * 2,
    )
    judged(experiment)
    return experiment


def chart(client, experiment, **query):
    return client.get(reverse("results_chart", args=[experiment.pk]), query)


def test_front_is_drawn_from_cheap_to_dear_without_the_beaten(experiment):
    table = result_table(experiment, experiment.evaluations.get(), Choice())

    front = chart_spec(table)["layer"][0]["data"]["values"]

    assert [one["letter"] for one in front] == ["A", "D"]
    assert [one["letter"] for one in chart_spec(table)["layer"][2]["data"]["values"]] == ["A", "B", "C", "D"]


def test_unknown_costs_are_not_in_the_picture(client, experiment):
    table = result_table(experiment, experiment.evaluations.get(), Choice(axis="money"))

    points = chart_spec(table)["layer"][2]["data"]["values"]

    assert [one["letter"] for one in points] == ["A", "B", "C"]
    page = client.get(reverse("results_detail", args=[experiment.pk]), {"axis": "money"}).content.decode()
    assert "Not in the picture, because money or outcome is unknown: dark." in page


def test_picture_is_well_formed_svg_and_names_stay_text(client, experiment):
    response = chart(client, experiment, theme="dark")

    svg = ElementTree.fromstring(response.content)
    assert response["Content-Type"] == "image/svg+xml"
    assert svg.tag.endswith("svg")
    texts = [element.text for element in svg.iter() if element.text]
    assert any("<script>\N{REPLACEMENT CHARACTER}dear" in text for text in texts)
    assert not [element for element in svg.iter() if element.tag.endswith("script")]


def test_png_by_request(client, experiment):
    response = chart(client, experiment, format="png")

    assert response["Content-Type"] == "image/png"
    assert response.content.startswith(b"\x89PNG")
    assert "attachment" in response["Content-Disposition"]


def test_free_configurations_are_drawn_at_zero(client, judged):
    free = {"output": "yes", "cost_usd": Decimal(0)}
    experiment = make_experiment({"local": [free] * 2}, references=["yes"] * 2)
    judged(experiment)

    assert chart(client, experiment, axis="money").content.startswith(b"<svg")


def test_without_an_evaluation_the_picture_says_so(client):
    response = chart(client, make_experiment({"solo": ["yes"] * 4}))

    assert b"Nothing to draw yet" in response.content
