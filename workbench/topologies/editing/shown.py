"""What canvas and list draw of a document that needs the server's knowledge: words, marks, which edges lead back, places."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from workbench.engine.errors import PluginError
from workbench.engine.nodes import NODES
from workbench.topologies.drawing.outline import links_back, read_outline
from workbench.topologies.editing.nesting import DEEPEST
from workbench.topologies.editing.placing import places_shown
from workbench.topologies.editing.state import State, edges_of, names_of, nodes_of, state_of
from workbench.topologies.words import edge_marks, edge_words, node_marks, node_words

Json = Any


def state_shown(state: State, depth: int = 0) -> dict[str, Json]:
    """Words and marks of every node and edge, and a place for each node; of nested topologies the same inside."""
    document = state.document
    start, end = set(names_of(document, "start")), set(names_of(document, "end"))
    back = links_back(read_outline(document))
    return {
        "nodes": {
            name: node_shown(name, node) | {"start": name in start, "end": name in end} | _inside(node, depth)
            for name, node in nodes_of(document).items()
        },
        "edges": {
            key: edge_shown(edge) | {"back": place in back}
            for place, (key, edge) in enumerate(zip(state.keys, edges_of(document), strict=True))
        },
        "places": {name: list(place) for name, place in places_shown(state).items()},
    }


def _inside(node: Json, depth: int) -> dict[str, Json]:
    nested = node.get("topology") if isinstance(node, Mapping) else None
    if not isinstance(nested, dict) or depth >= DEEPEST:
        return {}
    state = state_of(nested)
    return {"inside": {"shown": state_shown(state, depth + 1), "keys": list(state.keys)}}


def node_shown(name: str, node: Json) -> dict[str, Json]:
    """A node in words; of one that is no object, only its id."""
    said = node if isinstance(node, Mapping) else {}
    return {
        "title": str(said.get("label") or name)[:500],
        "type": str(said.get("type") or "no type")[:80],
        "small": node_words(said, name),
        "marks": node_marks(said),
    }


def edge_shown(edge: Json) -> dict[str, Json]:
    """An edge in words."""
    said = edge if isinstance(edge, Mapping) else {}
    return {"words": edge_words(said), "data": said.get("trigger") is False, "marks": edge_marks(said)}


def types_shown() -> list[dict[str, Json]]:
    """Every node type with the first sentence of what it does, for the palette."""
    found = []
    for name in NODES.names():
        try:
            words = inspect.getdoc(NODES.get(name)) or ""
        except PluginError:
            continue
        found.append({"name": name, "summary": " ".join(words.split("\n\n")[0].split())})
    return found
