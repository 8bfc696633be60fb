from __future__ import annotations

import csv
import io
import time

import pytest
from django.urls import reverse

from tests.evaluations.rows import make_experiment
from workbench.evaluations.models import Evaluation
from workbench.results.exports import COLUMNS

pytestmark = pytest.mark.django_db

FAILED = {"status": "failed", "code": "timeout", "output": None}


@pytest.fixture
def experiment(judged):
    experiment = make_experiment(
        {"solo": ["yes"] * 3 + [FAILED], "=team": ["no"] * 3 + ["yes"]}, question="Is a team better?"
    )
    judged(experiment)
    return experiment


def results(client, experiment, **query):
    return client.get(reverse("results_detail", args=[experiment.pk]), query)


def test_page_says_question_dataset_outcome_and_cost_and_links_numbers_to_their_runs(client, experiment):
    text = results(client, experiment).content.decode()

    solo = experiment.configurations.first()
    assert "Is a team better?" in text
    assert str(experiment.dataset_version) in text
    assert "3 of 4" in text
    assert "100.0 %" in text
    assert "1 failed" in text
    link = f"{reverse('run_list')}?experiment={experiment.pk}&amp;configuration={solo.pk}&amp;status=failed&amp;code=timeout"
    assert link in text
    assert f"configuration={solo.pk}&amp;verdict=excluded" in text


def test_only_settings_that_differ_are_shown(client, experiment):
    for place, one in enumerate(experiment.configurations.all()):
        one.topology, one.overrides = "same", {"model": "a/b", "params": {"temperature": place, "seed": 1}}
        one.save()

    response = results(client, experiment)

    assert response.context["differences"] == [("params.temperature", ("0", "1"))]


def test_versions_are_told_apart_only_where_one_topology_has_several(client):
    experiment = make_experiment({"a": ["yes"] * 4, "b": ["yes"] * 4})
    one, two = experiment.configurations.all()
    two.commit = "d" * 40
    two.save()
    apart = [difference.setting for difference in results(client, experiment).context["differences"]]
    experiment.configurations.update(topology="same")
    experiment.configurations.filter(pk=one.pk).update(commit="c" * 40)

    same = [difference.setting for difference in results(client, experiment).context["differences"]]

    assert (apart, same) == (["topology"], ["version"])


def test_running_experiment_says_that_numbers_will_change(client, judged):
    experiment = make_experiment({"solo": ["yes", {"status": "queued", "output": None}]}, ["yes"] * 2, status="running")
    judged(experiment)

    assert "1 of 2 runs have ended. These numbers will change." in results(client, experiment).content.decode()


def test_runs_that_ended_after_the_evaluation_are_missed_aloud(client, judged):
    experiment = make_experiment({"solo": ["yes", {"status": "queued", "output": None}]}, references=["yes"] * 2)
    judged(experiment)
    experiment.runs.filter(status="queued").update(status="succeeded", output="yes")

    assert "1 run ended after this evaluation and is not in it." in results(client, experiment).content.decode()


def test_without_an_evaluation_costs_are_shown_and_the_way_to_one(client):
    experiment = make_experiment({"solo": ["yes"] * 4})

    text = results(client, experiment).content.decode()

    assert "Nothing is judged yet" in text
    assert "400, 80" in text


def test_failed_evaluation_shows_its_sentence(client):
    experiment = make_experiment({"solo": ["yes"] * 4})
    Evaluation.objects.create(experiment=experiment, evaluator="bleu", status="failed", reason="No references here.")

    assert "bleu failed: No references here." in results(client, experiment).content.decode()


def test_experiment_without_runs_says_how_to_get_some(client):
    assert "No run yet" in results(client, make_experiment({"solo": []}, references=[])).content.decode()


@pytest.mark.parametrize(
    "query", [{"evaluation": "99999999999999999999"}, {"evaluation": "x"}, {"axis": "'", "reducer": "?"}]
)
def test_nonsense_in_the_address_is_the_default(client, experiment, query):
    response = results(client, experiment, **query)

    assert response.status_code == 200
    assert response.context["chosen"].evaluation == experiment.evaluations.get()


def test_what_the_experiment_asked_for_comes_first(client, judged):
    experiment = make_experiment({"solo": ["yes"] * 4}, evaluators=[{"name": "exact_match"}])
    judged(experiment, "contains")
    asked = judged(experiment)

    assert results(client, experiment).context["table"].evaluation == asked


def test_csv_has_the_documented_columns_and_no_formulas(client, experiment):
    text = client.get(reverse("results_csv", args=[experiment.pk])).content.decode()

    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[0]) == [name for name, _, _ in COLUMNS]
    assert [row["configuration"] for row in rows] == ["solo", "'=team"]
    assert rows[0]["failures"] == "failed:timeout=1"
    assert rows[0]["cost_usd"] == "0.008"


def test_json_says_what_it_is_the_table_of(client, experiment):
    data = client.get(reverse("results_json", args=[experiment.pk])).json()

    assert data["format"] == "workbench.results/1"
    assert data["evaluation"]["evaluator"] == "exact_match"
    assert set(data["columns"]) == set(data["rows"][0])
    assert data["rows"][1]["value"] == 0.25


def test_queries_do_not_grow_and_pages_stay_quick(client, judged, django_assert_max_num_queries):
    small = make_experiment({"a": ["yes"] * 2, "b": ["no"] * 2}, references=["yes"] * 2)
    large = make_experiment({name: ["yes", "no"] * 50 for name in "abcde"}, references=["yes"] * 100)
    for experiment in (small, large):
        judged(experiment)
        results(client, experiment)  # loads scipy

    counts = []
    for experiment in (small, large):
        with django_assert_max_num_queries(14) as queries:
            started = time.thread_time()
            results(client, experiment)
        counts.append(len(queries))
    assert counts[0] == counts[1]
    assert time.thread_time() - started < 2


def test_repetitions_that_differ_are_counted(client, judged):
    experiment = make_experiment(
        {"steady": ["yes"] * 6, "moody": ["yes", "no", "yes", "yes", "yes", "yes"]}, ["yes"] * 2, repetitions=3
    )
    judged(experiment)

    text = results(client, experiment).content.decode()

    assert "all repetitions agree" in text
    assert "repetitions differ on 1 of 2 instances" in text


def test_prompts_that_were_cut_and_what_machines_took_stand_beside_the_numbers(client, judged):
    experiment = make_experiment({"solo": ["yes"] * 4})
    judged(experiment)
    experiment.runs.update(truncated_calls=1, machine_usd="0.05", machine_wh=2.5)
    experiment.runs.filter(pk=experiment.runs.first().pk).update(unpriced_calls=1)

    text = results(client, experiment).content.decode()

    assert "4 prompts cut by the window" in text
    assert "machine: about $0.20, 10 Wh" in text
    assert "at least $0.00800" in text
    assert "1 of 8 calls have no price" in text


def test_a_number_leads_to_exactly_its_runs(client, experiment):
    solo = experiment.configurations.first()
    narrowed = {"experiment": experiment.pk, "configuration": solo.pk, "status": "failed", "code": "timeout"}

    runs = client.get(reverse("run_list"), narrowed).context["page"].object_list

    assert list(runs) == [experiment.runs.get(status="failed")]
