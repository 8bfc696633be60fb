"""What is edited: the raw document, a stable name for each of its edges, and a text that can't be read yet."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from workbench.engine.documents import content_hash
from workbench.engine.errors import WorkbenchError

Json = Any
Document = dict[str, Json]


class CommandRefused(WorkbenchError):
    """A command that makes no sense here. Nothing was changed."""

    code = "refused"


class Broken(NamedTuple):
    """A text that can't be read, kept as it was typed, and why it can't."""

    text: str
    syntax: str
    message: str


class State(NamedTuple):
    """A moment of a draft. `keys` names the edges, in order: they stay when edges come and go. `places` is where the nodes
    are shown that have no place in the document, so that they stay there too."""

    document: Document
    keys: tuple[str, ...]
    broken: Broken | None = None
    places: Mapping[str, Sequence[int]] = {}


def state_of(document: Document) -> State:
    """A document that is edited for the first time."""
    return State(document, tuple(f"e{number}" for number in range(1, len(edges_of(document)) + 1)))


def nodes_of(document: Document) -> Document:
    """The nodes; of a document whose nodes are no object, none."""
    nodes = document.get("nodes")
    return nodes if isinstance(nodes, dict) else {}


def edges_of(document: Document) -> list[Json]:
    """The edges; of a document whose edges are no list, none."""
    edges = document.get("edges")
    return edges if isinstance(edges, list) else []


def names_of(document: Document, key: str) -> list[str]:
    """The node ids in `start` or `end`."""
    names = document.get(key)
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def pack(state: State) -> bytes:
    """The state as it is kept in the database."""
    whole = {"document": state.document, "keys": state.keys, "broken": state.broken, "places": state.places}
    return zlib.compress(json.dumps(whole, separators=(",", ":")).encode(), 3)


def unpack(data: bytes) -> State:
    """The state that `pack` wrote; it is nobody else's and may be changed."""
    whole = json.loads(zlib.decompress(data))
    broken = Broken(*whole["broken"]) if whole["broken"] else None
    places = {name: (int(x), int(y)) for name, (x, y) in whole["places"].items()}
    return State(whole["document"], tuple(whole["keys"]), broken, places)


def fresh_keys(taken: Sequence[str]) -> Iterator[str]:
    """Names for new edges, none of which was taken."""
    number = max((int(key[1:]) for key in taken if key[1:].isdecimal()), default=0)
    while True:
        number += 1
        yield f"e{number}"


def keys_carried(before: State, edges: Sequence[Json]) -> tuple[str, ...]:
    """Names for the edges of a document that was written anew: an edge keeps the name of one that is the same, or else of
    one between the same two nodes."""
    old = list(zip(before.keys, edges_of(before.document), strict=True))
    free = {key: (content_hash(edge), _ends(edge)) for key, edge in old}
    found: list[str | None] = [None] * len(edges)
    for which, sign in ((0, content_hash), (1, _ends)):
        waiting: dict[Json, list[str]] = {}
        for key, signs in free.items():
            waiting.setdefault(signs[which], []).append(key)
        for place, edge in enumerate(edges):
            same = waiting.get(sign(edge))
            if found[place] is None and same:
                found[place] = same.pop(0)
                del free[str(found[place])]
    new = fresh_keys(before.keys)
    return tuple(key or next(new) for key in found)


def _ends(edge: Json) -> tuple[str, str]:
    return (str(edge.get("from")), str(edge.get("to"))) if isinstance(edge, dict) else ("", repr(edge))
