"""Node ids out of foreign ones. Those that fit are kept; for the others one is made, and the foreign id is the label."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from workbench.engine.spec import NODE_ID, RESERVED_IDS

_OTHER = re.compile(r"[^A-Za-z0-9_-]+")
LONGEST = 64


def own_ids(foreign: Iterable[str]) -> dict[str, str]:
    """Foreign id → own id, each own id once, the same for the same document."""
    names = list(dict.fromkeys(foreign))
    ids = {name: name for name in names if NODE_ID.fullmatch(name) and name not in RESERVED_IDS}
    taken = set(ids)
    following: dict[str, int] = {}
    for name in names:
        if name not in ids:
            ids[name] = free_id(_slug(name), taken, following)
            taken.add(ids[name])
    return {name: ids[name] for name in names}


def free_id(wanted: str, taken: set[str], following: dict[str, int]) -> str:
    """`wanted`, or with a number where that is taken or reserved; `following` remembers where the numbers stand."""
    found = wanted
    while found in taken or found in RESERVED_IDS:
        following[wanted] = following.get(wanted, 1) + 1
        ending = f"_{following[wanted]}"
        found = wanted[: LONGEST - len(ending)] + ending
    return found


def label(foreign: str, own: str) -> dict[str, str]:
    """The field `label` where a node has another id here."""
    return {} if foreign == own else {"label": foreign[:500]}


def _slug(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    slug = _OTHER.sub("_", plain).strip("_-")
    if not slug or not slug[0].isalpha():
        slug = f"node_{slug}".rstrip("_")
    return slug[:LONGEST]
