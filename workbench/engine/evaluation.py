"""The contract of evaluators: plug-ins that judge predictions. Each is one file (or folder) of `evaluators/`."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from pydantic import BaseModel, ConfigDict

from workbench.engine.errors import EvaluationError
from workbench.engine.plugins import Plugins


class EvaluationInstance(NamedTuple):
    """The problem as an evaluator sees it. `references` holds every accepted answer; empty when there is none."""

    id: str
    problem: str = ""
    references: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}


class Pair(NamedTuple):
    """A prediction and the instance it answers."""

    prediction: str
    instance: EvaluationInstance


class Score(NamedTuple):
    """The verdict on one prediction. `value` None: not scored, `details["reason"]` says why. `passed` may be None."""

    value: float | None
    passed: bool | None
    details: dict[str, Any]


class Options(BaseModel):
    """An evaluator's options; the JSON Schema of it makes the form."""

    model_config = ConfigDict(frozen=True, extra="forbid")


AnyOptions = Options  # inside the class, the name means the class's own


class Evaluator:
    """Judges predictions. Its docstring is what the user reads in the list.

    Implement `evaluate`, or `evaluate_many` where a tool judges a batch. `version` changes when scores may.
    `metric` is the metric's key (the evaluator's name), `higher_is_better` and `unit` are for pages; `scale` is the
    highest value a score can have (1 or 100).
    """

    version: ClassVar[str] = "1"
    higher_is_better: ClassVar[bool] = True
    scale: ClassVar[float] = 1.0
    Options: ClassVar[type[Options]] = Options

    def __init__(self, options: AnyOptions | None = None) -> None:
        self.options = options if options is not None else self.Options()

    @classmethod
    def name(cls) -> str:
        """The plug-in's name: its file's."""
        return cls.__module__.split(".")[1]

    @classmethod
    def description(cls) -> str:
        """The docstring, for the list on the page."""
        return inspect.cleandoc(cls.__doc__ or "")

    def requirements(self) -> list[str]:
        """What is missing here, each as a sentence; empty when it can start."""
        return []

    def evaluate(self, prediction: str, instance: EvaluationInstance) -> Score:
        """Judge one prediction. Raises `EvaluationError` where it can't."""
        raise NotImplementedError

    def evaluate_many(self, pairs: Sequence[Pair]) -> list[Score]:
        """Judge a batch, in order."""
        return [self.evaluate(pair.prediction, pair.instance) for pair in pairs]

    def summarise(self, scores: Sequence[Score]) -> dict[str, Any]:
        """The metrics of one configuration, from what the scores keep: its own name → a number, and what else helps.

        The mean of the values that there are; None when there is none.
        """
        values = [score.value for score in scores if score.value is not None]
        return {self.name(): sum(values) / len(values) if values else None}


EVALUATORS = Plugins("evaluators", Evaluator, "evaluator")

__all__ = [
    "EVALUATORS",
    "EvaluationError",
    "EvaluationInstance",
    "Evaluator",
    "Options",
    "Pair",
    "Score",
]
