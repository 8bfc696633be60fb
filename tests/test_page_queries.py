"""No page asks the database more often because it holds more: every list, run and results page, counted."""

from __future__ import annotations

import json

import pytest

from workbench.bench.pages import Fill, page
from workbench.bench.seed import seed
from workbench.catalog.services import agent_save
from workbench.topologies.services import topology_save


@pytest.mark.django_db
def test_queries_of_no_page_grow_with_the_rows(settings, tmp_path):
    settings.TOPOLOGY_REPOSITORY = tmp_path / "topologies"
    few = seed(Fill(2, 20, datasets=1))
    counted(few)  # what is asked of providers is remembered from here on
    before = counted(few)

    many = seed(Fill(5, 60, datasets=3), first=10)
    for number in range(5):
        add_topology_and_agent(number)

    assert {name: (before[name], queries) for name, queries in counted(many).items() if queries > before[name]} == {}
    assert {name: (before[name], queries) for name, queries in counted(few).items() if queries > before[name]} == {}


def counted(seeded):
    return {name: page(address, 0, htmx=name.endswith("_part"))["queries"] for name, address in seeded.pages()}


def add_topology_and_agent(number):
    agent = {"format": "workbench.agent/1", "name": f"more-{number}", "role": "Helper", "prompt": "Say it."}
    agent_save(json.dumps(agent))
    document = {
        "format": "workbench.topology/1", "name": f"more-{number}", "start": ["a"], "end": ["a"], "edges": [],
        "nodes": {"a": {"type": "agent", "agent": f"more-{number}", "model": "ollama/x"}},
    }  # fmt: skip
    topology_save(f"more-{number}", json.dumps(document), "For the test", "test")
