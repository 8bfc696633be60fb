"""From columns and rows to the page: the box of every node, and the points where long edges pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from workbench.topologies.drawing.outline import Outline
from workbench.topologies.drawing.places import Bend, find_places

WIDTH = 188.0
NARROWEST_GAP = 92.0
WIDEST_GAP = 236.0


class Box(NamedTuple):
    """A rectangle, by its left upper corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def middle(self) -> float:
        return self.y + self.height / 2

    @property
    def centre(self) -> float:
        return self.x + self.width / 2

    def overlap(self, other: Box) -> float:
        """The area that both cover."""
        wide = min(self.right, other.right) - max(self.x, other.x)
        high = min(self.bottom, other.bottom) - max(self.y, other.y)
        return max(wide, 0) * max(high, 0)


class Sheet(NamedTuple):
    """Where everything stands. `bends` are the boxes that a long edge passes through, by the edge's index."""

    boxes: Mapping[str, Box]
    bends: Mapping[int, Sequence[Box]]


def lay_out(outline: Outline, back: set[int], labels: Mapping[int, float], height: float) -> Sheet:
    """The document's own layout if it is complete, else one of ours. `labels` are the widths of the edges' words."""
    if outline.layout:
        return Sheet({node: Box(x, y, WIDTH, height) for node, (x, y) in outline.layout.items()}, {})
    places = find_places(outline, back, height)
    ranks = {item: rank for rank, column in enumerate(places.columns) for item in column}
    gaps = [NARROWEST_GAP] * len(places.columns)
    for link in outline.links:
        if link.number in labels and link.number not in back:
            left = ranks[link.source]
            gaps[left] = min(max(gaps[left], labels[link.number] + 48), WIDEST_GAP)
    boxes, bends, x = dict[str, Box](), dict[int, list[Box]](), 0.0
    for column, gap in zip(places.columns, gaps, strict=True):
        for item in column:
            if isinstance(item, Bend):
                bends.setdefault(item.number, []).append(Box(x, round(places.rows[item], 1), WIDTH, 0))
            else:
                boxes[item] = Box(x, round(places.rows[item] - height / 2, 1), WIDTH, height)
        x += WIDTH + gap
    # In the document's order, which is the order a screen reader and a person looking at the source will meet.
    return Sheet({node: boxes[node] for node in outline.nodes}, bends)
