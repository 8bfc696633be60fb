from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path

import pytest

from workbench.engine.pricing import Price, call_cost, has_price
from workbench.engine.providers import Usage, _chat_completions, model_has_price, ollama

TABLE = json.loads((Path(__file__).parent / "data/prices.json").read_text())
AT = 1780315200.0  # 2026-06-01


def cases(kind):
    return [
        pytest.param(case["input"], case["expected"], id=case["id"]) for case in TABLE["cases"] if case["kind"] == kind
    ]


def usage_of(counts):
    counts = dict(counts)
    if "cache_read_tokens" in counts:
        counts["cached_tokens"] = counts.pop("cache_read_tokens")
    return Usage(**counts, source="reported")


def decimal(text):
    return None if text is None else Decimal(text)


@pytest.mark.parametrize(("given", "expected"), cases("library_price"))
def test_a_call_costs_what_the_table_says_for_its_provider_and_time(given, expected):
    if f"genai-prices {version('genai-prices')}" != TABLE["library"]:
        pytest.fail("Other version of the table: renew the cases of this kind.")
    reference = {key: given[key] for key in ("provider_id", "provider_api_url") if key in given}
    at = datetime.fromisoformat(given["at"]).timestamp()

    cost = call_cost(
        "cloud", given["model"], usage_of(given["usage"]), at=at, free=False, billed=None, reference=reference
    )

    assert cost.amount == decimal(expected["total"])
    assert cost.source == ("unknown" if expected["total"] is None else "computed")
    assert ("invalid usage" in cost.reason) is (expected.get("reason") == "invalid_usage")


@pytest.mark.parametrize(("given", "expected"), cases("local_model"))
def test_a_local_model_is_never_looked_up(given, expected):
    provider, _, model = given["model"].partition("/")

    for reference in (None, {"provider_id": "deepseek"}, {"provider_id": "mistral"}):
        cost = call_cost(provider, model, usage_of(given["usage"]), at=AT, free=False, billed=None, reference=reference)
        assert (cost.amount, cost.source) == (expected["cost"], expected["state"])


@pytest.mark.parametrize(("given", "expected"), cases("precedence"))
def test_what_is_known_best_wins(given, expected):
    own = given["own_price"] and Price(**{key: Decimal(value) for key, value in given["own_price"].items()})

    cost = call_cost(
        "openai_compatible",
        "gpt-4o",
        usage_of(given["usage"]),
        at=AT,
        free=given["marked_free"],
        billed=decimal(given["provider_reported"]),
        reference={"provider_id": "openai"} if given["library_price"] else None,
        prices={"openai_compatible/gpt-4o": own} if own else {},
    )

    assert (cost.amount, cost.source) == (decimal(expected["cost"]), expected["state"])


@pytest.mark.parametrize(("given", "expected"), cases("read_usage"))
def test_counts_are_read_from_the_reply_of_each_dialect(given, expected):
    response = given["response"]
    readers = {"ollama": ollama.read_usage, "openai/chat": lambda body: _chat_completions.read_usage(body.get("usage"))}

    usage = readers[given["wire"]](response)

    counts = expected["usage"] or {"input_tokens": None, "output_tokens": None}
    assert (usage.input_tokens, usage.output_tokens) == (counts["input_tokens"], counts["output_tokens"])
    assert (usage.cached_tokens or 0) == (counts.get("cache_read_tokens") or 0)
    assert usage.source == ("unknown" if usage.input_tokens is None else "reported")


def test_a_price_is_known_before_the_start_or_it_is_not():
    openai = {"provider_id": "openai"}

    assert has_price("openai_compatible", "gpt-4o", at=AT, reference=openai)
    assert not has_price("openai_compatible", "nonsense", at=AT, reference=openai)
    assert not has_price("openai_compatible", "gpt-4o", at=AT)
    assert has_price("ollama", "x", at=AT, free=True)
    assert has_price("ollama", "x", at=AT, prices={"ollama/x": Price(Decimal(1), Decimal(2))})


@pytest.mark.parametrize(
    ("model", "environ", "known"),
    [
        ("openai_compatible/gpt-4o", {"OPENAI_COMPATIBLE_URL": "https://api.openai.com"}, True),
        ("openai_compatible/gpt-4o", {"OPENAI_COMPATIBLE_URL": "http://localhost:8000"}, False),
        ("openai_compatible/gpt-4o", {}, False),
        ("ollama/gpt-4o", {}, False),
        ("embedded/smollm2:135m", {}, False),
        ("scripted/echo", {}, True),
        ("nowhere/x", {}, False),
    ],
)
def test_a_models_price_depends_on_where_it_is_asked(model, environ, known):
    assert model_has_price(model, environ) is known
