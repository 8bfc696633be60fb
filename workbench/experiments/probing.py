"""What a page says of models and evaluators: whether the models answer now, what the evaluators can be told."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import NamedTuple

from asgiref.sync import async_to_sync

from workbench.engine.errors import WorkbenchError
from workbench.engine.evaluation import EVALUATORS
from workbench.engine.plugins import nearest
from workbench.engine.providers import ProbeResult, Providers

PATIENCE_S = 15


class Answer(NamedTuple):
    """Whether a model is there, in a sentence."""

    model: str
    ok: bool
    sentence: str


def models_probe(models: Sequence[str]) -> list[Answer]:
    """Ask the providers of these models, all at once."""
    providers = sorted({model.partition("/")[0] for model in models})
    found = async_to_sync(providers_probe)(providers)
    return [model_answer(model, found[model.partition("/")[0]]) for model in models]


async def providers_probe(names: Sequence[str]) -> dict[str, ProbeResult]:
    """What each provider says of itself; silence is an answer too."""
    providers = Providers(os.environ)
    try:
        results = await asyncio.gather(*(provider_probe(providers, name) for name in names))
    finally:
        await providers.close()
    return dict(zip(names, results, strict=True))


async def provider_probe(providers: Providers, name: str) -> ProbeResult:
    try:
        return await asyncio.wait_for(providers.get(name).probe(), PATIENCE_S)
    except TimeoutError:
        return ProbeResult(ok=False, message=f"{name} did not answer within {PATIENCE_S} seconds.")
    except WorkbenchError as error:
        return ProbeResult(ok=False, message=str(error))


def model_answer(model: str, provider: ProbeResult) -> Answer:
    """A provider that answers may still lack the model; one that lists none is believed."""
    name = model.partition("/")[2]
    names = [info.name for info in provider.models]
    if not provider.ok or not names or name in names:
        return Answer(model, provider.ok, provider.message)
    known = nearest(name, names) or f" It has {', '.join(names[:5])}{' …' if len(names) > 5 else ''}."
    return Answer(model, False, f"It answers, but has no model {name!r}.{known}")


class EvaluatorNote(NamedTuple):
    """An evaluator for the form: what it does, and its options with their defaults."""

    name: str
    summary: str
    options: list[tuple[str, object, str]]


def evaluator_notes() -> list[EvaluatorNote]:
    """Every evaluator that there is."""
    return [evaluator_note(name) for name in EVALUATORS.names()]


def evaluator_note(name: str) -> EvaluatorNote:
    evaluator = EVALUATORS.get(name)
    fields = evaluator.Options.model_fields.items()
    options = [(key, field.get_default(call_default_factory=True), field.description or "") for key, field in fields]
    return EvaluatorNote(name, evaluator.description().partition("\n\n")[0], options)
