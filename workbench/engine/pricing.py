"""What a call cost. Unknown is None, never 0: a model that is not in a table, a count that was not reported.

What the provider billed comes first, then the operator's own prices (`prices.py`), then the table that ships with
genai-prices (offline), by the provider's own name or address and the time of the call: prices change by date and by hour.
A provider near by has no price reference and is never looked up: by its name alone a local `deepseek-r1:8b` would be
charged as the cloud's.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import Any, Literal, NamedTuple, Protocol

LOCAL = frozenset({"ollama", "embedded", "scripted"})
MILLION = Decimal(1_000_000)


class Counts(Protocol):
    """The token counts of a call, as `Usage` has them; None is unknown. Input includes what was cached."""

    @property
    def input_tokens(self) -> int | None: ...
    @property
    def output_tokens(self) -> int | None: ...
    @property
    def cached_tokens(self) -> int | None: ...
    @property
    def cache_write_tokens(self) -> int | None: ...


class Cost(NamedTuple):
    """Money in US dollars, where it is known from, and why it is unknown. `price` says the unit prices and whose they
    are, for the record: a later table must not change what a call has cost."""

    amount: Decimal | None
    source: Literal["billed", "computed", "free", "unknown"]
    reason: str = ""
    price: str = ""


class Price(NamedTuple):
    """The operator's own price of a model, in dollars per million tokens. Without a price of their own, tokens read from
    or written to a cache cost as much as any input."""

    input_per_million: Decimal
    output_per_million: Decimal
    cache_read_per_million: Decimal | None = None
    cache_write_per_million: Decimal | None = None

    def told(self) -> str:
        """The prices in words."""
        named: dict[str, Decimal | None] = {"input": self.input_per_million, "output": self.output_per_million}
        named |= {"cache read": self.cache_read_per_million, "cache write": self.cache_write_per_million}
        parts = [f"${price.normalize():f}/{name} MTok" for name, price in named.items() if price is not None]
        return f"own price: {', '.join(parts)}"


class Machine(NamedTuple):
    """What a machine of your own takes: dollars an hour, watts. An estimate, which is never added to money that was
    billed or computed."""

    usd_per_hour: Decimal | None = None
    watts: float | None = None

    def usd(self, compute_seconds: float | None) -> Decimal | None:
        """For so many seconds of computing."""
        if compute_seconds is None or self.usd_per_hour is None:
            return None
        return Decimal(str(compute_seconds)) * self.usd_per_hour / 3600

    def watt_hours(self, compute_seconds: float | None) -> float | None:
        return None if compute_seconds is None or self.watts is None else compute_seconds * self.watts / 3600


def call_cost(
    provider: str,
    model: str,
    usage: Counts,
    *,
    at: float,
    free: bool,
    billed: Decimal | None,
    reference: Mapping[str, str] | None = None,
    prices: Mapping[str, Price] | None = None,
) -> Cost:
    """What a call at that time (seconds since the epoch) cost. `reference` is the provider's `price_reference()`;
    `prices` are own prices by `provider/name`; `free` is the explicit mark, nothing else makes 0."""
    if billed is not None:
        return Cost(billed, "billed")
    if free:
        return Cost(Decimal(0), "free")
    if usage.input_tokens is None or usage.output_tokens is None:
        return Cost(None, "unknown", "the tokens were not reported")
    if (usage.cached_tokens or 0) + (usage.cache_write_tokens or 0) > usage.input_tokens:
        return Cost(None, "unknown", "invalid usage: more cached tokens than input")
    own = (prices or {}).get(f"{provider}/{model}")
    if own is not None:
        return Cost(_own(own, usage), "computed", price=own.told())
    return _shipped(provider, model, usage, at, reference) or Cost(None, "unknown", "no price is known")


def _own(price: Price, usage: Counts) -> Decimal:
    read, written = usage.cached_tokens or 0, usage.cache_write_tokens or 0
    plain = (usage.input_tokens or 0) - read - written
    full = price.input_per_million
    parts = (
        plain * full,
        read * (full if price.cache_read_per_million is None else price.cache_read_per_million),
        written * (full if price.cache_write_per_million is None else price.cache_write_per_million),
        (usage.output_tokens or 0) * price.output_per_million,
    )
    return sum(parts, Decimal(0)) / MILLION


def _shipped(provider: str, model: str, usage: Counts, at: float, reference: Mapping[str, str] | None) -> Cost | None:
    if reference is None or provider in LOCAL:
        return None
    import genai_prices

    place: Any = dict(reference)
    counts = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    when = datetime.fromtimestamp(at, UTC)
    try:
        found = genai_prices.calc_price(counts, model, genai_request_timestamp=when, **place)
    except LookupError:
        return None
    told = f"{found.model.id} of {found.provider.id}: {found.model_price} ({_table()})"
    return Cost(Decimal(found.total_price), "computed", price=told)


@cache
def _table() -> str:
    from importlib.metadata import version

    return f"genai-prices {version('genai-prices')}"
