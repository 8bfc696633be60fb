from __future__ import annotations

import pytest
from django.urls import reverse

from tests.evaluations.rows import make_experiment

pytestmark = pytest.mark.django_db


def home(client):
    return client.get(reverse("home")).content.decode()


def test_an_empty_workbench_shows_the_way(client):
    text = home(client)

    assert reverse("experiment_create") in text
    assert reverse("topology_list") in text
    assert reverse("home_providers") in text


def test_the_ready_made_experiment_is_one_click_away(client):
    experiment = make_experiment(
        {"solo": [], "team": []}, references=[], status="draft", ships=True, instance_keys=["a"]
    )

    text = home(client)

    assert f'action="{reverse("experiment_start", args=[experiment.pk])}"' in text
    assert "Start the experiment" in text
    assert "2 configurations × 1 problems" in text
    assert "= 2 runs" in text


def test_once_started_it_shows_how_far_it_is(client):
    answers = ["yes", "yes", {"status": "running", "output": None}, {"status": "queued", "output": None}]
    make_experiment({"solo": answers}, status="running", ships=True)

    text = home(client)

    assert "2 of 4 runs have ended" in text
    assert "Watch it" in text
    assert "Start the experiment" not in text


def test_once_judged_its_picture_leads_to_the_results(client, judged):
    experiment = make_experiment({"solo": ["yes"] * 4}, ships=True)
    judged(experiment)

    text = home(client)

    assert reverse("results_chart", args=[experiment.pk]) in text
    assert reverse("results_detail", args=[experiment.pk]) in text


def test_recent_experiments_and_runs_are_listed_with_their_state(client):
    experiment = make_experiment({"solo": ["yes"] * 4}, name="<b>Mine</b>")

    text = home(client)

    assert "&lt;b&gt;Mine&lt;/b&gt;" in text
    assert experiment.runs.last().get_absolute_url() in text


def test_queries_do_not_grow_with_experiments_and_runs(client, django_assert_max_num_queries):
    counts = []
    for _ in range(2):
        for _ in range(4):
            make_experiment({"a": ["yes"] * 4, "b": ["yes"] * 4})
        with django_assert_max_num_queries(12) as queries:
            home(client)
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_providers_answer_in_sentences_whatever_is_away(client, monkeypatch):
    monkeypatch.setenv("OLLAMA_URL", "http://127.0.0.1:9")

    text = client.get(reverse("home_providers"), headers={"HX-Request": "true"}).content.decode()

    assert "<html" not in text
    assert "scripted" in text
    assert "answers" in text
    assert "Ollama does not answer at http://127.0.0.1:9" in text
