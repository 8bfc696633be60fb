"""An evaluator by name with its options checked; every refusal is a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from workbench.engine.documents import pointer
from workbench.engine.errors import InvalidDocument, Problem
from workbench.engine.evaluation import EVALUATORS, Evaluator
from workbench.engine.faultwords import fault_words
from workbench.engine.plugins import nearest


def evaluator_with(name: str, options: Mapping[str, Any]) -> Evaluator:
    """The evaluator, ready to judge. Raises `PluginError` for its name, `InvalidDocument` for its options."""
    evaluator = EVALUATORS.get(name)
    try:
        return evaluator(evaluator.Options.model_validate(dict(options)))
    except ValidationError as error:
        raise InvalidDocument([option_problem(one, evaluator) for one in error.errors()]) from error


def option_problem(fault: Any, evaluator: type[Evaluator]) -> Problem:
    """One of pydantic's errors as a sentence that names the option."""
    where = ".".join(str(part) for part in fault["loc"])
    names = list(evaluator.Options.model_fields)
    if fault["type"] == "extra_forbidden":
        known = f"Its options: {', '.join(names) or 'none'}."
        message = f"{evaluator.name()} has no option {where!r}.{nearest(where, names)} {known}"
    elif fault["type"] == "missing":
        message = f"{evaluator.name()} needs the option {where!r}."
    else:
        message = f"Option {where or 'values'}: {fault_words(fault)}."
    return Problem("error", "option", pointer(*fault["loc"]), message)
