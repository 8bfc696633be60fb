"""The page of models: what answers, what it has, what to do about the rest; asked over real HTTP."""

from __future__ import annotations

import json
import time

import pytest
from django.urls import reverse

from tests.fake_models import Raw, fake_models  # noqa: F401
from tests.supervised import workbench
from workbench.topologies.services import topology_save

pytestmark = pytest.mark.django_db
HTMX = {"headers": {"HX-Request": "true"}}


@pytest.fixture
def ollama(fake_models, monkeypatch):  # noqa: F811
    """An Ollama with three models: one for everything, one for embeddings, one of which nothing is known."""
    monkeypatch.setenv("OLLAMA_URL", fake_models.url)
    fake_models.models = {
        "qwen3:4b": {
            "capabilities": ["completion", "tools", "thinking"],
            "model_info": {"qwen3.context_length": 40960},
        },
        "nomic-embed-text:latest": {"capabilities": ["embedding"]},
        "oldie:latest": {},
    }
    return fake_models


@pytest.fixture
def repository(settings, tmp_path, db):
    settings.TOPOLOGY_REPOSITORY = tmp_path / "topologies"


def asks(name, model):
    nodes = {"writer": {"type": "agent", "prompt": "Write."}}
    document = {
        "format": "workbench.topology/1",
        "name": name,
        "start": ["writer"],
        "end": ["writer"],
        "nodes": nodes,
        "edges": [],
        "defaults": {"model": model},
    }
    topology_save(name, json.dumps(document), "For the test", "test")


def asked(client):
    return client.get(reverse("model_list"), {"ask": 1}).content.decode()


def test_models_stand_with_what_they_can_do_and_what_is_unknown_says_so(client, ollama):
    page = asked(client)

    row = page[page.index("ollama/qwen3:4b") :]
    assert "Q4_K_M" in row[:1200]
    assert "chat, tools, thinking" in row[:600]
    assert "40,960" in row[:600]
    assert "unknown" in row[:1200]  # the price: nobody marked it as free
    assert "version 0.12.3" in page
    assert "It makes embeddings and can&#x27;t chat." in page
    assert "ollama/oldie:latest" in page


def test_the_page_comes_at_once_and_asks_by_itself(client, ollama):
    ollama.instead["/api/tags"] = Raw(body={"models": []}, wait_headers=3)
    began = time.monotonic()

    page = client.get(reverse("model_list")).content.decode()

    assert time.monotonic() - began < 1
    assert 'hx-trigger="load"' in page
    assert "Ask them now" in page
    assert ollama.requests == []


def test_what_was_asked_is_shown_at_once_the_next_time(client, ollama):
    asked(client)
    before = len(ollama.requests)

    page = client.get(reverse("model_list")).content.decode()

    assert "ollama/qwen3:4b" in page
    assert len(ollama.requests) == before


def test_htmx_gets_the_fragment_freshly_asked_and_it_does_not_ask_again(client, ollama):
    asked(client)
    ollama.models["new:1b"] = {}

    fragment = client.get(reverse("model_list"), **HTMX).content.decode()

    assert "ollama/new:1b" in fragment
    assert "<html" not in fragment
    assert "hx-get" not in fragment


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (Raw(status=500, body={"error": "disk broken"}), "disk broken"),
        (Raw(body={"models": []}), "ollama pull"),
        (Raw(body="<html>", content_type="text/html"), "does not speak Ollama"),
    ],
)
def test_a_list_that_is_broken_or_empty_is_a_sentence_and_the_others_are_shown(client, ollama, reply, sentence):
    ollama.instead["/api/tags"] = reply

    page = asked(client)

    assert sentence in page
    assert "scripted/echo" in page


def test_a_provider_that_is_away_says_how_to_mend_it(client, monkeypatch):
    monkeypatch.setenv("OLLAMA_URL", "http://127.0.0.1:1")

    page = asked(client)

    assert "does not answer at http://127.0.0.1:1" in page
    assert "Start Ollama, or set OLLAMA_URL." in page


def test_when_a_provider_was_away_stays_on_the_page(client, ollama):
    asked(client)
    ollama.instead["/api/version"] = Raw(status=500, body={"error": "disk broken"})

    away = asked(client)
    asked(client)  # still away: the same outage
    del ollama.instead["/api/version"]
    back = asked(client)

    assert "1 outage in the last 30 days" in away
    assert "it last answered" in away
    assert "1 outage in the last 30 days" in back
    assert "disk broken" in back
    assert "it last answered" not in back


def test_models_that_are_asked_for_and_missing_stand_first_with_the_line_that_gets_them(client, ollama, repository):
    asks("there", "ollama/qwen3:4b")
    asks("lacking", "ollama/llama9:1b")
    asks("untagged", "ollama/oldie")

    page = client.get(reverse("model_uses"), **HTMX).content.decode()

    assert page.index("ollama/llama9:1b") < page.index("ollama/oldie") < page.index("ollama/qwen3:4b")
    assert page.count("ollama pull") == 1
    assert "ollama pull llama9:1b" in page
    assert reverse("topology_detail", args=["lacking"]) in page
    assert "<html" in client.get(reverse("model_uses")).content.decode()


def test_the_doctor_says_the_same(ollama, tmp_path):
    done = workbench(tmp_path / "home", "doctor", OLLAMA_URL=ollama.url)

    assert "ollama/qwen3:4b: 40,960 tokens of context · chat, tools, thinking" in done.stdout
    assert "price unknown" in done.stdout
    assert "ollama/nomic-embed-text:latest: embeddings" in done.stdout


def test_a_known_price_is_shown_for_a_million_tokens():
    from workbench.catalog.modelfacts import Price, price_of
    from workbench.engine.providers.openai_compatible import OpenAICompatibleProvider

    cloud = OpenAICompatibleProvider("https://api.openai.com/v1")

    price = price_of(cloud, "openai_compatible/gpt-4o-mini")

    assert (float(price.input), float(price.output)) == (0.15, 0.6)
    assert price_of(cloud, "openai_compatible/nobody-knows") == Price(word="unknown")
