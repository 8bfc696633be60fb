"""What changed from one state to the next, as the canvas takes it."""

from __future__ import annotations

from typing import Any

from workbench.topologies.editing.state import Document, State, edges_of, nodes_of

Json = Any
PARTS = ("nodes", "edges", "layout")


def state_patch(before: State, after: State) -> dict[str, Json]:
    """The changed parts only; null stands for what is gone. An order is given where it changed."""
    old, new = before.document, after.document
    found: dict[str, Json] = {
        "top": _changed(_top(old), _top(new)),
        "nodes": _changed(nodes_of(old), nodes_of(new)),
        "edges": _changed(edges_by_key(before), edges_by_key(after)),
        "layout": _changed(_layout(old), _layout(new)),
    }
    if list(nodes_of(old)) != list(nodes_of(new)):
        found["node_order"] = list(nodes_of(new))
    if before.keys != after.keys:
        found["keys"] = list(after.keys)
    return {key: value for key, value in found.items() if value or key in ("node_order", "keys")}


def edges_by_key(state: State) -> dict[str, Json]:
    """Key → edge, in order."""
    return dict(zip(state.keys, edges_of(state.document), strict=True))


def _top(document: Document) -> Document:
    return {key: value for key, value in document.items() if key not in PARTS}


def _layout(document: Document) -> Document:
    layout = document.get("layout")
    return layout if isinstance(layout, dict) else {}


def _changed(old: Document, new: Document) -> dict[str, Json]:
    gone = dict.fromkeys(key for key in old if key not in new)
    return {key: value for key, value in new.items() if key not in old or old[key] != value} | gone
