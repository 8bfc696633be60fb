"""Commands on edges: connect, reconnect; and what moves or removes nodes and edges alike: delete, reorder."""

from __future__ import annotations

from typing import Any

from workbench.topologies.editing.changes import Changed, Command
from workbench.topologies.editing.fields import edge_at, edge_index, node_at
from workbench.topologies.editing.state import (
    CommandRefused,
    Document,
    State,
    edges_of,
    fresh_keys,
    nodes_of,
)

Json = Any


def edge_insert(state: State, edge: Json, index: Json = None) -> tuple[State, str]:
    """The state with one edge more, and its key."""
    edges, keys = list(edges_of(state.document)), list(state.keys)
    place = index if isinstance(index, int) and 0 <= index <= len(edges) else len(edges)
    key = next(fresh_keys(keys))
    edges.insert(place, edge)
    keys.insert(place, key)
    state.document["edges"] = edges
    return state._replace(keys=tuple(keys)), key


def connect(state: State, command: Command) -> Changed:
    """An edge between two nodes."""
    source, target, fields = command.get("from"), command.get("to"), command.get("fields") or {}
    node_at(state, source)
    node_at(state, target)
    if not isinstance(fields, dict):
        raise CommandRefused('"fields" holds the fields of the new edge, as a JSON object.')
    edge = {"from": source, "to": target, **{key: fields[key] for key in fields if key not in ("from", "to")}}
    if edge in edges_of(state.document):
        raise CommandRefused(
            f"There is this very edge from {source} to {target} already. Give it a condition first, then draw another."
        )
    state, key = edge_insert(state, edge, command.get("index"))
    return Changed(state, f"Connect {source} to {target}", nodes=(), edges=(key,))


def reconnect(state: State, command: Command) -> Changed:
    """Another source or target for an edge; its fields stay."""
    edge = edge_at(state, command.get("edge"))
    for end in ("from", "to"):
        if command.get(end) is not None:
            node_at(state, command[end])
            edge[end] = command[end]
    return Changed(state, f"Reconnect {edge.get('from')} to {edge.get('to')}")


def delete(state: State, command: Command) -> Changed:
    """Nodes with their edges, and edges."""
    nodes, edges = command.get("nodes") or [], command.get("edges") or []
    if not isinstance(nodes, list) or not isinstance(edges, list) or not (nodes or edges):
        raise CommandRefused("Nothing is selected that could be deleted.")
    document = state.document
    for name in nodes:
        if not isinstance(name, str) or name not in nodes_of(document):
            raise CommandRefused(f"There is no node {name!r} (any more).")
    gone = {edge_index(state, edge) for edge in edges}
    kept = [
        (key, edge)
        for place, (key, edge) in enumerate(zip(state.keys, edges_of(document), strict=True))
        if place not in gone and not _touches(edge, nodes)
    ]
    label = _words(nodes, [edges_of(document)[place] for place in gone])
    if isinstance(document.get("edges"), list):
        document["edges"] = [edge for _, edge in kept]
    _nodes_forget(document, nodes)
    return Changed(state._replace(keys=tuple(key for key, _ in kept)), label, nodes=(), edges=())


def _touches(edge: Json, nodes: list[Json]) -> bool:
    return isinstance(edge, dict) and (edge.get("from") in nodes or edge.get("to") in nodes)


def _nodes_forget(document: Document, nodes: list[Json]) -> None:
    if not nodes:
        return
    document["nodes"] = {key: node for key, node in nodes_of(document).items() if key not in nodes}
    for key in ("start", "end"):
        if isinstance(document.get(key), list):
            document[key] = [name for name in document[key] if name not in nodes]
    layout = document.get("layout")
    if isinstance(layout, dict):
        document["layout"] = {key: place for key, place in layout.items() if key not in nodes}


def _words(nodes: list[Json], edges: list[Json]) -> str:
    if len(nodes) + len(edges) == 1:
        if nodes:
            return f"Delete {nodes[0]}"
        ends = edges[0] if isinstance(edges[0], dict) else {}
        return f"Delete the edge from {ends.get('from')} to {ends.get('to')}"
    said = [
        f"{len(items)} {word}{'s' if len(items) > 1 else ''}"
        for items, word in ((nodes, "node"), (edges, "edge"))
        if items
    ]
    return f"Delete {' and '.join(said)}"


def reorder(state: State, command: Command) -> Changed:
    """Another place among the nodes, or among the edges: messages arrive in the order of the edges."""
    to, document = command.get("to"), state.document
    if not isinstance(to, int) or isinstance(to, bool):
        raise CommandRefused('"to" is the new place, counted from 0.')
    if command.get("edge") is not None:
        pairs: list[Any] = list(zip(state.keys, edges_of(document), strict=True))
        place = edge_index(state, command["edge"])
        _shift(pairs, place, to)
        document["edges"] = [edge for _, edge in pairs]
        return Changed(state._replace(keys=tuple(key for key, _ in pairs)), f"Move edge {place + 1} to place {to + 1}")
    name = command.get("node")
    node_at(state, name)
    pairs = list(nodes_of(document).items())
    _shift(pairs, [key for key, _ in pairs].index(name), to)
    document["nodes"] = dict(pairs)
    return Changed(state, f"Move {name} to place {to + 1}")


def _shift(pairs: list[Any], place: int, to: int) -> None:
    if not 0 <= to < len(pairs):
        raise CommandRefused(f"There is no place {to + 1} among {len(pairs)}.")
    pairs.insert(to, pairs.pop(place))
