"""An evaluator by name, its options checked and its requirements met; every refusal is a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from workbench.engine.errors import EvaluationError
from workbench.engine.evaluation import EVALUATORS, Evaluator
from workbench.experiments.evaluators import evaluator_with


class EvaluatorCard(NamedTuple):
    """An evaluator as the list shows it: name, first line and rest of the docstring, what is missing here."""

    name: str
    summary: str
    description: str
    version: str
    missing: tuple[str, ...]


def evaluator_ready(name: str, options: Mapping[str, Any]) -> Evaluator:
    """The evaluator, if it can start here. Raises `EvaluationError` naming all that is missing."""
    evaluator = evaluator_with(name, options)
    missing = evaluator.requirements()
    if missing:
        raise EvaluationError(f"{name} can't start here: {' '.join(missing)}")
    return evaluator


def evaluator_cards() -> list[EvaluatorCard]:
    """Every evaluator there is, by name, with what its docstring says."""
    return [evaluator_card(name) for name in EVALUATORS.names()]


def evaluator_card(name: str) -> EvaluatorCard:
    """One evaluator for the list. What it needs is asked with its default options, where it has defaults for all."""
    evaluator = EVALUATORS.get(name)
    summary, _, rest = evaluator.description().partition("\n")
    try:
        missing = tuple(evaluator().requirements())
    except ValidationError:
        missing = ()
    return EvaluatorCard(name, summary, rest.strip(), evaluator.version, missing)
