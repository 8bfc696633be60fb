"""The models that a field can be completed with: what providers said when they were last asked, and why one is missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from workbench.catalog.probing import Probed, providers_known, providers_probed
from workbench.engine.providers import PROVIDERS

RECENT_S = 300.0
PATIENCE_S = 4.0


class ModelChoice(NamedTuple):
    """A model, with what is known of it."""

    name: str
    words: str


class ModelChoices(NamedTuple):
    """What there is, and for each provider without models a sentence why."""

    models: list[ModelChoice]
    missing: list[str]


def models_asked() -> ModelChoices:
    """Ask the providers, unless they said it lately."""
    return _choices(providers_probed(max_age=RECENT_S, patience=PATIENCE_S))


def model_choices() -> ModelChoices:
    """What they said last; nobody is asked."""
    return _choices(providers_known())


def _choices(known: Mapping[str, Probed]) -> ModelChoices:
    models, missing = [], []
    for provider in PROVIDERS.names():
        probed = known.get(provider)
        if probed is None:
            missing.append(f"{provider}: it was not asked yet.")
        elif not probed.result.ok:
            missing.append(f"{provider}: {probed.result.message}")
        else:
            for info in probed.result.models:
                words = f"{info.context:,} tokens of context" if info.context else ""
                models.append(ModelChoice(f"{provider}/{info.name}", words))
    return ModelChoices(models, missing)


def model_context(reference: str) -> int | None:
    """How many tokens a model can read, if its provider has said so."""
    provider, _, name = reference.partition("/")
    probed = providers_known([provider] if provider in PROVIDERS.names() else []).get(provider)
    info = probed.model(name) if probed is not None else None
    return info.context if info is not None else None
