"""What a page says of models and evaluators: whether the models answer now, what the evaluators do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from workbench.catalog.probing import Probed, providers_probed
from workbench.engine.evaluation import EVALUATORS
from workbench.engine.plugins import nearest


class Answer(NamedTuple):
    """Whether a model is there, in a sentence."""

    model: str
    ok: bool
    sentence: str


def models_probe(models: Sequence[str]) -> list[Answer]:
    """Ask the providers of these models, all at once."""
    found = providers_probed({model.partition("/")[0] for model in models})
    return [model_answer(model, found[model.partition("/")[0]]) for model in models]


def model_answer(model: str, probed: Probed) -> Answer:
    """A provider that answers may still lack the model; one that lists none is believed."""
    name, result = model.partition("/")[2], probed.result
    names = [info.name for info in result.models]
    if not result.ok or not names or probed.model(name) is not None:
        return Answer(model, result.ok, result.message)
    known = nearest(name, names) or f" It has {', '.join(names[:5])}{' …' if len(names) > 5 else ''}."
    return Answer(model, False, f"It answers, but has no model {name!r}.{known}{how_to_get(model)}")


def how_to_get(model: str) -> str:
    """What to do for a model that is not there, where the workbench knows."""
    command = pull_command(model)
    return f" Get it with `{command}`." if command else ""


def pull_command(model: str) -> str:
    """The line for a terminal that gets a model; empty where none does."""
    provider, _, name = model.partition("/")
    return f"ollama pull {name}" if provider == "ollama" else ""


class EvaluatorNote(NamedTuple):
    """An evaluator for the form: what it does."""

    name: str
    summary: str


def evaluator_notes() -> list[EvaluatorNote]:
    """Every evaluator that there is."""
    return [EvaluatorNote(name, EVALUATORS.get(name).description().partition("\n\n")[0]) for name in EVALUATORS.names()]
