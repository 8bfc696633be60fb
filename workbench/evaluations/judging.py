"""Which runs are judged and which are not, and why; one evaluator's verdicts made safe to keep. No database here."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import Any

from workbench.engine.errors import EvaluationError
from workbench.engine.evaluation import EvaluationInstance, Evaluator, Pair, Score
from workbench.experiments.models import Run

log = logging.getLogger(__name__)

EXCLUDED = {
    "failed": "failed",
    "limit_reached": "ended at a limit",
    "incomplete": "reached no end node",
    "stopped": "stopped",
    "no_answer": "gave no answer",
    "partial": "gave a partial answer only",
    "no_instance": "belong to no instance",
    "refused": "the evaluator could not judge",
    "fault": "a fault in the evaluator",
}
"""Kind of exclusion (`details["excluded"]`) → how a page puts it after a number."""


def exclusion(run: Run, *, include_partial: bool) -> Score | None:
    """Why an ended run is not judged, or None when it is."""
    if run.instance is None:
        return excluded("no_instance", "The run belongs to no instance, so there is nothing to judge it by.")
    if run.partial and run.output is not None:
        if include_partial:
            return None
        return excluded("partial", f"The answer is partial: the run {ending(run)}. It counts only when asked for.")
    if run.status != Run.Status.SUCCEEDED:
        return excluded(run.status, f"The run {ending(run)}.")
    if run.output is None:
        return excluded("no_answer", "The run succeeded without an answer.")
    return None


def ending(run: Run) -> str:
    """How the run ended, after "the run", without a full stop."""
    words = {
        Run.Status.SUCCEEDED: "succeeded",
        Run.Status.FAILED: "failed",
        Run.Status.LIMIT_REACHED: "ended at a limit",
        Run.Status.INCOMPLETE: "reached no end node",
        Run.Status.STOPPED: "was stopped",
    }[Run.Status(run.status)]
    return f"{words}: {run.reason.rstrip('.')}" if run.reason else words


def excluded(kind: str, reason: str, **details: Any) -> Score:
    """A score that is none, with its kind and its sentence."""
    return Score(None, None, {**details, "excluded": kind, "reason": reason})


def pair(run: Run) -> Pair:
    """A run's prediction beside the instance it answers."""
    instance = run.instance
    assert instance is not None  # `exclusion` has seen to it
    assert run.output is not None
    references = tuple(str(reference) for reference in instance.references)
    return Pair(run.output, EvaluationInstance(instance.key, instance.problem, references, dict(instance.metadata)))


def judge(evaluator: Evaluator, pairs: Sequence[Pair]) -> list[Score]:
    """A score for each pair, in order. What goes wrong with one prediction stays with that one.

    Raises `EvaluationError` where an evaluator that judges batches refuses the whole of it.
    """
    if type(evaluator).evaluate_many is Evaluator.evaluate_many:
        return [judge_one(evaluator, one) for one in pairs]
    try:
        scores = evaluator.evaluate_many(pairs)
    except EvaluationError:
        raise
    except Exception:  # a plug-in's bug over one prediction must not cost the others: find the one
        log.exception("%s failed over a batch of %d; judging one by one", evaluator.name(), len(pairs))
        return [judge_one(evaluator, one) for one in pairs]
    if len(scores) != len(pairs):
        raise EvaluationError(f"{evaluator.name()} gave {len(scores)} scores for {len(pairs)} predictions.")
    return [storable(score) for score in scores]


def judge_one(evaluator: Evaluator, one: Pair) -> Score:
    """The verdict on one prediction; an error becomes a score that is none."""
    try:
        return storable(evaluator.evaluate_many([one])[0])
    except EvaluationError as error:
        return excluded("refused", str(error))
    except Exception as error:  # shown as a fault, with its traceback in the log
        log.exception("%s failed over instance %s", evaluator.name(), one.instance.id)
        return excluded("fault", f"A fault in the evaluator: {error!r}")


def storable(score: Score) -> Score:
    """The score as the database can hold it: finite, and a null one with its reason."""
    value = float(score.value) if score.value is not None and math.isfinite(score.value) else None
    details = plain(score.details)
    if value is not None:
        return Score(value, score.passed, details)
    details.setdefault("reason", "The evaluator gave no score and no reason.")
    return Score(None, None, {"excluded": "refused", **details})


def plain(value: Any) -> Any:
    """JSON without NaN, infinity and NUL, which not every database takes."""
    if isinstance(value, dict):
        return {str(plain(str(key))): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str):
        return value.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value)
