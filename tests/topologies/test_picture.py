"""Pictures: any document gives well-formed SVG that holds every node once and nothing that acts."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workbench.engine.nodes import NODES
from workbench.topologies.picture import NodeState, topology_svg
from workbench.topologies.standalone import standalone_svg, style
from workbench.topologies.words import node_words

SVG = "{http://www.w3.org/2000/svg}"
LOOP = {
    "name": "loop",
    "start": ["writer"],
    "end": ["publish"],
    "nodes": {"writer": {"type": "agent"}, "reviewer": {"type": "agent"}, "publish": {"type": "passthrough"}},
    "edges": [
        {"from": "writer", "to": "reviewer"},
        {"from": "reviewer", "to": "writer", "when": {"field": "verdict", "equals": "revise"}, "max": 4},
        {"from": "reviewer", "to": "publish", "when": {"otherwise": True}},
        {"from": "writer", "to": "publish", "trigger": False},
    ],
}


def parsed(document, **state) -> ET.Element:
    return ET.fromstring(topology_svg(document, **state))


def nodes_of(root: ET.Element) -> list[str]:
    return [group.get("data-node") for group in root.iter(f"{SVG}g") if group.get("data-node") is not None]


def edges_of(root: ET.Element) -> dict[str, str]:
    return {group.get("data-edge"): group.get("class") for group in root.iter(f"{SVG}g") if group.get("data-edge")}


def test_every_node_and_edge_is_drawn_in_the_order_of_the_document():
    root = parsed(LOOP)

    assert nodes_of(root) == ["writer", "reviewer", "publish"]
    assert list(edges_of(root)) == ["0", "1", "2", "3"]


@pytest.mark.parametrize("kind", NODES.names())
def test_every_node_type_has_a_look_of_its_own(kind):
    text = topology_svg({"nodes": {"n": {"type": kind}}})

    assert "tp-other" not in text
    assert f">{kind.upper()}<" in text
    assert kind == "passthrough" or f".tp-{kind}" in style()


def test_counters_timers_tools_and_nested_topologies_say_what_they_do():
    said = [
        node_words(node, "n")
        for node in (
            {"type": "loop_counter", "count": 3},
            {"type": "loop_timer", "seconds": 90},
            {"type": "tool", "tool": "read_file"},
            {"type": "topology", "topology": "debate@1a2b"},
            {"type": "topology", "topology": {}},
        )
    ]

    assert said == ["at visit 3", "after 90 s", "read_file", "debate@1a2b", ""]


def test_what_leads_back_and_what_only_carries_data_look_different():
    classes = edges_of(parsed(LOOP))

    assert "tp-back" in classes["1"]
    assert "tp-data" in classes["3"]
    assert classes["0"] == "tp-edge"


def test_conditions_and_bounds_are_written_on_the_edges():
    text = topology_svg(LOOP)

    assert ">verdict is revise · max 4<" in text
    assert ">otherwise<" in text


def test_the_picture_says_in_words_what_it_shows():
    root = parsed(LOOP)

    assert root.get("role") == "img"
    assert root.find(f"{SVG}title").text == "Picture of the topology loop"
    described = root.find(f"{SVG}desc").text
    assert "reviewer to writer (verdict is revise · max 4, leads back)" in described
    assert "writer to publish (data only)" in described


FLOW = {
    "name": "flow",
    "start": ["list"],
    "end": ["sum"],
    "nodes": {"list": {"type": "agent"}, "each": {"type": "agent", "on_error": "continue"}, "sum": {"type": "agent"},
              "log": {"type": "passthrough", "join": "all"}},
    "edges": [
        {"from": "list", "to": "each", "map": {"split": {"regex": "^- (.+)$"}}, "transform": {"tag": "items"}},
        {"from": "each", "to": "sum", "map": {}, "reduce": {"group_size": 4}, "keep": True, "clear": "kept"},
        {"from": "list", "to": "log", "carry": False},
        {"from": "each", "to": "log"},
        {"from": "list", "to": "sum", "trigger": False, "transform": {"json": "notes"}},
    ],
}  # fmt: skip


def test_maps_reductions_transforms_and_joins_are_marked_and_said_in_full():
    root = parsed(FLOW)
    classes = edges_of(root)
    labels = {text.text for text in root.iter(f"{SVG}text")}
    described = root.find(f"{SVG}desc").text

    assert ["tp-map" in classes[str(place)] for place in range(5)] == [True, True, False, False, False]
    assert {"map · transform", "map · reduce · clear · keep", "no message", "transform", "join all"} <= labels
    assert "on error continue" in labels
    assert "list to each (passes on what stands in <items>, runs it once for each match of /^- (.+)$/)" in described
    assert "in groups of 4 until one result is left, clears kept first, its message is kept over visits" in described
    assert "list to log (starts it without a message)" in described
    assert "list to sum (data only, passes on the field notes)" in described


def test_a_run_shows_states_visits_tokens_and_firings():
    state = {"writer": NodeState("succeeded", 3, 12345), "reviewer": NodeState("failed", 2, None)}

    text = topology_svg(LOOP, nodes=state, edges={0: 3, 1: 2})

    assert "succeeded ×3" in text
    assert "12,345 tokens" in text
    assert "tokens unknown" in text
    assert "verdict is revise · 2 of 4" in text
    assert "tp-is-skipped" in text


def test_nothing_in_a_document_becomes_markup():
    nasty = "<script>alert(1)</script>\"'&\x00\x1b\u202e"
    document = {
        "name": nasty,
        "start": [nasty],
        "nodes": {nasty: {"type": nasty, "label": nasty, "agent": nasty}},
        "edges": [{"from": nasty, "to": nasty, "when": {"contains_any": [nasty]}}],
    }

    text = topology_svg(document)

    ET.fromstring(text)
    assert "<script" not in text
    assert "\u202e" not in text


def test_pictures_hold_no_styles_scripts_or_ids():
    text = topology_svg(LOOP)

    assert " style=" not in text
    assert " id=" not in text
    assert "<style" not in text
    assert "url(" not in text


@pytest.mark.parametrize("label", ["🤖 emoji 👩🏽‍🔬", "مرحبا بالعالم", "x" * 400, "漢字" * 60, "", "   "])
def test_labels_of_any_script_and_length_fit(label):
    root = parsed({"nodes": {"a": {"type": "agent", "label": label}}})

    shown = next(text.text for text in root.iter(f"{SVG}text") if text.get("class") == "tp-label")
    assert 0 < len(shown) < 40


def test_parallel_edges_and_self_edges_have_ways_of_their_own():
    document = {
        "start": ["a"],
        "nodes": {"a": {"type": "agent"}, "b": {"type": "agent"}},
        "edges": [{"from": "a", "to": "b"}, {"from": "a", "to": "b", "max": 2}, {"from": "a", "to": "a"}],
    }

    lines = [path.get("d") for path in parsed(document).iter(f"{SVG}path") if path.get("class") == "tp-line"]

    assert len(set(lines)) == 3


def test_boxes_do_not_overlap():
    document = {"start": ["n0"], "nodes": {f"n{n}": {"type": "agent"} for n in range(40)}, "edges": []}
    document["edges"] = [{"from": f"n{n // 3}", "to": f"n{n}"} for n in range(1, 40)]

    boxes = [
        tuple(float(rect.get(key)) for key in ("x", "y", "width", "height"))
        for rect in parsed(document).iter(f"{SVG}rect")
        if rect.get("class") == "tp-box"
    ]

    for index, (x, y, w, h) in enumerate(boxes):
        for ox, oy, ow, oh in boxes[index + 1 :]:
            assert x + w <= ox or ox + ow <= x or y + h <= oy or oy + oh <= y


def test_the_documents_own_layout_is_kept():
    document = LOOP | {"layout": {"writer": [10, 20], "reviewer": [310, 20], "publish": [610, 220]}}

    places = [
        (rect.get("x"), rect.get("y")) for rect in parsed(document).iter(f"{SVG}rect") if rect.get("class") == "tp-box"
    ]

    assert places == [("10.0", "20.0"), ("310.0", "20.0"), ("610.0", "220.0")]


def test_two_hundred_nodes_are_drawn_and_far_too_many_are_refused_in_words():
    chain = {"start": ["n0"], "nodes": {f"n{n}": {"type": "agent"} for n in range(200)}}
    chain["edges"] = [{"from": f"n{n}", "to": f"n{(n * 7 + 1) % 200}"} for n in range(200)]

    assert len(nodes_of(parsed(chain))) == 200
    assert "too many to draw" in topology_svg({"nodes": {f"n{n}": {} for n in range(1501)}})


def test_the_downloaded_picture_brings_its_colours():
    text = standalone_svg(topology_svg(LOOP))

    ET.fromstring(text)
    assert "<style>" in text
    assert "prefers-color-scheme:dark" in text
    assert "light-dark(" not in text


@pytest.mark.parametrize(
    "document", [None, [], "x", 3, {}, {"nodes": []}, {"nodes": {"a": 1}, "edges": {}, "start": 5}]
)
def test_what_is_no_topology_still_gives_a_picture(document):
    assert topology_svg(document).startswith("<svg")


anything = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(["a", "b", "c", "d", "<e>", "f&", "", "\x00", "\ud800"])
nodes = st.dictionaries(
    names, st.fixed_dictionaries({}, optional={"type": anything, "label": anything}) | anything, max_size=9
)
edges = st.lists(
    st.fixed_dictionaries(
        {"from": names, "to": names}, optional={"when": anything, "max": anything, "trigger": st.booleans()}
    )
    | anything,
    max_size=20,
)
documents = st.fixed_dictionaries(
    {"nodes": nodes, "edges": edges},
    optional={
        "start": st.lists(names) | anything,
        "end": st.lists(names) | anything,
        "layout": anything,
        "name": anything,
    },
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(documents)
def test_any_document_gives_the_same_well_formed_picture_with_every_node_once(document):
    text = topology_svg(document)

    assert len(nodes_of(ET.fromstring(text))) == len(document["nodes"])
    assert topology_svg(document) == text
