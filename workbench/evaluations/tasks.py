"""The evaluation worker's doorbell: queue `evaluations`."""

from __future__ import annotations

from workbench.celery import app


@app.task  # type: ignore[untyped-decorator]
def evaluation_run_task(evaluation_id: int) -> None:
    """Judge; harmless when delivered twice."""
    from workbench.evaluations.execution import evaluation_run  # loads evaluators: workers only

    evaluation_run(evaluation_id)


@app.task  # type: ignore[untyped-decorator]
def experiment_evaluate_task(experiment_id: int) -> None:
    """Start the evaluations that an experiment asked for, after its last run; harmless when delivered twice."""
    from workbench.evaluations.services import experiment_evaluate
    from workbench.experiments.models import Experiment

    experiment_evaluate(Experiment.objects.get(pk=experiment_id))


@app.task  # type: ignore[untyped-decorator]
def evaluations_sweep_task() -> None:
    """Take up evaluations whose worker or message was lost."""
    from workbench.evaluations.services import evaluations_sweep

    evaluations_sweep()
