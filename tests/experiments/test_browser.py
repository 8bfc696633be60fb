"""The pages of experiments and runs in a real browser: clean for axe in both themes, narrow, and alive."""

from __future__ import annotations

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.experiments.rows import make_dataset, make_experiment, make_run
from tests.experiments.test_pages import form_data
from tests.experiments.test_run_pages import visit, write
from workbench.experiments.models import Experiment, Run

pytestmark = pytest.mark.browser


def test_every_page_is_usable_by_everybody(live, page, well_made, client, topologies):
    client.post(reverse("experiment_create"), form_data(str(make_dataset(3))))
    draft = Experiment.objects.get()
    finished = make_experiment(3, labels=("a", "b"), status="finished", run={"status": "succeeded", "model_calls": 1})
    run = make_run(status="succeeded", output="An answer", model_calls=2, started_at=timezone.now())
    write(run, *visit("writer", 1), *visit("reviewer", 1, fired=(1,), reasoning="Hm."))
    paths = [
        reverse("experiment_list"), reverse("experiment_create"), draft.get_absolute_url(), finished.get_absolute_url(),
        reverse("experiment_delete", args=[draft.pk]),
        reverse("run_list"), run.get_absolute_url(), reverse("run_visit", args=[run.pk, "reviewer", 1]),
        reverse("run_events", args=[run.pk]),
    ]  # fmt: skip

    for path in paths:
        page.goto(live + path)
        page.wait_for_load_state("networkidle")
        well_made(page)


def test_progress_is_seen_within_a_second_or_two_and_the_end_shows_itself(live, page):
    experiment = make_experiment(4)
    page.goto(live + experiment.get_absolute_url())
    assert "4 queued" in page.inner_text("#progress")

    Run.objects.filter(pk=experiment.runs.first().pk).update(status="succeeded", ended_at=timezone.now())
    page.wait_for_selector("#progress :text('1 succeeded')", timeout=3000)

    experiment.runs.update(status="succeeded", ended_at=timezone.now())
    Experiment.objects.update(status="finished", ended_at=timezone.now())
    page.wait_for_selector("h1 .badge-finished", timeout=5000)
    assert page.get_attribute("#progress", "hx-get") is None


def test_a_run_is_watched_as_it_happens(live, page):
    run = make_run(started_at=timezone.now())
    page.goto(live + run.get_absolute_url())
    assert "Nothing has been visited yet." in page.inner_text("#visits")

    write(run, *visit("writer", 1))
    page.wait_for_selector("#visits >> text=writer", timeout=3000)

    Run.objects.filter(pk=run.pk).update(status="succeeded", output="There it is", ended_at=timezone.now())
    page.wait_for_selector("text=There it is", timeout=3000)
    assert page.get_attribute("#run", "hx-get") is None


def test_another_evaluator_shows_its_options_at_once_and_the_hand_stays_where_it_was(live, page, well_made, topologies):
    make_dataset(2)
    page.goto(live + reverse("experiment_create"))
    page.fill("#id_name", "Typed before")

    page.focus("#id_evaluator-0-name")
    page.select_option("#id_evaluator-0-name", "bleu")
    page.wait_for_selector("[name=evaluator-0-option-smooth_method]")

    assert page.locator("[name=evaluator-0-option-casefold]").count() == 0
    assert page.input_value("#id_name") == "Typed before"
    assert page.evaluate("document.activeElement.id") == "id_evaluator-0-name"
    well_made(page)


def test_a_draft_is_planned_and_started_by_keyboard_and_click(live, page, topologies):
    make_dataset(2)
    page.goto(live + reverse("experiment_create"))
    page.fill("#id_name", "From the browser")
    page.click("text=Add a configuration")
    page.click("button:has-text('Remove'):near(:text('Configuration 2'))")
    page.click("text=Save and see the plan")
    page.wait_for_selector("text=What this starts")
    page.wait_for_selector("#providers")

    page.click("button.button-big")

    page.wait_for_selector("h1 .badge-running")
    assert Experiment.objects.get(name="From the browser").runs.count() == 2
