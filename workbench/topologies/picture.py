"""The picture of a topology: an SVG made here from the document, without scripts, styles or ids in it.

How it looks (colours, letters, light and dark) is the style sheet's: `static/topologies/picture.css`. The document may
be imperfect, and nothing in it is trusted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from workbench.topologies.drawing.boxes import Box, Sheet, lay_out
from workbench.topologies.drawing.lettering import attribute, escape, fitted, plain, width
from workbench.topologies.drawing.outline import Link, Outline, links_back, read_outline
from workbench.topologies.drawing.routes import Route, find_routes
from workbench.topologies.words import edge_details, edge_marks, edge_words, node_marks, node_words

Json = Any

MOST_NODES = 1500
MOST_EDGES = 4000
HEIGHT = 64.0
HEIGHT_OF_RUN = 84.0
MARGIN = 16.0
WORDS_SIZE = 11.5
TYPES = (
    *("agent", "router", "vote", "literal", "passthrough", "human", "python", "tool", "topology"),
    *("loop_counter", "loop_timer"),
)
STATUSES = ("queued", "running", "waiting", "succeeded", "failed", "skipped", "stopped", "limit_reached")


class NodeState(NamedTuple):
    """What a run made of a node so far. `tokens` is None where they are not known."""

    status: str
    visits: int
    tokens: int | None


def topology_svg(
    document: Json, *, nodes: Mapping[str, NodeState] | None = None, edges: Mapping[int, int] | None = None
) -> str:
    """The picture. In a run, `nodes` says how each node stands and `edges` how often each edge (by index) fired."""
    outline = read_outline(document)
    if len(outline.nodes) > MOST_NODES or len(outline.links) > MOST_EDGES:
        return _notice(f"{len(outline.nodes):,} nodes and {len(outline.links):,} edges are too many to draw here.")
    if not outline.nodes:
        return _notice("There are no nodes yet.")
    in_run = nodes is not None or edges is not None
    nodes, edges = nodes or {}, edges or {}
    back = links_back(outline)
    words = {link.number: _words(link, edges, in_run) for link in outline.links}
    widths = {index: width(text, WORDS_SIZE) + 14 for index, text in words.items() if text}
    sheet = lay_out(outline, back, widths, HEIGHT_OF_RUN if in_run else HEIGHT)
    routes = find_routes(outline, sheet)
    labels = _place_words(routes, widths, sheet)
    parts = [_edge(route, back, edges, in_run) for route in routes]
    parts += [
        _node(node, spec, outline, sheet.boxes[node], nodes.get(node), in_run) for node, spec in outline.nodes.items()
    ]
    parts += [_mark(sheet.boxes[node], True) for node in outline.start]
    parts += [_mark(sheet.boxes[node], False) for node in outline.end]
    parts += [_label(index, box, words[index], index in back) for index, box in labels.items()]
    return _svg(_extent(sheet, routes, labels), _title(document), _description(outline, back), parts)


def _words(link: Link, edges: Mapping[int, int], in_run: bool) -> str:
    fired = edges.get(link.number, 0)
    said = edge_words(link.spec, fired) if in_run and fired else edge_words(link.spec)
    return fitted(_joined([said, *edge_marks(link.spec)]), 176, WORDS_SIZE)


def _joined(parts: Sequence[str]) -> str:
    return " · ".join(part for part in parts if part)


def _place_words(routes: Sequence[Route], widths: Mapping[int, float], sheet: Sheet) -> dict[int, Box]:
    """Each edge's words on its line, where they cover least of the boxes and of other words."""
    obstacles, labels = list(sheet.boxes.values()), dict[int, Box]()
    for route in routes:
        index = route.link.number
        if index not in widths:
            continue
        boxes = [Box(x - widths[index] / 2, y - 9, widths[index], 18) for x, y in route.spots]
        labels[index] = min(boxes, key=lambda box: sum(box.overlap(other) for other in obstacles))
        obstacles.append(labels[index])
    return labels


# Parts


def _edge(route: Route, back: set[int], edges: Mapping[int, int], in_run: bool) -> str:
    link = route.link
    classes = ["tp-edge"]
    classes += ["tp-back"] if link.number in back else []
    classes += ["tp-data"] if not link.trigger else []
    many = link.spec.get("map") is not None
    classes += ["tp-map"] if many else []
    if in_run:
        classes += ["tp-fired"] if edges.get(link.number) else ["tp-quiet"]
    dashes = "" if link.trigger else ' stroke-dasharray="5 4"'
    said = _joined([edge_words(link.spec), *edge_details(link.spec)])
    title = f"{link.source} → {link.target}" + (f": {said}" if said else "")
    gap = f'<path class="tp-gap" d="{route.path}" fill="none" stroke="#fff" stroke-width="2"/>' if many else ""
    return (
        f'<g class="{" ".join(classes)}" data-edge="{link.number}"><title>{escape(title)}</title>'
        f'<path class="tp-line" d="{route.path}" fill="none" stroke="currentColor" stroke-width="{5 if many else 1.5}"'
        f'{dashes}/>{gap}<path class="tp-arrow" d="{route.arrow}" fill="currentColor"/></g>'
    )


def _label(number: int, box: Box, text: str, back: bool) -> str:
    kind = "tp-words tp-words-back" if back else "tp-words"
    return (
        f'<g class="{kind}" data-words="{number}"><rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" '
        f'height="18" rx="9" fill="#fff"/><text x="{box.centre:.1f}" y="{box.middle + 4:.1f}" text-anchor="middle" '
        f'font-size="{WORDS_SIZE}">{escape(text)}</text></g>'
    )


def _mark(box: Box, start: bool) -> str:
    """A disc where a run begins, a ringed disc where it ends, at the upper corner of the node's side."""
    x, y, kind = (box.x, box.y, "start") if start else (box.right, box.y, "end")
    ring = "" if start else f'<circle class="tp-ring" cx="{x:.1f}" cy="{y:.1f}" r="8.5" fill="none"/>'
    play = f'<path class="tp-play" d="M{x - 2.2:.1f} {y - 3.6:.1f}l6 3.6l-6 3.6z" fill="#fff"/>' if start else ""
    radius = 8.5 if start else 4.5
    return (
        f'<g class="tp-mark tp-{kind}"><title>{kind.capitalize()}</title>'
        f'<circle class="tp-disc" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>{ring}{play}</g>'
    )


def _node(
    node: str, spec: Mapping[str, Json], outline: Outline, box: Box, state: NodeState | None, in_run: bool
) -> str:
    kind = plain(spec.get("type") or "no type")
    label = plain(spec.get("label") or node) or "(no name)"
    classes = ["tp-node", f"tp-{kind}" if kind in TYPES else "tp-other"]
    if in_run:
        status = state.status if state else "skipped"
        classes.append(f"tp-is-{status}" if status in STATUSES else "tp-is-other")
    room = box.width - 30
    lines = [
        _text(box, 20, "tp-kind", fitted(kind.upper(), 80 if in_run else room, 9.5), 9.5),
        _text(box, 39, "tp-label", fitted(label, room, 14.5), 14.5),
        _text(box, 55, "tp-more", fitted(_joined([node_words(spec, node), *_small_marks(spec)]), room, 11), 11),
    ]
    if in_run:
        lines += _state_lines(box, state, kind)
    side = f"M{box.x + 10:.1f} {box.y:.1f}a10 10 0 0 0 -10 10v{box.height - 20:.1f}a10 10 0 0 0 10 10"
    return (
        f'<g class="{" ".join(classes)}" data-node={attribute(node)}>'
        f"<title>{escape(_node_words(node, spec, outline, state))}</title>"
        f'<rect class="tp-box" x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
        f'rx="10" fill="#fff" stroke="#777"/><path class="tp-side" d="{side}" fill="none" stroke-width="4"/>'
        f"{''.join(lines)}</g>"
    )


def _small_marks(spec: Mapping[str, Json]) -> list[str]:
    """What changes the way of a run: how a node joins, and that it may fail."""
    return [mark for mark in node_marks(spec) if mark.startswith(("join", "retries", "on error"))]


def _text(box: Box, down: float, kind: str, text: str, size: float, *, right: bool = False, kept: bool = False) -> str:
    """A line of letters. `kept`: also while there are none, for what a run is going to say there."""
    if not text and not kept:
        return ""
    x, anchor = (box.right - 14, ' text-anchor="end"') if right else (box.x + 16, "")
    return f'<text class="{kind}" x="{x:.1f}" y="{box.y + down:.1f}" font-size="{size}"{anchor}>{escape(text)}</text>'


def _state_lines(box: Box, state: NodeState | None, kind: str) -> list[str]:
    status = tokens = ""
    if state is not None:
        visits = f" ×{state.visits}" if state.visits > 1 else ""
        status = fitted(state.status.replace("_", " ") + visits, 96, 11)
    if state is not None and state.tokens is not None:
        tokens = f"{state.tokens:,} tokens"
    elif state is not None and kind == "agent" and state.visits and state.status != "running":
        tokens = "tokens unknown"
    return [
        _text(box, 20, "tp-status", status, 11, right=True, kept=True),
        _text(box, 73, "tp-tokens", tokens, 11, kept=True),
    ]


# The frame, and the picture in words


def _extent(sheet: Sheet, routes: Sequence[Route], labels: Mapping[int, Box]) -> Box:
    everything = [*sheet.boxes.values(), *(route.extent for route in routes), *labels.values()]
    left, top = min(box.x for box in everything) - MARGIN, min(box.y for box in everything) - MARGIN
    right, bottom = max(box.right for box in everything) + MARGIN, max(box.bottom for box in everything) + MARGIN
    return Box(left, top, right - left, bottom - top)


def _svg(extent: Box, title: str, description: str, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tp" role="img" width="{extent.width:.0f}" '
        f'height="{extent.height:.0f}" viewBox="{extent.x:.1f} {extent.y:.1f} {extent.width:.1f} {extent.height:.1f}" '
        f'font-family="system-ui, sans-serif"><title>{escape(title)}</title><desc>{escape(description)}</desc>'
        f"{''.join(parts)}</svg>"
    )


def _notice(sentence: str) -> str:
    text = f'<text class="tp-more" x="180" y="44" text-anchor="middle" font-size="14">{escape(sentence)}</text>'
    return _svg(Box(0, 0, 360, 80), "Picture of a topology", sentence, [text])


def _title(document: Json) -> str:
    name = document.get("name") if isinstance(document, Mapping) else None
    return f"Picture of the topology {name}" if isinstance(name, str) and name else "Picture of a topology"


def _description(outline: Outline, back: set[int]) -> str:
    """The whole topology in sentences, for those who can't see the picture."""
    nodes = ", ".join(f"{node} ({spec.get('type', 'no type')})" for node, spec in list(outline.nodes.items())[:60])
    ways = [f"{link.source} to {link.target}" + _way_words(link, back) for link in outline.links[:120]]
    return (
        f"{len(outline.nodes)} nodes: {nodes}. Starts at {_listed(outline.start)}, ends at {_listed(outline.end)}. "
        f"{len(outline.links)} edges: {'; '.join(ways) or 'none'}."
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "no node"


def _way_words(link: Link, back: set[int]) -> str:
    said = [edge_words(link.spec), *edge_details(link.spec), "leads back" if link.number in back else ""]
    kept = ", ".join(part for part in said if part)
    return f" ({kept})" if kept else ""


def _node_words(node: str, spec: Mapping[str, Json], outline: Outline, state: NodeState | None) -> str:
    said = [
        str(spec.get("label") or node),
        str(spec.get("type") or "no type"),
        node_words(spec, node),
        *node_marks(spec),
    ]
    said += ["start"] if node in outline.start else []
    said += ["end"] if node in outline.end else []
    if state is not None:
        said += [state.status, f"{state.visits} visits"]
        said += [f"{state.tokens:,} tokens"] if state.tokens is not None else []
    return ", ".join(part for part in said if part)
