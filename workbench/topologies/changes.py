"""What changed between two versions of a topology, in a few words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.engine.documents import read_json

Json = Any
PARTS = ("description", "start", "end", "defaults", "limits", "vars", "workspace")
FEW = 3


def change_words(before: str, after: str) -> str:
    """`+reviewer · changed writer · edges 2 → 4 · limits`. An empty text stands for no topology."""
    old, new = _read(before), _read(after)
    if not after:
        return "deleted"
    if not before:
        return f"created: {_count(len(_nodes(new)), 'node')}, {_count(len(_edges(new)), 'edge')}"
    words = [*_node_words(_nodes(old), _nodes(new)), *_edge_words(_edges(old), _edges(new))]
    words += [part for part in PARTS if old.get(part) != new.get(part)]
    if not words and old.get("layout") != new.get("layout"):
        return "layout only"
    return " · ".join(words) or ("the same" if before == after else "spelling only")


def _read(text: str) -> Mapping[str, Json]:
    data = read_json(text).data if text else None
    return data if isinstance(data, Mapping) else {}


def _nodes(document: Mapping[str, Json]) -> Mapping[str, Json]:
    nodes = document.get("nodes")
    return nodes if isinstance(nodes, Mapping) else {}


def _edges(document: Mapping[str, Json]) -> list[Json]:
    edges = document.get("edges")
    return edges if isinstance(edges, list) else []


def _node_words(old: Mapping[str, Json], new: Mapping[str, Json]) -> list[str]:
    added, removed = [node for node in new if node not in old], [node for node in old if node not in new]
    changed = [node for node in new if node in old and new[node] != old[node]]
    words = [_listed("+", added), _listed("−", removed), _listed("changed ", changed)]
    return [word for word in words if word]


def _listed(sign: str, nodes: list[str]) -> str:
    if len(nodes) > FEW:
        return f"{sign}{len(nodes)} nodes"
    return ", ".join(f"{sign if place == 0 or sign != 'changed ' else ''}{node}" for place, node in enumerate(nodes))


def _edge_words(old: list[Json], new: list[Json]) -> list[str]:
    if old == new:
        return []
    return ["edges changed" if len(old) == len(new) else f"edges {len(old)} → {len(new)}"]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
