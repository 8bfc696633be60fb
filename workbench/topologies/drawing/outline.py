"""What can be drawn of a document, however imperfect it is: its nodes, the edges between them, and which lead back."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Json = Any
PATIENCE = 200  # how many doubtful data-only edges are looked into before the rest is drawn as leading back


class Link(NamedTuple):
    """An edge that joins two nodes of the document. `number` is its place in the document's `edges`."""

    number: int
    source: str
    target: str
    trigger: bool
    spec: Mapping[str, Json]


class Outline(NamedTuple):
    """The nodes, edges, starts and ends of a document, each only as far as it makes sense."""

    nodes: Mapping[str, Mapping[str, Json]]
    links: Sequence[Link]
    start: Sequence[str]
    end: Sequence[str]
    layout: Mapping[str, tuple[float, float]]


def read_outline(document: Json) -> Outline:
    """What can be drawn of any JSON at all; the rest is left out."""
    document = document if isinstance(document, Mapping) else {}
    nodes = {str(key): node if isinstance(node, Mapping) else {} for key, node in _mapping(document, "nodes").items()}
    edges = document.get("edges")
    links = [
        Link(index, edge["from"], edge["to"], edge.get("trigger") is not False, edge)
        for index, edge in enumerate(edges if isinstance(edges, list | tuple) else ())
        if isinstance(edge, Mapping) and _is_node(edge.get("from"), nodes) and _is_node(edge.get("to"), nodes)
    ]
    start, end = _names(document.get("start"), nodes), _names(document.get("end"), nodes)
    return Outline(nodes, links, start, end, _layout(_mapping(document, "layout"), nodes))


def _mapping(document: Mapping[str, Json], key: str) -> Mapping[str, Json]:
    value = document.get(key)
    return value if isinstance(value, Mapping) else {}


def _is_node(value: Json, nodes: Mapping[str, Json]) -> bool:
    return isinstance(value, str) and value in nodes


def _names(value: Json, nodes: Mapping[str, Json]) -> list[str]:
    items = value if isinstance(value, list | tuple) else [value]
    return list(dict.fromkeys(item for item in items if _is_node(item, nodes)))


def _layout(layout: Mapping[str, Json], nodes: Mapping[str, Json]) -> dict[str, tuple[float, float]]:
    """The document's own places, if every node has a sensible one."""
    places = {}
    for node in nodes:
        place = layout.get(node)
        if not isinstance(place, list | tuple) or len(place) != 2 or not all(_is_place(part) for part in place):
            return {}
        places[node] = (float(place[0]), float(place[1]))
    return places


def _is_place(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and abs(value) < 1e5


def links_back(outline: Outline) -> set[int]:
    """The indexes of the links that close a circle when one walks from the start nodes; a self edge is one of them."""
    ways: dict[str, list[Link]] = {node: [] for node in outline.nodes}
    for link in outline.links:
        if link.trigger:
            ways[link.source].append(link)
    back = _closing(ways, [*outline.start, *outline.nodes])
    return back | _data_back(outline, back)


def _closing(ways: Mapping[str, list[Link]], roots: Sequence[str]) -> set[int]:
    """Depth first, without recursion: a link to a node that is still being walked closes a circle."""
    back, done, walking = set[int](), set[str](), set[str]()
    for root in roots:
        if root in done or root in walking:
            continue
        walking.add(root)
        stack: list[tuple[str, Iterator[Link]]] = [(root, iter(ways[root]))]
        while stack:
            node, rest = stack[-1]
            link = next(rest, None)
            if link is None:
                walking.discard(node)
                done.add(node)
                stack.pop()
            elif link.target in walking:
                back.add(link.number)
            elif link.target not in done:
                walking.add(link.target)
                stack.append((link.target, iter(ways[link.target])))
    return back


def _data_back(outline: Outline, back: set[int]) -> set[int]:
    """The data-only links that lead against the others."""
    ahead: dict[str, set[str]] = {node: set() for node in outline.nodes}
    for link in outline.links:
        if link.trigger and link.number not in back:
            ahead[link.source].add(link.target)
    found, patience = set[int](), PATIENCE
    for link in outline.links:
        if link.trigger:
            continue
        patience -= 1
        if patience < 0 or _reaches(ahead, link.target, link.source):
            found.add(link.number)
        else:
            ahead[link.source].add(link.target)
    return found


def _reaches(ahead: Mapping[str, set[str]], source: str, target: str) -> bool:
    seen, waiting = {source}, [source]
    while waiting:
        node = waiting.pop()
        if node == target:
            return True
        waiting.extend(ahead[node] - seen)
        seen |= ahead[node]
    return False
