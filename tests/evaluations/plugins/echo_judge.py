"""An evaluator for tests: passes what equals its reference, and misbehaves on command of the prediction."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from workbench.engine.errors import EvaluationError
from workbench.engine.evaluation import EvaluationInstance, Evaluator, Options, Score


class EchoOptions(Options):
    case: Literal["keep", "fold"] = Field("keep", description="Whether capitals count.")
    limit: int = Field(10, ge=1, le=100, title="Longest answer")
    strict: bool = False
    words: tuple[str, ...] = ()
    weight: float | None = None


class EchoJudge(Evaluator):
    """Passes an answer that is its reference.

    A second paragraph, with details.
    """

    version = "7"
    Options = EchoOptions

    def requirements(self) -> list[str]:
        return ["The tool 'sieve' is missing."] if "missing" in self.options.words else []

    def evaluate(self, prediction: str, instance: EvaluationInstance) -> Score:
        if prediction == "refuse me":
            raise EvaluationError("This answer can't be judged.")
        if prediction == "crash":
            raise ZeroDivisionError("a bug")
        if prediction == "nan":
            return Score(float("nan"), True, {"note": "a\0b"})
        passed = prediction in instance.references
        return Score(float(passed), passed, {"seen": prediction})
