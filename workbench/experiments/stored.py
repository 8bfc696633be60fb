"""What a run stands on, read from the database: its plan and what it is asked."""

from __future__ import annotations

from functools import lru_cache

from workbench.engine.context import RunInput
from workbench.engine.planning import RunPlan
from workbench.experiments.models import Plan, Run


@lru_cache(maxsize=64)
def stored_plan(plan_id: int) -> RunPlan:
    """A plan; the runs of a configuration share it."""
    return RunPlan.model_validate(Plan.objects.get(pk=plan_id).data)


def run_input(run: Run) -> RunInput:
    """What the run is asked. References stay behind: no agent may see them."""
    if run.instance is None:
        return RunInput(problem=run.input)
    it = run.instance
    return RunInput(problem=it.problem, id=it.key, metadata=it.metadata, files=it.files)
