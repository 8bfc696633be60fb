from __future__ import annotations

import pytest
from django.urls import reverse

from tests.evaluations.rows import make_experiment

pytestmark = pytest.mark.browser

FAILED = {"status": "failed", "code": "timeout", "output": None}


@pytest.fixture
def experiment(live, judged):
    long = "a configuration with a very long label that does not fit into a narrow column " * 2
    experiment = make_experiment(
        {"solo": ["yes"] * 3 + [FAILED], long[:190]: ["no", "a" * 300, "yes", "yes"]}, ships=True, name="N" * 120
    )
    judged(experiment)
    return experiment


def test_results_page_is_well_made_and_its_picture_is_there(live, page, well_made, experiment):
    page.goto(live + reverse("results_detail", args=[experiment.pk]))

    assert page.locator(".chart img").evaluate("image => image.complete && image.naturalWidth > 0")
    well_made(page)


def test_comparison_is_well_made(live, page, well_made, experiment):
    page.goto(live + reverse("results_compare", args=[experiment.pk]))

    well_made(page)


def test_evaluation_pages_are_well_made(live, page, well_made, experiment):
    page.goto(live + experiment.evaluations.get().get_absolute_url())
    well_made(page)
    page.goto(live + reverse("experiment_evaluations", args=[experiment.pk]))
    page.locator("summary").first.click()
    well_made(page)


def test_home_is_well_made_and_asks_the_providers_by_itself(live, page, well_made, experiment):
    page.goto(live + reverse("home"))
    page.get_by_text("scripted", exact=True).wait_for()

    well_made(page)


def test_home_of_an_empty_workbench_is_well_made(live, page, well_made):
    page.goto(live + reverse("home"))
    page.get_by_text("scripted", exact=True).wait_for()

    well_made(page)
