"""Pages of agents and models in a real browser: clean in both themes and at 360 px."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from tests.fake_models import FakeModels
from workbench.catalog.services import agent_save, starters_load
from workbench.topologies.services import topology_save

pytestmark = pytest.mark.browser


@pytest.fixture
def filled(live, settings, tmp_path):
    """A server that knows the agents that ship."""
    settings.TOPOLOGY_REPOSITORY = tmp_path / "topologies"
    starters_load()
    return live


def test_pages_of_agents_are_well_made(filled, page, well_made):
    said = {
        "format": "workbench.agent/1",
        "role": "Writer",
        "description": "word " * 400 + "w" * 300,
        "prompt": "p" * 900,
    }
    agent_save(json.dumps(said | {"name": "a" * 100, "tags": ["x" * 90]}))
    addresses = [
        reverse("agent_list"),
        reverse("agent_list") + "?q=nothing-like-this",
        reverse("agent_detail", args=["reviewer"]),
        reverse("agent_detail", args=["a" * 100]),
        reverse("agent_edit", args=["translator"]),
    ]
    for address in addresses:
        page.goto(filled + address)
        page.wait_for_load_state("networkidle")
        well_made(page)


def test_a_form_with_mistakes_is_well_made_and_mended_by_its_labels(filled, page, well_made):
    page.goto(filled + reverse("agent_create"))
    page.get_by_label("Name").fill("poet")
    page.get_by_label("Role").fill("Writer")
    page.get_by_label("Temperature").fill("9")
    page.get_by_role("button", name="Save").click()
    well_made(page)

    page.get_by_label("Temperature").fill("0.5")
    page.get_by_label("Prompt", exact=True).fill("Rhyme about {{ instance.problem }}")
    page.get_by_role("button", name="Save").click()

    assert page.get_by_role("heading", level=1).inner_text() == "poet"


def test_where_an_agent_is_used_loads_into_its_page(filled, page):
    page.goto(filled + reverse("agent_detail", args=["writer"]))

    page.get_by_text("No topology uses writer").wait_for()


def test_the_list_narrows_while_one_types(filled, page):
    page.goto(filled + reverse("agent_list"))

    page.get_by_label("Search").fill("translation faults")

    expect(page.locator(".agent-card")).to_have_count(1)


def test_the_page_of_models_fills_itself_and_is_well_made(filled, page, well_made, monkeypatch):
    with FakeModels(models=("qwen3:4b", "llama3.1:latest")) as ollama:
        monkeypatch.setenv("OLLAMA_URL", ollama.url)
        ollama.models["qwen3:4b"]["model_info"] = {"qwen3.context_length": 40960}
        ollama.models["nomic-embed-text:latest"] = {"capabilities": ["embedding"]}
        save("here", "ollama/qwen3:4b")
        save("lacking", "ollama/" + "long" * 20 + ":1b")

        page.goto(filled + reverse("model_list"))
        page.get_by_role("row", name="ollama/nomic-embed-text:latest").wait_for()
        page.get_by_text("ollama pull").wait_for()
        page.wait_for_load_state("networkidle")
        well_made(page)

        ollama.models["new:1b"] = {}
        page.get_by_role("link", name="Ask them again").click()
        page.get_by_role("row", name="ollama/new:1b").wait_for()


def save(name, model):
    node = {"type": "agent", "prompt": "Hi.", "model": model}
    document = {"format": "workbench.topology/1", "name": name, "start": ["a"], "end": ["a"], "nodes": {"a": node}}
    topology_save(name, json.dumps(document | {"edges": []}), "For the test", "test")
