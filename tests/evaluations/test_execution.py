from __future__ import annotations

import sys
from datetime import timedelta

import pytest
from django.utils import timezone

from tests.evaluations.rows import make_experiment
from workbench.evaluations import execution
from workbench.evaluations.models import Evaluation
from workbench.evaluations.services import evaluation_start
from workbench.evaluations.tasks import evaluation_run_task

pytestmark = pytest.mark.django_db


def evaluated(experiment, evaluator="echo_judge", **given):
    evaluation = evaluation_start(experiment, evaluator, **given)
    evaluation_run_task(evaluation.pk)
    evaluation.refresh_from_db()
    return evaluation


def verdicts(evaluation):
    return [(score.value, score.passed, score.details.get("excluded")) for score in evaluation.scores.all()]


def test_every_ended_run_gets_a_score_or_the_reason_why_it_has_none():
    experiment = make_experiment(
        {
            "solo": [
                "yes",
                "no",
                None,
                {"status": "failed", "reason": "The model is away.", "output": None},
                {"status": "stopped", "output": None},
                {"status": "limit_reached", "output": "ye", "partial": True},
                {"status": "running", "output": None},
            ]
        },
        references=["yes"] * 7,
    )

    evaluation = evaluated(experiment)

    assert evaluation.status == "finished"
    assert verdicts(evaluation) == [
        (1.0, True, None),
        (0.0, False, None),
        (None, None, "no_answer"),
        (None, None, "failed"),
        (None, None, "stopped"),
        (None, None, "partial"),
    ]
    assert evaluation.scores.all()[3].details["reason"] == "The run failed: The model is away."
    configuration = experiment.configurations.get()
    assert evaluation.metrics == {str(configuration.pk): {"echo_judge": 0.5}}


def test_an_empty_answer_is_an_answer():
    evaluation = evaluated(make_experiment({"solo": [""]}, references=[""]))

    assert verdicts(evaluation) == [(1.0, True, None)]


def test_partial_answers_are_judged_when_asked_for():
    cut = {"status": "limit_reached", "output": "yes", "partial": True}

    evaluation = evaluated(make_experiment({"solo": [cut]}, references=["yes"]), include_partial=True)

    assert verdicts(evaluation) == [(1.0, True, None)]


def test_what_goes_wrong_with_one_answer_stays_with_it():
    evaluation = evaluated(make_experiment({"solo": ["refuse me", "crash", "nan", "yes"]}))

    assert evaluation.status == "finished"
    assert verdicts(evaluation) == [
        (None, None, "refused"),
        (None, None, "fault"),
        (None, None, "refused"),
        (1.0, True, None),
    ]
    reasons = [score.details.get("reason") for score in evaluation.scores.all()]
    assert reasons[0] == "This answer can't be judged."
    assert "ZeroDivisionError('a bug')" in reasons[1]


def test_an_evaluator_that_could_judge_nothing_has_failed_with_its_words():
    evaluation = evaluated(make_experiment({"solo": ["refuse me"] * 4}))

    assert evaluation.status == "failed"
    assert evaluation.reason == ("None of the 4 predictions could be judged. The first: This answer can't be judged.")


def test_a_batch_holds_an_instance_once_and_its_bug_is_found_one_by_one():
    experiment = make_experiment({"solo": ["a", "bb", "crash", "ccc"]}, references=["x", "y"], repetitions=2)

    evaluation = evaluated(experiment, "batch_judge")

    batches = sys.modules["evaluators.batch_judge"].BATCHES
    assert batches[-4:] == [["i0", "i1"], ["i0"], ["i1"], ["i0", "i1"]]
    assert verdicts(evaluation) == [(1.0, None, None), (2.0, None, None), (None, None, "fault"), (3.0, None, None)]
    metrics = evaluation.metrics[str(experiment.configurations.get().pk)]
    assert metrics == {"batch_judge": 2.0, "signature": "len|v:1"}


def test_a_refused_batch_ends_the_evaluation_with_the_sentence():
    evaluation = evaluated(make_experiment({"solo": ["yes", "refuse me", "a", "b"]}), "batch_judge")

    assert (evaluation.status, evaluation.reason) == ("failed", "The harness does not answer.")


def test_delivered_twice_it_is_done_once():
    experiment = make_experiment({"solo": ["yes"] * 4})
    evaluation = evaluated(experiment)
    ended = evaluation.ended_at

    evaluation_run_task(evaluation.pk)

    evaluation.refresh_from_db()
    assert evaluation.ended_at == ended
    assert evaluation.scores.count() == 4


def test_another_worker_goes_on_where_a_silent_one_stopped():
    experiment = make_experiment({"solo": ["abc"] * 2, "team": ["abcd"] * 2}, references=["x", "y"])
    evaluation = evaluation_start(experiment, "batch_judge")
    first = execution.evaluation_take(evaluation.pk)
    batch = list(experiment.runs.values_list("pk", flat=True)[:2])
    execution.batch_judge(first, execution.evaluator_ready("batch_judge", {}), batch)
    Evaluation.objects.update(heartbeat_at=timezone.now() - timedelta(minutes=2))

    evaluation_run_task(evaluation.pk)

    evaluation.refresh_from_db()
    assert evaluation.status == "finished"
    assert [score.value for score in evaluation.scores.all()] == [3.0, 3.0, 4.0, 4.0]


def test_a_worker_that_wakes_up_too_late_writes_nothing():
    experiment = make_experiment({"solo": ["yes"] * 4})
    evaluation = evaluation_start(experiment, "echo_judge")
    asleep = execution.evaluation_take(evaluation.pk)
    Evaluation.objects.update(owner="somebody else")

    with pytest.raises(execution.TakenOver):
        execution.runs_judge(asleep, execution.evaluator_ready("echo_judge", {}))

    assert not evaluation.scores.exists()
