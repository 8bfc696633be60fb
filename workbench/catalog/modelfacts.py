"""What is said of a model in words: what it can do, how large it is, what it costs. Unknown is said, never guessed."""

from __future__ import annotations

import inspect
import os
from decimal import Decimal
from typing import NamedTuple

from django.conf import settings

from workbench.catalog.probing import Probed
from workbench.engine.errors import WorkbenchError
from workbench.engine.prices import NO_PRICES, prices_from
from workbench.engine.providers import PROVIDERS, ModelInfo, Provider, Usage, model_cost
from workbench.engine.throttle import Rate, rate_of

WORDS = {"completion": "chat", "embedding": "embeddings", "insert": "fill in"}
SAMPLE = 1000
"""Tokens by which a price is found: some models cost more from a hundred thousand on."""


class Price(NamedTuple):
    """Dollars for a million tokens; `word` where there is no number: free, as billed, unknown."""

    input: Decimal | None = None
    output: Decimal | None = None
    word: str = ""


class ModelFacts(NamedTuple):
    """A model as pages and the doctor show it."""

    reference: str
    info: ModelInfo
    price: Price

    @property
    def abilities(self) -> tuple[str, ...] | None:
        """What it can do; None is unknown."""
        given = self.info.capabilities
        return None if given is None else tuple(WORDS.get(ability, ability) for ability in given)

    @property
    def digest(self) -> str:
        """Enough of the digest to tell two apart by eye."""
        digest = (self.info.digest or "").removeprefix("sha256:")
        return digest[:12] if len(digest) >= 32 else digest

    @property
    def size(self) -> str:
        """On disk."""
        size = self.info.size_bytes
        if size is None:
            return ""
        return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.3g} MB"


class ProviderFacts(NamedTuple):
    """A provider with its models."""

    name: str
    summary: str
    probed: Probed
    models: list[ModelFacts]
    rate: Rate | None

    @property
    def ok(self) -> bool:
        return self.probed.result.ok


def provider_facts(probed: Probed) -> ProviderFacts:
    """A provider's answer, with what its models cost."""
    kind = PROVIDERS.get(probed.provider)
    models = probed.result.models
    provider = _made(kind)
    named = [(f"{probed.provider}/{info.name}", info) for info in models]
    facts = [ModelFacts(reference, info, price_of(provider, reference)) for reference, info in named]
    summary = (inspect.getdoc(kind) or "").partition("\n\n")[0].replace("\n", " ").replace("`", "")
    return ProviderFacts(probed.provider, summary, probed, facts, rate_of(probed.provider, settings.PROVIDER_LIMITS))


def _made(kind: type[Provider]) -> Provider | None:
    try:
        return kind.from_environ(os.environ)
    except WorkbenchError:
        return None


def price_of(provider: Provider | None, model: str) -> Price:
    """What a million tokens of a model (`provider/name`) cost today."""
    if provider is None:
        return Price(word="unknown")
    if provider.free:
        return Price(word="free")
    if provider.bills:
        return Price(word="as billed")
    try:
        prices = prices_from(os.environ)
    except WorkbenchError:  # the start is refused with its sentence; pages go on
        prices = NO_PRICES
    if model in prices.free:
        return Price(word="free")
    parts = [Usage(input_tokens=SAMPLE, output_tokens=0), Usage(input_tokens=0, output_tokens=SAMPLE)]
    given, answered = (model_cost(provider, model, usage, prices=prices).amount for usage in parts)
    if given is None or answered is None:
        return Price(word="unknown")
    return Price(given * 1_000_000 / SAMPLE, answered * 1_000_000 / SAMPLE)


def model_line(facts: ModelFacts, *, known: str = "") -> str:
    """A model in a line, for a terminal. A note that stands in `known` is not said again."""
    info, price = facts.info, facts.price
    said = [
        f"{info.context:,} tokens of context" if info.context else "",
        ", ".join(facts.abilities or ()),
        facts.size,
        info.quantization or "",
        facts.digest,
        price.word if price.input is None else f"${price.input:g} / ${price.output:g} a million tokens",
    ]
    note = f" ({info.note})" if info.note and info.note not in known else ""
    return f"{facts.reference}: {' · '.join(filter(None, said))}{note}".replace("unknown", "price unknown")
