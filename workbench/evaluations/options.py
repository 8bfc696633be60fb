"""An evaluator by name, its options checked and its requirements met; every refusal is a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from workbench.engine.errors import EvaluationError, InvalidDocument, Problem
from workbench.engine.evaluation import EVALUATORS, Evaluator
from workbench.engine.plugins import nearest


class EvaluatorCard(NamedTuple):
    """An evaluator as the list shows it: name, first line and rest of the docstring, what is missing here."""

    name: str
    summary: str
    description: str
    version: str
    missing: tuple[str, ...]


def evaluator_with(name: str, options: Mapping[str, Any]) -> Evaluator:
    """The evaluator, ready to judge. Raises `PluginError` for its name, `InvalidDocument` for its options."""
    evaluator = EVALUATORS.get(name)
    try:
        return evaluator(evaluator.Options.model_validate(dict(options)))
    except ValidationError as error:
        raise InvalidDocument([option_problem(dict(one), evaluator) for one in error.errors()]) from error


def evaluator_ready(name: str, options: Mapping[str, Any]) -> Evaluator:
    """The evaluator, if it can start here. Raises `EvaluationError` naming all that is missing."""
    evaluator = evaluator_with(name, options)
    missing = evaluator.requirements()
    if missing:
        raise EvaluationError(f"{name} can't start here: {' '.join(missing)}")
    return evaluator


def option_problem(error: dict[str, Any], evaluator: type[Evaluator]) -> Problem:
    """One of pydantic's errors as a sentence that names the option."""
    where = ".".join(str(part) for part in error["loc"])
    known = ", ".join(evaluator.Options.model_fields) or "none"
    if error["type"] == "extra_forbidden":
        likely = nearest(where, list(evaluator.Options.model_fields))
        message = f"{evaluator.name()} has no option {where!r}.{likely} Its options: {known}."
    elif error["type"] == "missing":
        message = f"{evaluator.name()} needs the option {where!r}."
    else:
        message = f"Option {where or 'values'}: {error['msg'][:1].lower()}{error['msg'][1:]}."
    return Problem("error", "option", "/" + "/".join(str(part) for part in error["loc"]), message)


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
