from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

import pytest

from tests.engine.support import Shelf, asks, problems_of, run, topology
from tests.fake_models import Raw, fake_models  # noqa: F401
from workbench.engine.prices import WrongPrices, prices_from
from workbench.engine.pricing import Price, call_cost
from workbench.engine.providers import Providers, Usage, _chat_completions, model_has_price, ollama
from workbench.experiments.totals import Totals

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
    read = ollama.read_usage if given["wire"] == "ollama" else lambda it: _chat_completions.read_usage(it.get("usage"))

    usage = read(response)

    counts = expected["usage"] or {"input_tokens": None, "output_tokens": None}
    assert (usage.input_tokens, usage.output_tokens) == (counts["input_tokens"], counts["output_tokens"])
    assert (usage.cached_tokens or 0) == (counts.get("cache_read_tokens") or 0)
    assert usage.source == ("unknown" if usage.input_tokens is None else "reported")
    assert usage.compute_seconds == counts.get("compute_seconds")


def paid(*entries):
    """A run of one node for each entry, in a row; the events that its calls left."""
    nodes = {f"n{number}": asks() for number in range(len(entries))} or {"n": {"type": "passthrough"}}
    names = list(nodes)
    script = {"nodes": {f"n{number}": [{"text": "x", **entry}] for number, entry in enumerate(entries)}}
    result, journal = run(topology(nodes, list(pairwise(names))), script)
    return result, journal.events


@pytest.mark.parametrize(("given", "expected"), cases("sum"))
def test_a_run_costs_what_its_priced_calls_cost_and_says_how_many_are_not(given, expected):
    result, events = paid(*({"cost_usd": cost} if cost else {} for cost in given["costs"]))

    totals = Totals()
    for event in events:
        totals.add(event)
    for found in (totals, result.usage):
        assert (found.cost_usd or 0) == Decimal(expected["total"])
        assert (found.cost_usd is None) is (not given["costs"])
        assert found.unpriced_calls == expected["unpriced_calls"]
    assert expected["is_lower_bound"] is bool(totals.unpriced_calls)


@pytest.mark.parametrize(("given", "expected"), [case for case in cases("money_cap") if "models" in case.values[0]])
def test_a_money_limit_needs_prices_for_every_model(given, expected, monkeypatch):
    places = {"openai/gpt-4o": "openai_compatible/gpt-4o"}
    monkeypatch.setenv("OPENAI_COMPATIBLE_URL", "https://api.openai.com/v1")
    nodes = {f"n{at}": asks(model=places.get(it["name"], it["name"])) for at, it in enumerate(given["models"])}
    names = list(nodes)
    limits = {"cost_usd": float(given["cap"])} if given["cap"] else {}

    edges = list(pairwise(names))
    problems = problems_of(topology(nodes, edges, limits=limits), Shelf())

    refused = [problem for problem in problems if problem.severity == "error"]
    assert [problem.code for problem in refused] == ([] if expected["start"] else [expected["reason"]])
    assert all(name in refused[0].message for name in expected.get("models", ()))


@pytest.mark.parametrize(("given", "expected"), [case for case in cases("money_cap") if "spent" in case.values[1]])
def test_failed_and_repeated_calls_count_towards_the_money_limit(given, expected):
    spent = [{"cost": cost} if isinstance(cost, str) else cost for cost in given["spent_by_calls"]]
    answers = [
        {"text": "x", "cost_usd": it["cost"], **({"fault": "server_error"} if it.get("failed") else {})} for it in spent
    ]
    document = topology(
        {"a": asks()}, [("a", "a", {"max": 9})], limits={"cost_usd": float(given["cap"]), "visits_per_node": 99}
    )

    result, _ = run(document, {"nodes": {"a": answers}})

    assert (result.status, result.code) == ("limit_reached", "cost_usd")
    assert result.usage.model_calls == expected["stopped_after_call"]
    assert result.usage.cost_usd == Decimal(expected["spent"])


@pytest.fixture
def asked_once(fake_models, tmp_path):  # noqa: F811
    """One call of a local model under a file of prices; its event."""

    def ask(prices, seconds=5.31):
        file = tmp_path / "prices.json"
        file.write_text(json.dumps(prices))
        body = {
            "model": "tiny", "message": {"role": "assistant", "content": "x"}, "done": True, "prompt_eval_count": 1000,
            "eval_count": 100, "prompt_eval_duration": 0, "eval_duration": round(seconds * 1e9),
            "load_duration": 2_000_000_000,
        }  # fmt: skip
        fake_models.replies.append(Raw(body=json.dumps(body) + "\n"))
        environ = {"OLLAMA_URL": fake_models.url, "WORKBENCH_PRICES": str(file)}
        _, journal = run(topology({"a": asks(model="ollama/tiny")}), providers=Providers(environ))
        return next(event for event in journal.events if event.kind == "model_called")

    return ask


@pytest.mark.parametrize(("given", "expected"), cases("machine_rate"))
def test_a_machine_of_your_own_is_an_estimate_beside_the_cost(asked_once, given, expected):
    rate = {key: given[key] for key in ("usd_per_hour", "watts")}

    call = asked_once({"machines": {"ollama": rate}}, given["compute_seconds"])

    assert call.machine_usd == Decimal(expected["estimated_cost"])
    assert call.machine_wh == pytest.approx(expected["energy_wh"])
    assert (call.cost_usd, call.cost_source) == (None, "unknown")


def test_prices_of_your_own_are_used_and_written_down_with_the_call(asked_once):
    own = {"input_per_million": "2", "output_per_million": 8}

    call = asked_once({"models": {"ollama/tiny": own}})
    free = asked_once({"models": {"ollama/tiny": "free"}})

    assert (call.cost_usd, call.cost_source) == (Decimal("0.0028"), "computed")
    assert call.price == "own price: $2/input MTok, $8/output MTok"
    assert (free.cost_usd, free.cost_source) == (0, "free")
    assert call.seconds < 1  # the 2 s of loading are told apart
    assert call.load_seconds == 2


def test_the_shipped_table_is_named_with_the_call():
    cost = call_cost(
        "openai_compatible",
        "gpt-4o",
        Usage(input_tokens=1, output_tokens=1),
        at=AT,
        free=False,
        billed=None,
        reference={"provider_id": "openai"},
    )

    assert cost.price.startswith("gpt-4o of openai: $2.5/input MTok")
    assert cost.price.endswith(f"({TABLE['library']})")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[]", "at the top"),
        ("{", "WORKBENCH_PRICES"),
        ('{"models": {"ollama/x": {"input_per_million": -1, "output_per_million": 1}}}', "ollama/x/input_per_million"),
        ('{"models": {"ollama/x": "cheap"}}', '"free"'),
        ('{"machines": {"ollama": {"watt": 3}}}', "ollama/watt"),
    ],
)
def test_prices_that_can_not_be_read_are_refused_with_their_place(tmp_path, text, sentence):
    file = tmp_path / "prices.json"
    file.write_text(text)

    with pytest.raises(WrongPrices) as raised:
        prices_from({"WORKBENCH_PRICES": str(file)})

    assert sentence in str(raised.value)


def test_a_file_of_prices_that_is_not_there_is_named():
    with pytest.raises(WrongPrices, match=r"WORKBENCH_PRICES names /nowhere/prices\.json, which can't be read"):
        prices_from({"WORKBENCH_PRICES": "/nowhere/prices.json"})


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
