"""Two changes of one document brought together: what only one side changed is taken from it, the rest is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from workbench.engine.documents import pointer
from workbench.topologies.editing.patches import edges_by_key
from workbench.topologies.editing.placing import placed
from workbench.topologies.editing.state import Document, State

Json = Any
_GONE = object()


class Merged(NamedTuple):
    """The merged state. `lost` are the places that both sides changed differently: mine stands there."""

    state: State
    lost: list[str]


def states_merged(base: State, mine: State, theirs: State) -> Merged:
    """Mine on top of theirs; edges are known by their keys."""
    lost: list[str] = []
    old, own, new = (_without_edges(state.document) for state in (base, mine, theirs))
    document = _merged(old, own, new, (), lost)
    old, own, new = (_separate(state, base) for state in (base, mine, theirs))
    edges = _merged(old, own, new, ("edges",), lost)
    if any("edges" in state.document for state in (mine, theirs)):
        document["edges"] = list(edges.values())
    keys = tuple(key.partition("/")[0] for key in edges)
    places = {**theirs.places, **mine.places}
    return Merged(placed(State(document, _unique(keys), None, places)), [_named(path, edges) for path in lost])


def _without_edges(document: Document) -> Document:
    return {key: value for key, value in document.items() if key != "edges"}


def _separate(state: State, base: State) -> dict[str, Json]:
    """Edges by key; both sides may have given the same key to new edges, so those carry what they say as well."""
    return {key if key in base.keys else f"{key}/{hash(repr(edge))}": edge for key, edge in edges_by_key(state).items()}


def _unique(keys: Sequence[str]) -> tuple[str, ...]:
    found: list[str] = []
    highest = max((int(key[1:]) for key in keys if key[1:].isdecimal()), default=0)
    for key in keys:
        if key in found:
            highest += 1
            key = f"e{highest}"
        found.append(key)
    return tuple(found)


def _named(path: str, edges: Mapping[str, Json]) -> str:
    """The place of an edge by its number, as pointers have it."""
    steps = path.split("/")
    if len(steps) > 2 and steps[1] == "edges":
        whole = next((key for key in edges if pointer(key)[1:] == steps[2]), None)
        steps[2] = str(list(edges).index(whole)) if whole is not None else "-"
    return "/".join(steps)


def _merged(base: Json, mine: Json, theirs: Json, steps: tuple[str, ...], lost: list[str]) -> Json:
    if mine == theirs or (theirs == base and _same_order(theirs, base)):
        return mine
    if mine == base and _same_order(mine, base):
        return theirs
    if isinstance(mine, dict) and isinstance(theirs, dict):
        return _objects(base if isinstance(base, dict) else {}, mine, theirs, steps, lost)
    lost.append(pointer(*steps))
    return mine


def _same_order(one: Json, other: Json) -> bool:
    return list(one) == list(other) if isinstance(one, dict) and isinstance(other, dict) else True


def _objects(base: Document, mine: Document, theirs: Document, steps: tuple[str, ...], lost: list[str]) -> Document:
    found: Document = {}
    for key in _order(base, mine, theirs):
        old, own, new = (side.get(key, _GONE) for side in (base, mine, theirs))
        value = _merged(old, own, new, (*steps, key), lost)
        if value is _GONE and new is not _GONE and new != old:
            value = new  # they changed what I took away: nothing of theirs is lost
        if value is not _GONE:
            found[key] = value
    return found


def _order(base: Document, mine: Document, theirs: Document) -> list[str]:
    """My order, with what only they have put behind what it stands behind there; their order where mine is the old one."""
    first, second = (
        (theirs, mine) if [k for k in mine if k in base] == [k for k in base if k in mine] else (mine, theirs)
    )
    keys = list(first)
    for place, key in enumerate(second):
        if key not in first:
            before = list(second)[place - 1] if place else None
            keys.insert(keys.index(before) + 1 if before in keys else len(keys) if place else 0, key)
    return keys
