"""Outputs that a node might give, made so that the conditions, transforms and splits of its edges hold.

A `Wish` says what an output must have; `candidates` makes messages of wishes, in text or in the node's JSON Schema.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, product
from typing import Any, NamedTuple

from workbench.engine.errors import WorkbenchError
from workbench.engine.events import MessageData
from workbench.engine.samples import ABSENT, Path, regex_samples, schema_samples, text_places, with_field
from workbench.engine.schemas import schema_fits

Json = Any
MAX_WISHES = 16
MAX_CANDIDATES = 400
NEUTRAL = ("A plain answer.", "zq", "~", "7")
"""Texts that hardly any condition is about."""


class Wish(NamedTuple):
    """Texts that must stand in the output, and values at paths of its JSON."""

    parts: tuple[str, ...] = ()
    fields: tuple[tuple[Path, Json], ...] = ()

    def plus(self, other: Wish) -> Wish:
        return Wish(self.parts + other.parts, self.fields + other.fields)


def both(first: Sequence[Wish], second: Sequence[Wish]) -> list[Wish]:
    """Every wish of the one with every wish of the other."""
    return [one.plus(other) for one, other in islice(product(first, second), MAX_WISHES)]


def condition_wishes(data: Mapping[str, Json] | None, negated: bool = False) -> list[Wish]:
    """What an output may have for the condition to hold (or not to). Empty where it can't be helped."""
    if data is None or "otherwise" in data or "status" in data:
        return [Wish()]
    if "not" in data:
        return condition_wishes(data["not"], not negated)
    if "all" in data or "any" in data:
        parts = [condition_wishes(part, negated) for part in data.get("all") or data["any"]]
        if ("all" in data) is negated:
            return [wish for wishes in parts for wish in wishes][:MAX_WISHES]
        wishes = [Wish()]
        for part in parts:
            wishes = both(wishes, part)
        return wishes
    if "contains_any" in data or "contains_none" in data:
        words = data.get("contains_any") or data["contains_none"]
        return [Wish((word,)) for word in words[:MAX_WISHES]] if ("contains_any" in data) is not negated else [Wish()]
    if "matches" in data:
        sensitive = data.get("case_sensitive", True)
        return (
            [Wish()]
            if negated
            else [Wish((text,)) for text in regex_samples(data["matches"], case_sensitive=sensitive)]
        )
    path = tuple(data["field"].split("."))
    return [Wish(fields=((path, value),)) for value in islice(_field_values(data, negated), MAX_WISHES)]


def _field_values(data: Mapping[str, Json], negated: bool) -> Iterator[Json]:
    if "exists" in data:
        yield from ("text", 1, True, ["text"], {}) if data["exists"] is not negated else (ABSENT,)
    elif "equals" in data or "in" in data:
        values = data["in"] if "in" in data else [data["equals"]]
        if not negated:
            yield from values
            return
        yield ABSENT
        for value in values:
            yield from _others(value)
    else:
        bound, up = (data["gt"], True) if "gt" in data else (data["lt"], False)
        if negated:
            yield bound
        for step in (1, 0.5, 0.1, 0.01):
            yield bound + step if up is not negated else bound - step


def _others(value: Json) -> Iterator[Json]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (value + 1, value - 1)
    else:
        yield f"not {value}"


def transform_wishes(data: Mapping[str, Json] | None) -> list[Wish]:
    """What a transform finds something in."""
    if data is None:
        return [Wish()]
    if "regex" in data:
        sensitive = data.get("case_sensitive", True)
        return [Wish((text,)) for text in regex_samples(data["regex"], case_sensitive=sensitive)[:3]]
    if "json" in data:
        return [Wish(fields=((tuple(data["json"].split(".")), "text"),)), Wish()]
    return [Wish((f"<{data['tag']}>text</{data['tag']}>",))]


def split_wishes(data: Mapping[str, Json] | None) -> list[Wish]:
    """What a map splits into two units."""
    split = (data or {}).get("split", "messages")
    if not isinstance(split, Mapping):
        return [Wish()]
    if "regex" in split:
        samples = regex_samples(split["regex"])
        return [Wish((samples[0], samples[-1]))] if samples else [Wish()]
    path = tuple(split["json"].split(".")) if split.get("json") else ()
    return [Wish(fields=((path, ["one", "two"]),)), Wish()]


def text_candidates(wishes: Sequence[Wish], node: str) -> list[MessageData]:
    """Free texts, one or a few for each wish, and the neutral ones."""
    texts = dict.fromkeys(text for wish in wishes for text in _texts(wish))
    return [MessageData(text=text, source=node) for text in list(dict.fromkeys([*texts, *NEUTRAL]))[:MAX_CANDIDATES]]


def _texts(wish: Wish) -> Iterator[str]:
    if wish.fields:
        data: Json = {"note": " ".join(wish.parts)} if wish.parts else {}
        for path, value in wish.fields:
            data = with_field(data, path, value)
        yield json.dumps(data, ensure_ascii=False)
    elif wish.parts:
        parts = tuple(dict.fromkeys(wish.parts)) if len(set(wish.parts)) == 1 else wish.parts
        yield "\n".join(parts)
        if len(parts) > 1:
            yield "\n".join(reversed(parts))
            yield from parts


def json_candidates(schema: Mapping[str, Json], wishes: Sequence[Wish], node: str) -> list[MessageData]:
    """Answers that fit the schema: its own varieties, and those that a wish makes of them."""
    plain = schema_samples(schema)
    fits = partial(schema_fits, schema)
    found: dict[str, Json] = {}
    for value in (*(made for wish in wishes for made in _granted(wish, plain)), *plain):
        if len(found) < MAX_CANDIDATES and (key := json.dumps(value, ensure_ascii=False)) not in found and fits(value):
            found[key] = value
    return [
        MessageData(text=value if isinstance(value, str) else key, data=value, structured=True, source=node)
        for key, value in found.items()
    ]


def _granted(wish: Wish, plain: Sequence[Json]) -> Iterator[Json]:
    """The schema's values with the wish's values in their places, its texts wherever a text may stand."""
    for base in plain[:4] or [{}]:
        data = base
        try:
            for path, value in wish.fields:
                data = with_field(data, path, value)
        except (IndexError, ValueError):
            continue
        if not wish.parts:
            if wish.fields:
                yield data
            continue
        text = "\n".join(wish.parts)
        for place in islice(text_places(data), 8):
            yield with_field(data, place, text)
        if isinstance(data, Mapping):
            yield {**data, "note": text}


def held(transform: Any, message: MessageData) -> bool | None:
    """Whether a transform lets the message through; None where it would fail the run."""
    try:
        return transform is None or transform(message) is not None
    except WorkbenchError:
        return None
