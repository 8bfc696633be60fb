"""Where each node stands: columns by the longest way from a start, rows so that edges cross little and run straight.

The classic layered way (Sugiyama): ranks, an order in each rank by barycentres, then rows by least squares.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from workbench.topologies.drawing.outline import Link, Outline

ROUNDS = 10
MOST_BENDS = 4000
BEND_HEIGHT = 10
ROW_GAP = 30
PULL = (
    1.0,
    0.05,
    8.0,
)  # between two nodes, a node and a bend, two bends: neighbours stand level, long edges are straight


class Bend(NamedTuple):
    """Where a long edge passes a column between nodes."""

    number: int
    rank: int


Item = str | Bend
Columns = list[list[Item]]
Neighbours = dict[Item, list[Item]]


class Places(NamedTuple):
    """The columns from left to right, and the middle of each node and bend in its column."""

    columns: Columns
    rows: Mapping[Item, float]


def find_places(outline: Outline, back: set[int], height: float) -> Places:
    """Column and row of every node, and of every place where a long edge passes a column."""
    forward = [link for link in outline.links if link.number not in back]
    ranks = _ranks(outline, forward)
    columns, before, after = _columns(ranks, forward)
    _order(columns, before, after)
    return Places(columns, _rows(columns, before, after, height))


def _ranks(outline: Outline, forward: Sequence[Link]) -> dict[str, int]:
    """The longest way from a node that nothing leads to."""
    ranks = dict.fromkeys(outline.nodes, 0)
    missing = dict.fromkeys(outline.nodes, 0)
    ways: dict[str, list[str]] = {node: [] for node in outline.nodes}
    for link in forward:
        missing[link.target] += 1
        ways[link.source].append(link.target)
    ready = [node for node, count in missing.items() if not count]
    for node in ready:
        for target in ways[node]:
            ranks[target] = max(ranks[target], ranks[node] + 1)
            missing[target] -= 1
            if not missing[target]:
                ready.append(target)
    return ranks


def _columns(ranks: Mapping[str, int], forward: Sequence[Link]) -> tuple[Columns, Neighbours, Neighbours]:
    columns: Columns = [[] for _ in range(max(ranks.values(), default=-1) + 1)]
    before: Neighbours = {node: [] for node in ranks}
    after: Neighbours = {node: [] for node in ranks}
    for node, rank in ranks.items():
        columns[rank].append(node)
    bends = sum(max(ranks[link.target] - ranks[link.source] - 1, 0) for link in forward)
    for link in forward:
        chain: list[Item] = [link.source]
        for rank in range(ranks[link.source] + 1, ranks[link.target] if bends <= MOST_BENDS else 0):
            bend = Bend(link.number, rank)
            columns[rank].append(bend)
            before[bend], after[bend] = [], []
            chain.append(bend)
        for left, right in zip(chain, [*chain[1:], link.target], strict=True):
            after[left].append(right)
            before[right].append(left)
    return columns, before, after


def _order(columns: Columns, before: Neighbours, after: Neighbours) -> None:
    """Sort every column by the middle of its neighbours, to and fro, and keep the order with the fewest crossings."""
    best, fewest = [list(column) for column in columns], _crossings(columns, after)
    position = {item: place for column in columns for place, item in enumerate(column)}
    for turn in range(ROUNDS):
        if not fewest:
            break
        rightwards = turn % 2 == 0
        neighbours = before if rightwards else after
        for column in columns if rightwards else reversed(columns):
            column.sort(key=lambda item: _middle(neighbours[item], position, position[item]))
            position.update({item: place for place, item in enumerate(column)})
        crossings = _crossings(columns, after)
        if crossings < fewest:
            best, fewest = [list(column) for column in columns], crossings
    columns[:] = best


def _middle(items: Sequence[Item], position: Mapping[Item, int], default: float) -> float:
    return sum(position[item] for item in items) / len(items) if items else default


def _crossings(columns: Columns, after: Neighbours) -> int:
    total = 0
    for left, right in pairwise(columns):
        position = {item: place for place, item in enumerate(right)}
        seen: list[int] = []
        for item in left:
            targets = sorted(position[target] for target in after[item] if target in position)
            total += sum(len(seen) - bisect_right(seen, target) for target in targets)
            for target in targets:
                insort(seen, target)
    return total


def _rows(columns: Columns, before: Neighbours, after: Neighbours, height: float) -> dict[Item, float]:
    rows: dict[Item, float] = {}
    for column in columns:
        spots = _spots(column, height)
        middle = spots[-1] / 2 if spots else 0
        rows.update({item: spot - middle for item, spot in zip(column, spots, strict=True)})
    for turn in range(ROUNDS):
        sides = ((before,), (after,), (before, after))[min(turn, 2)]
        for column in reversed(columns) if turn % 2 else columns:
            wanted = [_wanted(item, sides, rows) for item in column]
            rows.update(zip(column, _spread(wanted, _spots(column, height)), strict=True))
    return rows


def _spots(column: Sequence[Item], height: float) -> list[float]:
    """The middles of a column's items, packed as closely as they may stand."""
    spots, place = list[float](), 0.0
    for item, following in zip(column, [*column[1:], None], strict=True):
        spots.append(place)
        sizes = [BEND_HEIGHT if isinstance(each, Bend) else height for each in (item, following)]
        both_bend = isinstance(item, Bend) and isinstance(following, Bend)
        place += sum(sizes) / 2 + (ROW_GAP / 3 if both_bend else ROW_GAP)
    return spots


def _wanted(item: Item, sides: Sequence[Neighbours], rows: Mapping[Item, float]) -> tuple[float, float]:
    """Where an item would like to be (where its neighbours are), and how much: long edges like to be straight."""
    neighbours = [neighbour for side in sides for neighbour in side[item]]
    if not neighbours:
        return rows[item], 0.01
    weights = [PULL[isinstance(item, Bend) + isinstance(other, Bend)] for other in neighbours]
    total = sum(weights)
    return sum(rows[other] * weight for other, weight in zip(neighbours, weights, strict=True)) / total, total


def _spread(wanted: Sequence[tuple[float, float]], spots: Sequence[float]) -> list[float]:
    """The rows nearest to the wanted ones that keep order and distance (pool adjacent violators)."""
    pools: list[tuple[float, float, int]] = []
    for (row, weight), spot in zip(wanted, spots, strict=True):
        value, count = row - spot, 1
        while pools and pools[-1][0] > value:
            other, heavy, number = pools.pop()
            value = (value * weight + other * heavy) / (weight + heavy)
            weight, count = weight + heavy, count + number
        pools.append((value, weight, count))
    values = [value for value, _, count in pools for _ in range(count)]
    return [value + spot for value, spot in zip(values, spots, strict=True)]
