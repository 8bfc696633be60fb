"""Pages of topologies in a real browser: problems as one types, and every page in both themes at 360 px."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from workbench.catalog.services import starters_load as agents_load
from workbench.topologies.services import starters_load, topology_delete, topology_save
from workbench.topologies.store import Author

pytestmark = pytest.mark.browser


@pytest.fixture
def filled(live, repository):
    """A server that knows the starters."""
    agents_load()
    starters_load()
    return live


def test_the_list_narrows_while_one_types(filled, page):
    page.goto(filled + reverse("topology_list"))

    page.get_by_label("Search").fill("translat")

    expect(page.locator(".topology-card")).to_have_count(1)
    assert page.locator(".topology-card h3").inner_text() == "translate"


def test_pages_of_topologies_are_well_made(filled, page, well_made, store, make, screenshot):
    agent = {"answer": {"type": "agent", "label": "Ein sehr langer Name 🤖 " * 20, "prompt": "x"}}
    long_name = "a" * 100
    topology_save(long_name, make(long_name, nodes=agent, description="word " * 500 + "w" * 300))
    store.save(
        "broken", '{"format": "workbench.topology/1", "nodes": {"<b>": 3}}', message="m" * 900, author=Author("A")
    )
    topology_delete("translate")
    debate = store.history("debate")[0].commit
    old = topology_save("debate", store.read("debate").text.replace('"max": 2', '"max": 3'), "More")
    addresses = [
        reverse("topology_list"),
        reverse("topology_list") + "?q=nothing-like-this",
        reverse("topology_detail", args=["broken"]),
        reverse("topology_detail", args=[long_name]),
        reverse("topology_history", args=["translate"]),
        reverse("topology_version", args=["debate", debate]),
    ]
    assert old.commit != debate
    for address in addresses:
        page.goto(filled + address)
        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        well_made(page)
    page.goto(filled + reverse("topology_detail", args=["write_and_review"]))
    screenshot(page, "topology")
