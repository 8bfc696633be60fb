"""An evaluator for tests that judges batches, gives no verdicts, and writes down what it was given."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.engine.errors import EvaluationError
from workbench.engine.evaluation import Evaluator, Pair, Score

BATCHES: list[list[str]] = []


class BatchJudge(Evaluator):
    """Scores an answer by its length."""

    scale = 100.0

    def evaluate_many(self, pairs: Sequence[Pair]) -> list[Score]:
        BATCHES.append([pair.instance.id for pair in pairs])
        if any(pair.prediction == "refuse me" for pair in pairs):
            raise EvaluationError("The harness does not answer.")
        if any(pair.prediction == "crash" for pair in pairs):
            raise ZeroDivisionError("a bug")
        return [Score(float(len(pair.prediction)), None, {}) for pair in pairs]

    def summarise(self, scores: Sequence[Score]) -> dict[str, object]:
        return {**super().summarise(scores), "signature": "len|v:1"}
