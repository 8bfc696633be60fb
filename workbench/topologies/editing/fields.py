"""Sets and removes single values of a document by JSON Pointer."""

from __future__ import annotations

from typing import Any

from workbench.engine.documents import pointer
from workbench.topologies.editing.state import CommandRefused, State, edges_of, nodes_of

Json = Any
MISSING = object()
HELD = {("nodes",): "node", ("edges",): "edge"}


def pointer_steps(path: str) -> list[str]:
    """The steps of a JSON Pointer. Raises `CommandRefused` for what is none."""
    if path and not path.startswith("/"):
        raise CommandRefused(f"{path!r} is no place in a document: a JSON Pointer begins with a slash.")
    return [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]


def value_at(value: Json, steps: list[str]) -> Json:
    """What stands at a place, or `MISSING`."""
    for step in steps:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return MISSING
    return value


def node_at(state: State, node: Json) -> dict[str, Json]:
    """The node of an id, to be changed."""
    found = nodes_of(state.document).get(node) if isinstance(node, str) else None
    if found is None:
        raise CommandRefused(f"There is no node {node!r} (any more).")
    if not isinstance(found, dict):
        raise CommandRefused(f"Node {node!r} is no JSON object; mend it in the text.")
    return found


def edge_index(state: State, edge: Json) -> int:
    """The place of an edge among the edges, by its key or its place."""
    if isinstance(edge, str) and edge in state.keys:
        return state.keys.index(edge)
    if isinstance(edge, int) and not isinstance(edge, bool) and 0 <= edge < len(state.keys):
        return edge
    raise CommandRefused(f"There is no edge {edge!r} (any more).")


def edge_at(state: State, edge: Json) -> dict[str, Json]:
    """The edge, to be changed."""
    index = edge_index(state, edge)
    found = edges_of(state.document)[index]
    if not isinstance(found, dict):
        raise CommandRefused(f"Edge {index} is no JSON object; mend it in the text.")
    return found


def set_value(root: Json, steps: list[str], value: Json, *, what: str = "") -> None:
    """Write a value, or with `MISSING` take it away; objects on the way are made, and emptied ones taken away again."""
    if not steps:
        raise CommandRefused("A place in the document is missing.")
    holders = [root]
    for step in steps[:-1]:
        holder, inner = holders[-1], value_at(holders[-1], [step])
        if inner is MISSING or inner is None:
            if value is MISSING:
                return
            if not isinstance(holder, dict):
                raise CommandRefused(f"There is nothing at {pointer(*steps)}{what}.")
            inner = holder[step] = {}
        holders.append(inner)
    _write(holders[-1], steps, value, what)
    if value is MISSING:
        _tidy(holders, steps)


def _write(holder: Json, steps: list[str], value: Json, what: str) -> None:
    last = steps[-1]
    if isinstance(holder, dict):
        if value is MISSING:
            holder.pop(last, None)
        else:
            holder[last] = value
    elif isinstance(holder, list) and (last == "-" or last.isdecimal()):
        place = len(holder) if last == "-" else int(last)
        if place > len(holder) or (value is MISSING and place == len(holder)):
            raise CommandRefused(f"There is nothing at {pointer(*steps)}{what}.")
        holder[place : place + 1] = [] if value is MISSING else [value]
    else:
        raise CommandRefused(f"Nothing can be written at {pointer(*steps)}{what}.")


def _tidy(holders: list[Json], steps: list[str]) -> None:
    """An object or list below the root that has become empty by taking its last value away says nothing: it goes too."""
    for depth in range(len(holders) - 1, 0, -1):
        if holders[depth]:
            return
        above = holders[depth - 1]
        if not isinstance(above, dict):
            return
        above.pop(steps[depth - 1], None)
