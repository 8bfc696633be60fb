from __future__ import annotations

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.evaluations.rows import make_experiment
from workbench.evaluations.models import Evaluation
from workbench.evaluations.services import evaluation_start
from workbench.evaluations.tasks import evaluation_run_task

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
VALID = {"evaluator": "echo_judge", "case": "fold", "limit": "12", "strict": "on", "words": "one\ntwo\n"}


@pytest.fixture
def experiment():
    return make_experiment({"solo": ["yes", "no", None, "<b>bold</b>"], "team": ["yes"] * 4})


def judged(experiment, evaluator="echo_judge"):
    evaluation = evaluation_start(experiment, evaluator)
    evaluation_run_task(evaluation.pk)
    return evaluation


def test_form_lists_every_evaluator_with_its_docstring_and_a_field_for_each_option(client, experiment):
    text = client.get(reverse("experiment_evaluations", args=[experiment.pk])).content.decode()

    assert "Passes an answer that is its reference." in text
    assert "A second paragraph, with details." in text
    assert 'id="id_echo_judge_case"' in text
    assert "Longest answer" in text
    assert 'min="1"' in text
    assert "Whether capitals count." in text
    assert "8 of 8 runs have ended" in text


def test_the_same_address_is_a_fragment_for_the_experiments_page(client, experiment):
    text = client.get(reverse("experiment_evaluations", args=[experiment.pk]), headers=HTMX).content.decode()

    assert "<html" not in text
    assert "Judge with echo_judge" in text


def test_sending_the_form_queues_the_evaluation_and_leads_to_it(client, experiment):
    response = client.post(reverse("evaluation_create", args=[experiment.pk]), VALID)

    evaluation = Evaluation.objects.get()
    assert response.url == reverse("evaluation_detail", args=[evaluation.pk])
    assert evaluation.options == {
        "case": "fold",
        "limit": 12,
        "strict": True,
        "words": ["one", "two"],
        "weight": None,
    }


def test_judging_the_same_runs_in_the_same_way_again_is_asked_about_first(client, experiment):
    first = judged(experiment)
    same = {"evaluator": "echo_judge", "limit": "5", "case": "keep", "words": ""}
    first.options = {"case": "keep", "limit": 5, "strict": False, "words": [], "weight": None}
    first.save()
    address = reverse("evaluation_create", args=[experiment.pk])

    asked = client.post(address, same).content.decode()
    client.post(address, {**same, "limit": "6"})
    client.post(address, {**same, "again": "1"})
    experiment.runs.filter(pk=experiment.runs.first().pk).update(ended_at=timezone.now())
    client.post(address, same)

    assert "has judged these runs with these options already" in asked
    assert first.get_absolute_url() in asked
    assert Evaluation.objects.count() == 4


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"limit": "0"}, "greater than or equal to 1"),
        ({"case": "sideways"}, "Select a valid choice"),
        ({"words": "missing"}, "The tool &#x27;sieve&#x27; is missing."),
        ({"evaluator": "../../etc"}, "There is no evaluator"),
    ],
)
def test_what_is_wrong_is_said_beside_the_form_and_nothing_is_started(client, experiment, change, sentence):
    response = client.post(reverse("evaluation_create", args=[experiment.pk]), {**VALID, **change})

    assert response.status_code == 422
    assert sentence in response.content.decode()
    assert not Evaluation.objects.exists()


def test_page_shows_metrics_scores_reasons_and_links_to_runs(client, experiment):
    evaluation = judged(experiment)

    text = client.get(evaluation.get_absolute_url()).content.decode()

    assert "3 of 4" in text
    assert "1 gave no answer" in text
    assert "✓ passed" in text
    assert "✗ not passed" in text
    assert "not scored: The run succeeded without an answer." in text
    assert "&lt;b&gt;bold&lt;/b&gt;" in text
    assert experiment.runs.first().get_absolute_url() in text
    assert "hx-trigger" not in text.partition("<main")[2], "what is finished no longer asks"


def test_page_asks_again_while_the_evaluation_is_open(client, experiment):
    evaluation = evaluation_start(experiment, "echo_judge")

    text = client.get(evaluation.get_absolute_url(), headers=HTMX).content.decode()

    assert "<html" not in text
    assert 'hx-trigger="every 2s"' in text
    assert "waits for an evaluation worker" in text


def test_scores_can_be_narrowed_to_a_configuration_and_a_verdict(client, experiment):
    evaluation = judged(experiment)
    solo = experiment.configurations.first()

    response = client.get(evaluation.get_absolute_url(), {"configuration": solo.pk, "verdict": "not_passed"})

    assert [score.run.output for score in response.context["page"]] == ["no", "<b>bold</b>"]


def test_texts_that_an_evaluator_keeps_stand_below_the_numbers(client, experiment):
    text = client.get(judged(experiment, "batch_judge").get_absolute_url()).content.decode()

    assert text.count("len|v:1") == 1


def test_queries_do_not_grow_with_the_number_of_runs(client, django_assert_num_queries):
    small = judged(make_experiment({"solo": ["yes"] * 2}, references=["yes"] * 2))
    large = judged(make_experiment({name: ["yes"] * 60 for name in "abcde"}, references=["yes"] * 60))

    for evaluation in (small, large):
        with django_assert_num_queries(7):
            client.get(evaluation.get_absolute_url())


def test_scores_of_a_run_are_a_fragment_of_its_page(client, experiment):
    judged(experiment)
    run = experiment.runs.first()

    text = client.get(reverse("run_scores", args=[run.pk]), headers=HTMX).content.decode()

    assert "echo_judge" in text
    assert "✓ passed" in text


def test_a_run_that_nobody_judged_says_so(client, experiment):
    text = client.get(reverse("run_scores", args=[experiment.runs.first().pk]), headers=HTMX).content.decode()

    assert "Not judged yet." in text


@pytest.mark.parametrize("number", ["9" * 30, "x", "%00"])
def test_a_filter_that_names_no_configuration_is_no_fault(client, experiment, number):
    evaluation = judged(experiment)

    page = client.get(f"{reverse('evaluation_detail', args=[evaluation.pk])}?configuration={number}")

    assert page.status_code == 200
