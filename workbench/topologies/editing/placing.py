"""Where nodes stand: as the document says, and for nodes that it says nothing of, where they were shown before."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.topologies.drawing.boxes import lay_out
from workbench.topologies.drawing.outline import Outline, links_back, read_outline
from workbench.topologies.editing.state import CommandRefused, Document, State, edges_of, nodes_of

Json = Any
Places = dict[str, tuple[int, int]]
HEIGHT = 64.0
RIGHT, BELOW = 280, 110


def placed(state: State) -> State:
    """The state with a place for every node that has none in its document."""
    own = layout_of(state.document)
    nodes = nodes_of(state.document)
    known = {name: (int(x), int(y)) for name, (x, y) in state.places.items() if name in nodes}
    missing = [name for name in nodes if name not in own and name not in known]
    if len(missing) > max(len(nodes) / 2, 1):
        known = places_made(state.document) if not own else known
        missing = [name for name in nodes if name not in own and name not in known]
    return state._replace(places=_filled(state.document, known | own, missing) if missing else known)


def _filled(document: Document, places: Places, missing: Sequence[str]) -> Places:
    """New nodes stand to the right of the node that leads to them, or below everything; never on another one."""
    sources: dict[Json, Json] = {}
    for edge in edges_of(document):
        if isinstance(edge, Mapping) and isinstance(edge.get("to"), str):
            sources.setdefault(edge["to"], edge.get("from"))
    taken = set(places.values())
    for name in missing:
        source = sources.get(name)
        if isinstance(source, str) and source in places and source != name:
            x, y = places[source][0] + RIGHT, places[source][1]
        else:
            x, y = min((x for x, _ in taken), default=0), max((y for _, y in taken), default=-BELOW) + BELOW
        while any(abs(x - left) < RIGHT - 60 and abs(y - top) < BELOW - 20 for left, top in taken):
            y += BELOW
        places[name] = (x, y)
        taken.add((x, y))
    return places


def places_shown(state: State) -> Places:
    """A place for every node."""
    whole = placed(state)
    own = layout_of(whole.document)
    return {
        name: own.get(name) or (int(whole.places[name][0]), int(whole.places[name][1]))
        for name in nodes_of(state.document)
    }


def places_made(document: Document) -> Places:
    """The places that the server's picture gives."""
    outline = read_outline(document)
    bare = Outline(outline.nodes, outline.links, outline.start, outline.end, {})
    boxes = lay_out(bare, links_back(bare), {}, HEIGHT).boxes
    return {name: (round(box.x), round(box.y)) for name, box in boxes.items()}


def layout_of(document: Document) -> Places:
    """The document's own places, as far as they make sense."""
    layout, nodes = document.get("layout"), nodes_of(document)
    found: Places = {}
    for name, place in layout.items() if isinstance(layout, dict) else ():
        try:
            x, y = (number(part) for part in pair(place))
        except CommandRefused:
            continue
        if name in nodes:
            found[name] = (x, y)
    return found


def layout_set(state: State, places: Mapping[str, Json]) -> None:
    """Write places down, whole numbers, for every node: moving one leaves the others where they are seen."""
    known: dict[str, Json] = {name: list(place) for name, place in places_shown(state).items()}
    for name, place in places.items():
        known[name] = [number(part) for part in pair(place)]
    state.document["layout"] = {name: known[name] for name in nodes_of(state.document)}


def pair(place: Json) -> list[Json]:
    """The two parts of a place. Raises `CommandRefused`."""
    if not isinstance(place, list | tuple) or len(place) != 2:
        raise CommandRefused("A place is two numbers: [x, y].")
    return list(place)


def number(part: Json) -> int:
    """A part of a place, as a whole number. Raises `CommandRefused`."""
    if isinstance(part, bool) or not isinstance(part, int | float) or not math.isfinite(part) or abs(part) > 99_999:
        raise CommandRefused("A place is two numbers, neither beyond 99,999.")
    return round(part)
