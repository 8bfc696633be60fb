"""The way of every edge between the boxes: forward ones from right to left side, the others round below or above."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from workbench.topologies.drawing.boxes import Box, Sheet
from workbench.topologies.drawing.outline import Link, Outline

ARROW = 9.0
LANE = 24.0
CORNER = 10.0
PORT_GAP = 15.0

Point = tuple[float, float]


class Route(NamedTuple):
    """An edge on the page: its path, its arrowhead's path, where its words may stand, the room it takes."""

    link: Link
    path: str
    arrow: str
    spots: Sequence[Point]
    extent: Box


class End(NamedTuple):
    """One end of an edge, at a side of a box. `towards` sorts the ends of one side so that edges don't cross there."""

    link: Link
    node: str
    out: bool
    towards: float


def find_routes(outline: Outline, sheet: Sheet) -> list[Route]:
    """Every edge's way, in the order of the document."""
    forward = [link for link in outline.links if _leads_right(link, sheet)]
    others = [link for link in outline.links if not _leads_right(link, sheet)]
    round_ways = _round_ways(others, sheet)
    ports = _ports([*_ends(forward, sheet), *_side_ends(round_ways)], sheet)
    routes = [_forward(link, sheet, ports) for link in forward]
    routes += [_round(way, sheet, ports) for way in round_ways]
    return sorted(routes, key=lambda route: route.link.number)


def _leads_right(link: Link, sheet: Sheet) -> bool:
    return sheet.boxes[link.target].x >= sheet.boxes[link.source].right + 3 * ARROW


# Ports


def _ends(links: Sequence[Link], sheet: Sheet) -> Iterator[End]:
    for link in links:
        bends = sheet.bends.get(link.number, ())
        first = bends[0] if bends else sheet.boxes[link.target]
        last = bends[-1] if bends else sheet.boxes[link.source]
        yield End(link, link.source, True, first.middle)
        yield End(link, link.target, False, last.middle)


def _ports(ends: Sequence[End], sheet: Sheet) -> dict[tuple[int, bool], Point]:
    """A point of its own for every end, spread along the side of its box."""
    sides: dict[tuple[str, bool], list[End]] = {}
    for end in ends:
        sides.setdefault((end.node, end.out), []).append(end)
    ports = {}
    for (node, out), found in sides.items():
        box = sheet.boxes[node]
        found.sort(key=lambda end: (end.towards, end.link.number))
        gap = min(PORT_GAP, (box.height - 20) / max(len(found) - 1, 1))
        for place, end in enumerate(found):
            y = box.middle + (place - (len(found) - 1) / 2) * gap
            ports[end.link.number, out] = (box.right if out else box.x, y)
    return ports


# Forward: a curve from gap to gap, straight past the columns between


def _forward(link: Link, sheet: Sheet, ports: Mapping[tuple[int, bool], Point]) -> Route:
    start, stop = ports[link.number, True], ports[link.number, False]
    stations: list[tuple[Point, Point]] = [(start, start)]
    stations += [((bend.x, bend.y), (bend.right, bend.y)) for bend in sheet.bends.get(link.number, ())]
    stations += [((stop[0] - ARROW + 1, stop[1]), stop)]
    path, spots = f"M{_xy(start)}", list[Point]()
    for (_, leave), (enter, beyond) in pairwise(stations):
        bow = (enter[0] - leave[0]) / 2
        path += f"C{_xy((leave[0] + bow, leave[1]))} {_xy((enter[0] - bow, enter[1]))} {_xy(enter)}"
        if beyond != stop:
            path += f"H{_n(beyond[0])}"
        spots += [_on_curve(leave, enter, part) for part in (0.5, 0.4, 0.6, 0.3, 0.7)]
    heights = [leave[1] for _, leave in stations]
    low, high = min(heights), max(heights)
    return Route(link, path, _arrow(stop, (1, 0)), spots, Box(start[0], low, stop[0] - start[0], high - low))


def _on_curve(start: Point, stop: Point, part: float) -> Point:
    """A point of the S-shaped curve that leaves and arrives level."""
    rest = 1 - part
    ease = 3 * rest * part**2 + part**3
    bow = (start[0] + stop[0]) / 2
    x = rest**3 * start[0] + 3 * rest * part * bow + part**3 * stop[0]
    return x, start[1] + (stop[1] - start[1]) * ease


# Round: down (or up) into a lane of its own, back, and up again


class Round(NamedTuple):
    """The way of an edge that does not lead right. `out_x` and `in_x` are where it goes down and comes up again."""

    link: Link
    below: bool
    lane: float
    out_x: float
    in_x: float
    out_side: bool
    in_side: bool


def _round_ways(links: Sequence[Link], sheet: Sheet) -> list[Round]:
    obstacles = [*sheet.boxes.values(), *(bend for bends in sheet.bends.values() for bend in bends)]
    used: dict[tuple[object, bool], int] = {}
    lanes: list[tuple[bool, Box]] = []
    ways = []
    for link in sorted(links, key=lambda link: (abs(_reach(link, sheet)), link.number)):
        source, target = sheet.boxes[link.source], sheet.boxes[link.target]
        blocked = {
            below: (_hidden(source, obstacles, below), _hidden(target, obstacles, below)) for below in (True, False)
        }
        below = sum(blocked[True]) <= sum(blocked[False])
        out_side, in_side = blocked[below]
        shifts = [
            _shift(used, link.source, source.right, below, out_side),
            _shift(used, link.target, target.x, below, in_side),
        ]
        reach = 60 if link.source == link.target else 22
        out_x = source.right + 16 + shifts[0] if out_side else source.centre + reach + min(shifts[0], 26)
        in_x = target.x - 26 - shifts[1] if in_side else target.centre - reach - min(shifts[1], 26)
        lane = _lane(min(out_x, in_x), max(out_x, in_x), obstacles, lanes, below)
        ways.append(Round(link, below, lane, out_x, in_x, out_side, in_side))
    return ways


def _shift(used: dict[tuple[object, bool], int], node: str, side: float, below: bool, at_side: bool) -> float:
    """How far to step aside for the lines that already go up or down here: in the gap, or at the node's edge."""
    key: tuple[object, bool] = (side if at_side else node, below)
    used[key] = used.get(key, -1) + 1
    return used[key] * 11.0


def _reach(link: Link, sheet: Sheet) -> float:
    return sheet.boxes[link.source].x - sheet.boxes[link.target].x


def _hidden(box: Box, obstacles: Sequence[Box], below: bool) -> bool:
    """Whether something stands below (or above) the box in its column."""
    return any(
        other.x < box.right + 4 and other.right > box.x - 4 and (other.y > box.y if below else other.y < box.y)
        for other in obstacles
        if other != box
    )


def _lane(left: float, right: float, obstacles: Sequence[Box], lanes: list[tuple[bool, Box]], below: bool) -> float:
    """The first free height for a level line from left to right, under (or over) all that stands between."""
    taken = [box for side, box in lanes if side == below] + list(obstacles)
    between = [box for box in taken if box.x <= right + 6 and box.right >= left - 6]
    if below:
        lane = max((box.bottom for box in between), default=0) + LANE
    else:
        lane = min((box.y for box in between), default=0) - LANE
    lanes.append((below, Box(left, lane, right - left, 0)))
    return lane


def _side_ends(ways: Sequence[Round]) -> Iterator[End]:
    for way in ways:
        towards = way.lane + (1e6 if way.below else -1e6)
        if way.out_side:
            yield End(way.link, way.link.source, True, towards)
        if way.in_side:
            yield End(way.link, way.link.target, False, towards)


def _round(way: Round, sheet: Sheet, ports: Mapping[tuple[int, bool], Point]) -> Route:
    source, target = sheet.boxes[way.link.source], sheet.boxes[way.link.target]
    lane = way.lane
    points: list[Point] = []
    if way.out_side:
        port = ports[way.link.number, True]
        points += [port, (way.out_x, port[1])]
    else:
        points += [(way.out_x, _edge(source, way.below))]
    points += [(way.out_x, lane), (way.in_x, lane)]
    if way.in_side:
        port = ports[way.link.number, False]
        points += [(way.in_x, port[1]), (port[0] - ARROW + 1, port[1])]
        arrow = _arrow(port, (1, 0))
    else:
        into = -1 if way.below else 1
        points += [(way.in_x, _edge(target, way.below) - into * (ARROW - 1))]
        arrow = _arrow((way.in_x, _edge(target, way.below)), (0, into))
    left, right = min(way.out_x, way.in_x), max(way.out_x, way.in_x)
    spots = [(left + (right - left) * part, lane) for part in (0.5, 0.35, 0.65, 0.2, 0.8)]
    return Route(way.link, _rounded(points), arrow, spots, Box(left, lane, right - left, 0))


def _edge(box: Box, below: bool) -> float:
    return box.bottom if below else box.y


def _rounded(points: Sequence[Point]) -> str:
    """A path along level and upright lines with rounded corners."""
    path = f"M{_xy(points[0])}"
    for before, here, after in zip(points, points[1:], points[2:], strict=False):
        room = min(CORNER, _distance(before, here) / 2, _distance(here, after) / 2)
        path += f"L{_xy(_towards(here, before, room))}Q{_xy(here)} {_xy(_towards(here, after, room))}"
    return path + f"L{_xy(points[-1])}"


def _distance(one: Point, other: Point) -> float:
    return abs(one[0] - other[0]) + abs(one[1] - other[1])


def _towards(start: Point, stop: Point, length: float) -> Point:
    whole = _distance(start, stop) or 1
    return start[0] + (stop[0] - start[0]) * length / whole, start[1] + (stop[1] - start[1]) * length / whole


def _arrow(tip: Point, towards: Point) -> str:
    (x, y), (dx, dy) = tip, towards
    back = (x - dx * ARROW, y - dy * ARROW)
    return (
        f"M{_xy(tip)}L{_xy((back[0] - dy * 4.5, back[1] - dx * 4.5))}L{_xy((back[0] + dy * 4.5, back[1] + dx * 4.5))}Z"
    )


def _xy(point: Point) -> str:
    return f"{_n(point[0])} {_n(point[1])}"


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
