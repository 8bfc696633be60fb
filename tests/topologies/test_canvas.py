"""The canvas of the editor in a real browser: building by mouse, by keyboard and by touch, and what it owes at any size."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from workbench.catalog.services import starters_load as agents_load
from workbench.topologies.services import starters_load, topology_create

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parent.parent.parent
BUILT = ROOT / "workbench/topologies/static/topologies/built/canvas.js"
HOSTILE = {
    "script": "<script>alert(1)</script>",
    "image": '<img src=x onerror="alert(1)">',
    "arabic": "مراجع النص العربي",
    "emoji": "Writer 🤖👩‍🚀",
    "long": "x" * 200,
    "twin": "Writer 🤖👩‍🚀",
}


@pytest.fixture
def filled(live, repository):
    """A server that knows the starters and has a canvas."""
    if not BUILT.is_file():
        pytest.skip("The canvas is not built. Run: make canvas")
    agents_load()
    starters_load()
    return live


class Canvas:
    """The canvas of one topology, as its user has it before them."""

    def __init__(self, page, live: str, name: str) -> None:
        page.set_default_timeout(10_000)
        self.page, self.live, self.name = page, live, name
        page.set_viewport_size({"width": 1440, "height": 900})
        page.goto(live + reverse("topology_edit", args=[name]) + "?view=canvas")
        self.element = page.locator("topology-canvas")
        self.stage = page.locator(".tc-stage")
        expect(page.locator(".tc-stage")).to_be_visible()

    def node(self, node: str):
        return self.page.locator(f'.svelte-flow__node[data-id="{node}"]')

    def nodes(self):
        return self.page.locator(".svelte-flow__node")

    def edge(self, name: str):
        return self.element.get_by_role("button", name=name)

    def kept(self) -> dict:
        """The document as the server has it, once all changes are kept."""
        expect(self.page.locator("#studio-kept")).to_have_text("All changes kept")
        return self.page.request.get(self.live + reverse("topology_edit_state", args=[self.name])).json()["document"]

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        mouse = self.page.mouse
        mouse.move(*start)
        mouse.down()
        mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2, steps=4)
        mouse.move(*end, steps=4)
        mouse.up()

    def connect(self, source: str, target: str) -> None:
        """A line drawn by the mouse, from a node's port to anywhere on the other."""
        port = self.node(source).locator(".tc-out").bounding_box()
        box = self.node(target).bounding_box()
        start = (port["x"] + port["width"] / 2 - 2, port["y"] + port["height"] / 2)
        self.drag(start, (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2))

    def clear(self) -> None:
        self.node("answer").click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.press("Delete")
        expect(self.nodes()).to_have_count(0)


@pytest.fixture
def canvas(filled, page):
    return lambda name: Canvas(page, filled, name)


def shape(document: dict) -> tuple:
    """What a topology is made of, for comparison: its nodes without their prompts, and its edges."""
    nodes = {key: {name: value for name, value in node.items() if name != "prompt"} for key, node in document["nodes"].items()}
    edges = sorted(json.dumps(edge, sort_keys=True) for edge in document["edges"])
    return nodes, edges, document["start"], document["end"]


def write_and_review() -> tuple:
    return shape(json.loads((ROOT / "topologies/write_and_review.json").read_text()))


def test_write_and_review_is_built_from_nothing_with_the_mouse(canvas):
    topology_create("mine")
    it = canvas("mine")
    page = it.page
    it.clear()
    palette = page.get_by_role("complementary", name="What can be added")
    for label, left in (("Writer", 20), ("Reviewer", 260), ("Passthrough", 500)):
        option = palette.get_by_role("option", name=label, exact=True)
        option.drag_to(it.stage, target_position={"x": left + 104, "y": 200})
        expect(it.nodes()).to_have_count({"Writer": 1, "Reviewer": 2, "Passthrough": 3}[label])
    panel = page.locator("#studio-panel")
    title = panel.get_by_role("heading", level=2)
    expect(title).to_have_text("passthrough")
    field(panel, "Id", "publish")
    expect(it.node("publish")).to_be_visible()

    for source, target in (("writer", "reviewer"), ("reviewer", "writer"), ("reviewer", "publish"), ("writer", "publish")):
        it.connect(source, target)
        expect(title).to_have_text(f"{source} → {target}")
        if source == "reviewer":
            verdict(panel, "revise" if target == "writer" else "accept")
        if target == "writer":
            field(panel, "Max", "4")
        if (source, target) == ("writer", "publish"):
            panel.get_by_label("Trigger").uncheck()
    page.get_by_role("button", name="Agent reviewer").click()
    it.node("publish").click()
    page.get_by_role("group", name="Selection").get_by_role("button", name="A run ends here").click()
    it.node("writer").click()
    page.get_by_role("group", name="Selection").get_by_role("button", name="A run ends here").click()

    expect(it.edge("verdict is revise · max 4, reviewer to writer, leads back")).to_have_count(1)
    expect(it.edge("writer to publish, data only")).to_have_count(1)
    expect(it.node("writer").locator(".tc-end")).to_have_count(0)
    assert shape(it.kept()) == write_and_review()


def verdict(panel, value: str) -> None:
    panel.get_by_label("Test").select_option(label="a field of its JSON")
    field(panel, "Field, as a dotted path", "verdict")
    field(panel, "Value", value)


def field(panel, label: str, value: str) -> None:
    control = panel.get_by_label(label, exact=True)
    control.fill(value)
    control.blur()
