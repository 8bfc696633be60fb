"""Large parts of events, kept once by their content: an event whose text is longer than `MOST` is taken apart.

Long texts leave it, and long lists leave in groups, from the beginning: the conversation of an agent's tenth call shares
all groups but the last with that of its ninth, whatever run they belong to. A part is replaced by a reference, a text that
begins with a mark; texts that begin like one are marked as such. A row that was taken apart begins with `~`.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from workbench.engine.errors import WorkbenchError

MOST = 32 * 1024
"""Characters of an event's text that stay in its row."""
PART = 2048
"""Shorter parts stay where they are: a reference, a row and an index entry cost more."""
GROUP = 16
LEVEL = 1  # of compression: three times as fast as the default, for a tenth more bytes

APART = "~"
MARK = "\x01"
TEXT, VALUE, ITEMS, PLAIN = MARK + "=", MARK + "v", MARK + "l", MARK + "p"
"""What follows is: the text itself; the hash of a value; of items that stand here in the list; of a value without
references in it."""
REFERENCE = re.compile(r"\\u0001[vlp]([0-9a-f]{64})")

Found = Mapping[str, str]
"""Hash → the JSON of a payload."""


class PayloadMissing(WorkbenchError):
    """An event refers to a payload that is not there."""

    code = "payload"


class Packed(NamedTuple):
    """An event's text as its row holds it, and the payloads it needs: hash → JSON."""

    data: str
    payloads: dict[str, str]


def packed(text: str) -> Packed:
    """An event's text, taken apart if it is long."""
    if len(text) <= MOST:
        return Packed(text, {})
    parts: dict[str, str] = {}
    value = json.loads(text)
    try:
        value, size = _packed(value, parts)
    except RecursionError:  # somebody's JSON in it is nested absurdly deep
        parts = {}
        value, size = PLAIN + _keep(value, parts), 0
    if size > MOST:
        value = VALUE + _keep(value, parts)
    return Packed(APART + _dumped(value), parts)


def _packed(value: Any, parts: dict[str, str]) -> tuple[Any, int]:
    """The value with references for its large parts, and about how long its JSON is."""
    if isinstance(value, str):
        text = TEXT + value if value.startswith(MARK) else value
        return (text, len(text) + 2) if len(text) < PART else (VALUE + _keep(text, parts), 70)
    if isinstance(value, list):
        return _packed_list(value, parts)
    if isinstance(value, dict):
        made = {key: _packed(item, parts) for key, item in value.items()}
        found = {key: item for key, (item, _) in made.items()}
        size = sum(len(key) + 4 + size for key, (_, size) in made.items())
        return (found, size) if size <= MOST else (VALUE + _keep(found, parts), 70)
    return value, 20


def _packed_list(value: list[Any], parts: dict[str, str]) -> tuple[list[Any], int]:
    made = [_packed(item, parts) for item in value]
    while len(made) > GROUP and sum(size for _, size in made) > PART:
        whole = len(made) // GROUP * GROUP
        groups = [[item for item, _ in made[first : first + GROUP]] for first in range(0, whole, GROUP)]
        made = [*((ITEMS + _keep(group, parts), 70) for group in groups), *made[whole:]]
    return [item for item, _ in made], sum(size + 1 for _, size in made)


def _keep(value: Any, parts: dict[str, str]) -> str:
    text = _dumped(value)
    name = hashlib.sha256(text.encode()).hexdigest()
    parts[name] = text
    return name


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def whole(data: str, found: Found) -> Any:
    """The event as JSON, from its row and the payloads that it needs. Raises `PayloadMissing`."""
    return _whole(json.loads(data[1:]), found) if data.startswith(APART) else json.loads(data)


def _whole(value: Any, found: Found) -> Any:
    if isinstance(value, str):
        if not value.startswith(MARK):
            return value
        if value.startswith(TEXT):
            return value[2:]
        loaded = _load(value, found)
        return loaded if value.startswith(PLAIN) else _whole(loaded, found)
    if isinstance(value, list):
        return list(_items(value, found))
    if isinstance(value, dict):
        return {key: _whole(item, found) for key, item in value.items()}
    return value


def _items(value: list[Any], found: Found) -> Iterator[Any]:
    for item in value:
        if isinstance(item, str) and item.startswith(ITEMS):
            yield from _items(_load(item, found), found)
        else:
            yield _whole(item, found)


def _load(reference: str, found: Found) -> Any:
    text = found.get(reference[2:])
    if text is None:
        raise PayloadMissing(f"A part of this event is missing in the database (payload {reference[2:14]}…).")
    return json.loads(text)


def references(texts: Iterable[str]) -> set[str]:
    """The hashes that rows, or payloads, refer to."""
    return {name for text in texts for name in REFERENCE.findall(text)}


def payloads_of(rows: Sequence[str]) -> Found:
    """Every payload that these rows need, those that payloads need too."""
    wanted = references(data for data in rows if data.startswith(APART))
    found: dict[str, str] = {}
    while wanted:
        fetched = _fetch(sorted(wanted))
        found |= fetched
        wanted = references(fetched.values()) - found.keys()
    return found


def _fetch(names: Sequence[str]) -> dict[str, str]:
    from workbench.experiments.models import Payload

    rows = [row for first in range(0, len(names), 500) for row in _rows(Payload, names[first : first + 500])]
    return {name: zlib.decompress(data).decode() for name, data in rows}


def _rows(model: Any, names: Sequence[str]) -> Any:
    return model.objects.filter(sha256__in=names).values_list("sha256", "data")


def compressed(text: str) -> bytes:
    """A payload as the table holds it."""
    return zlib.compress(text.encode(), LEVEL)
