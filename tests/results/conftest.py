from __future__ import annotations

from collections.abc import Callable

import pytest

from workbench.evaluations.models import Evaluation
from workbench.evaluations.services import evaluation_start
from workbench.evaluations.tasks import evaluation_run_task
from workbench.experiments.models import Experiment


@pytest.fixture
def judged() -> Callable[..., Evaluation]:
    """`judged(experiment, "exact_match")`: a finished evaluation of it, as the worker makes it."""

    def judge(experiment: Experiment, evaluator: str = "exact_match", **given: object) -> Evaluation:
        evaluation = evaluation_start(experiment, evaluator, **given)
        evaluation_run_task(evaluation.pk)
        return Evaluation.objects.get(pk=evaluation.pk)

    return judge
