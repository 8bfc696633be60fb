"""Parts of a topology on the clipboard: taken out, put in, doubled. Ids that are taken become new ones."""

from __future__ import annotations

import copy
from typing import Any

from workbench.engine.spec import NODE_ID, RESERVED_IDS
from workbench.topologies.editing.changes import Changed, Command
from workbench.topologies.editing.edges import edge_insert
from workbench.topologies.editing.placing import layout_set, number, pair, places_shown
from workbench.topologies.editing.renaming import edge_follow, follow, free_id
from workbench.topologies.editing.state import CommandRefused, Document, State, edges_of, nodes_of, state_of

Json = Any
FRAGMENT = "workbench.fragment/1"
TOPOLOGY = "workbench.topology/1"
STEP = 40


def fragment_of(state: State, names: list[Json]) -> Document:
    """Nodes and the edges among them, as they go on the clipboard."""
    document, nodes, places = state.document, nodes_of(state.document), places_shown(state)
    for name in names:
        if not isinstance(name, str) or name not in nodes:
            raise CommandRefused(f"There is no node {name!r} (any more).")
    inside = [
        edge for edge in edges_of(document)
        if isinstance(edge, dict) and edge.get("from") in names and edge.get("to") in names
    ]  # fmt: skip
    return copy.deepcopy(
        {
            "format": FRAGMENT,
            "nodes": {name: nodes[name] for name in nodes if name in names},
            "edges": inside,
            "layout": {name: list(places[name]) for name in nodes if name in names and name in places},
        }
    )


def duplicate(state: State, command: Command) -> Changed:
    """The same nodes once more, beside themselves, with the edges among them."""
    names = command.get("nodes")
    if not isinstance(names, list) or not names:
        raise CommandRefused("Nothing is selected that could be copied.")
    offset = pair(command.get("at") or [STEP, STEP])
    fragment = fragment_of(state, names)
    places = [fragment["layout"][name] for name in fragment["layout"]]
    corner = [min(place[axis] for place in places) + offset[axis] for axis in (0, 1)] if places else None
    changed = _put(state, fragment, corner)
    what = names[0] if len(names) == 1 else f"{len(names)} nodes"
    return changed._replace(label=f"Copy {what}")


def paste(state: State, command: Command) -> Changed:
    """What was on the clipboard: a part of a topology, or a whole one."""
    fragment = command.get("fragment")
    if not isinstance(fragment, dict) or fragment.get("format") not in (FRAGMENT, TOPOLOGY):
        raise CommandRefused("What is on the clipboard is no part of a topology. Copy nodes first.")
    if not nodes_of(fragment):
        raise CommandRefused("There are no nodes on the clipboard.")
    changed = _put(state, copy.deepcopy(fragment), command.get("at"))
    made = len(changed.nodes or ())
    return changed._replace(label=f"Paste {made} node{'' if made == 1 else 's'}")


def _put(state: State, fragment: Document, at: Json) -> Changed:
    document, nodes = state.document, dict(nodes_of(state.document))
    names: dict[str, str] = {}
    for old in nodes_of(fragment):
        usable = NODE_ID.fullmatch(old) and old not in RESERVED_IDS
        taken = {*nodes, *names.values()}
        names[old] = old if usable and old not in taken else free_id(old, taken)
    for old, node in nodes_of(fragment).items():
        follow(node, names)
        nodes[names[old]] = node
    empty = not nodes_of(document)
    before = {} if empty else places_shown(state)
    document["nodes"] = nodes
    keys = []
    for edge in edges_of(fragment):
        if isinstance(edge, dict) and edge.get("from") in names and edge.get("to") in names:
            edge_follow(edge, names)
            state, key = edge_insert(state, edge)
            keys.append(key)
    if empty:
        for end in ("start", "end"):
            marked = [names[name] for name in fragment.get(end) or [] if name in names]
            document[end] = marked or [next(iter(names.values()))]
    _place(state, fragment, names, before, at)
    return Changed(state, "Paste", nodes=tuple(names.values()), edges=tuple(keys))


def _place(state: State, fragment: Document, names: dict[str, str], before: Json, at: Json) -> None:
    """Where the new nodes stand: as they stood to each other, their left upper corner at a place."""
    places = places_shown(state_of(fragment))
    left, top = (min(place[axis] for place in places.values()) for axis in (0, 1))
    if at is None:
        lowest = max((place[1] for place in before.values()), default=-100)
        at = [min((place[0] for place in before.values()), default=40), lowest + 140]
    x, y = (number(part) for part in pair(at))
    moved = {names[name]: [place[0] - left + x, place[1] - top + y] for name, place in places.items()}
    layout_set(state, {name: list(place) for name, place in before.items()} | moved)
