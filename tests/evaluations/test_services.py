from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from tests.evaluations.rows import make_experiment
from workbench.engine.errors import EvaluationError, InvalidDocument, PluginError
from workbench.evaluations.models import Evaluation
from workbench.evaluations.services import evaluation_start, evaluations_sweep
from workbench.evaluations.tasks import experiment_evaluate_task

pytestmark = pytest.mark.django_db

ASKED = [{"name": "echo_judge", "options": {"case": "fold"}}, {"name": "batch_judge"}]


def test_options_are_kept_whole_with_the_evaluators_version():
    evaluation = evaluation_start(make_experiment({"solo": ["yes"] * 4}), "echo_judge", {"case": "fold"})

    assert evaluation.status == "queued"
    assert evaluation.evaluator_version == "7"
    assert evaluation.options == {"case": "fold", "limit": 10, "strict": False, "words": [], "weight": None}


def test_every_wrong_option_is_named():
    with pytest.raises(InvalidDocument) as caught:
        evaluation_start(make_experiment({"solo": ["yes"] * 4}), "echo_judge", {"limit": 0, "colour": "red"})

    messages = [problem.message for problem in caught.value.problems]
    assert messages == [
        "Option limit: it must be at least 1; it is 0.",
        "echo_judge has no option 'colour'. Its options: case, limit, strict, words, weight.",
    ]


def test_what_is_missing_here_is_said_before_the_start():
    with pytest.raises(EvaluationError, match=r"echo_judge can't start here: The tool 'sieve' is missing\."):
        evaluation_start(make_experiment({"solo": ["yes"] * 4}), "echo_judge", {"words": ["missing"]})

    assert not Evaluation.objects.exists()


def test_an_unknown_evaluator_is_refused_with_the_nearest():
    with pytest.raises(PluginError, match="Did you mean 'echo_judge'"):
        evaluation_start(make_experiment({"solo": ["yes"] * 4}), "echo_juge")


def test_what_the_experiment_asked_for_is_started_once_however_often_the_message_comes():
    experiment = make_experiment({"solo": ["yes"] * 4}, evaluators=ASKED)

    experiment_evaluate_task(experiment.pk)
    experiment_evaluate_task(experiment.pk)

    assert sorted(experiment.evaluations.values_list("evaluator", flat=True)) == ["batch_judge", "echo_judge"]


def test_an_experiment_that_ended_again_is_evaluated_again():
    experiment = make_experiment({"solo": ["yes"] * 4}, evaluators=ASKED)
    experiment_evaluate_task(experiment.pk)
    experiment.ended_at = timezone.now()
    experiment.save()

    experiment_evaluate_task(experiment.pk)

    assert experiment.evaluations.count() == 4


def test_an_evaluator_that_cannot_start_is_kept_as_failed_beside_the_others():
    asked = [{"name": "nowhere"}, {"name": "echo_judge"}]
    experiment = make_experiment({"solo": ["yes"] * 4}, evaluators=asked)

    experiment_evaluate_task(experiment.pk)

    failed = experiment.evaluations.get(status="failed")
    assert failed.reason.startswith("There is no evaluator 'nowhere'.")
    assert experiment.evaluations.filter(status="queued").count() == 1


def test_sweep_rings_for_silent_and_orphaned_evaluations_and_leaves_the_living():
    experiment = make_experiment({"solo": ["yes"] * 4})
    long_ago = timezone.now() - timedelta(minutes=5)
    silent, orphan, _alive, _new = (evaluation_start(experiment, "echo_judge") for _ in range(4))
    Evaluation.objects.filter(pk=silent.pk).update(status="running", heartbeat_at=long_ago)
    Evaluation.objects.filter(pk=orphan.pk).update(created_at=long_ago)
    Evaluation.objects.filter(pk=_alive.pk).update(status="running", heartbeat_at=timezone.now())

    assert evaluations_sweep() == 2
    assert evaluations_sweep() == 1, "the silent one still waits for a worker; the orphan was rung for just now"


def test_sweep_evaluates_a_finished_experiment_whose_message_was_lost():
    experiment = make_experiment(
        {"solo": ["yes"] * 4}, evaluators=ASKED, ended_at=timezone.now() - timedelta(minutes=5)
    )
    make_experiment({"solo": ["yes"] * 4}, ended_at=timezone.now() - timedelta(minutes=5))

    assert evaluations_sweep() == 1
    assert evaluations_sweep() == 0
    assert experiment.evaluations.count() == 2
