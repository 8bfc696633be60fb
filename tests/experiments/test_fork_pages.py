"""Pages that begin from a run's journal: replay, fork of a visit, forks of an experiment."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from tests.engine.support import asks, topology
from tests.engine.test_replay import WHOLE, changed
from tests.experiments.executing import execute, queued_experiment, queued_run
from tests.experiments.test_forking import NEW, QUICK
from workbench.experiments.models import Experiment, Run
from workbench.experiments.services import run_stop
from workbench.topologies.services import topology_save

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def here(topologies):
    """A repository and workspaces of the test's own."""


@pytest.fixture
def run():
    made = queued_run(WHOLE)
    execute(made, QUICK)
    return made


@pytest.fixture
def experiment():
    made = queued_experiment(WHOLE, size=2)
    for run in made.runs.all():
        execute(run, QUICK)
    made.refresh_from_db()
    return made


def fork_url(run, node="each", visit=1):
    return reverse("run_fork", args=[run.pk, node, visit])


def settings_form(**changes):
    return {"what": "settings", "system": "S", "prompt": "Each: {{ inbox }}", "model": "scripted/x", **changes}


def text(response) -> str:
    return response.content.decode()


def test_replay_says_that_the_prediction_is_the_same(client, run):
    page = text(client.get(reverse("run_replay", args=[run.pk])))

    assert "The same prediction, byte for byte" in page


def test_replay_of_a_run_stopped_while_it_waited_finds_nothing_wrong(client):
    nodes = {"writer": asks("Write."), "person": {"type": "human"}}
    run = queued_run(topology(nodes, [("writer", "person")], end=["writer", "person"]))
    execute(run, {"nodes": {"writer": ["A draft."]}})
    run_stop(run)
    run.refresh_from_db()

    page = text(client.get(reverse("run_replay", args=[run.pk])))

    assert run.status == "stopped"
    assert "everything is as recorded" in page
    assert "is another" not in page


def test_replay_by_an_edited_topology_shows_both_sides(client, run):
    edited = {**changed(each=asks("New: {{ inbox }}")), "name": "edited"}
    topology_save("edited", json.dumps(edited), "For the test", "test")

    page = text(client.get(reverse("run_replay", args=[run.pk]), {"topology": "edited"}))

    assert "By edited it would be another run" in page
    assert "-Each: one" in page
    assert "+New: one" in page


def test_replay_by_a_topology_that_is_not_there_says_so(client, run):
    page = text(client.get(reverse("run_replay", args=[run.pk]), {"topology": "nowhere"}))

    assert "nowhere" in page
    assert "problem-error" in page


def test_fork_page_says_before_the_click_how_many_calls_are_made_again(client, run):
    response = client.get(fork_url(run))

    assert response.context["look"].again.model_calls == 3
    assert "Each: {{ inbox }}" in text(response)

    looked = client.post(fork_url(run), settings_form(prompt="Anew: {{ inbox }}", do="look"))

    assert looked.context["look"].wish.change.settings == {"prompt": "Anew: {{ inbox }}"}
    client.post(fork_url(run) + "?look=1", settings_form(do="fork"))
    assert Run.objects.count() == 1


def test_click_makes_a_fork_that_knows_its_parent(client, run):
    response = client.post(fork_url(run), settings_form(prompt="Anew: {{ inbox }}", do="fork"))

    fork = Run.objects.get(parent=run)
    assert response.url == fork.get_absolute_url()
    execute(fork, NEW)
    page = text(client.get(fork.get_absolute_url()))
    assert f"run {run.pk}</a>, left at" in page
    assert "another prompt" in page
    assert "not counted in what this run took" in page
    assert f'href="{fork.get_absolute_url()}"' in text(client.get(run.get_absolute_url()))
    rows = {row["node"]: row for row in client.get(fork.get_absolute_url()).context["visits"]}
    assert (rows["plan"]["made"], rows["plan"]["calls"], rows["each"]["calls"]) == (0, 0, 3)


def test_fork_with_a_wrong_prompt_says_what_is_wrong_and_makes_nothing(client, run):
    response = client.post(fork_url(run), settings_form(prompt="{{ nodes.nobody.output }}", do="fork"))

    assert response.status_code == 200
    assert "names node &#x27;nobody&#x27;" in text(response)
    assert Run.objects.count() == 1


def test_answer_of_a_visit_stands_in_the_form_to_be_changed(client, run):
    page = client.get(fork_url(run, "inner.1:check", 1))

    assert json.loads(page.context["form"]["answer"].value()) == {"verdict": "revise"}


def test_experiment_is_forked_at_a_node_into_a_new_one(client, experiment):
    url = reverse("experiment_fork", args=[experiment.pk])
    assert "Choose" in text(client.get(url))

    page = client.get(url, {"node": "each", "visit": 1})
    assert (page.context["look"].runs, page.context["again_calls"]) == (2, 6)

    response = client.post(url, settings_form(prompt="Anew: {{ inbox }}", node="each", visit=1, do="fork"))

    made = Experiment.objects.get(forked_from=experiment)
    assert response.url == made.get_absolute_url()
    assert "Its runs are forks of those of" in text(client.get(made.get_absolute_url()))
    assert set(made.runs.values_list("parent", flat=True)) == set(experiment.runs.values_list("pk", flat=True))


def test_experiment_without_such_a_visit_says_so(client, experiment):
    page = text(client.get(reverse("experiment_fork", args=[experiment.pk]), {"node": "nobody"}))

    assert "No run that has ended has this visit" in page


@pytest.mark.browser
def test_pages_of_replay_and_fork_are_well_made(live, page, well_made, run, experiment):
    for path in (
        reverse("run_replay", args=[run.pk]),
        fork_url(run),
        reverse("experiment_fork", args=[experiment.pk]) + "?node=each",
    ):
        page.goto(live + path)
        well_made(page)


@pytest.mark.browser
def test_choosing_another_change_asks_anew_what_it_would_cost(live, page, run):
    page.goto(live + fork_url(run))
    assert not page.get_by_label("Answer", exact=True).is_visible()

    page.get_by_label("with an answer of yours").check()
    page.get_by_label("Answer", exact=True).fill("by hand")
    page.get_by_label("Answer", exact=True).blur()

    page.locator("#look", has_text="is a map").wait_for()
