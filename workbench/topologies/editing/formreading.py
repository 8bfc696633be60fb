"""What a person wrote into a form, as commands: one for each field whose value is another than before."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.engine.documents import pointer, read_json
from workbench.topologies.editing.changes import Command
from workbench.topologies.editing.conditionforms import Posted, condition_read
from workbench.topologies.editing.fields import MISSING
from workbench.topologies.editing.forms import Field, loose, skeleton
from workbench.topologies.editing.schemas import variants

Json = Any


def form_changes(fields: Sequence[Field], posted: Posted, at: Mapping[str, str]) -> Iterator[Command]:
    """The commands; `at` says whose fields they are. `has` in the form names the fields that it holds."""
    here = set(posted.getlist("has"))
    for field in fields:
        if field.path in here:
            value = _value(field, posted)
            if value is not MISSING if not field.given else value is MISSING or not _same(value, field.value):
                yield _set(field.path, value, at)
                continue
        if field.kind in ("group", "objects", "union", "map"):
            yield from form_changes(field.fields, posted, at)
        if field.kind == "map":
            yield from _map_new(field, posted, at)


def _set(path: str, value: Json, at: Mapping[str, str]) -> Command:
    return {"do": "set", **at, "path": path, **({"unset": True} if value is MISSING else {"value": value})}


def _same(one: Json, other: Json) -> bool:
    return json.dumps(one) == json.dumps(other)


def _value(field: Field, posted: Posted) -> Json:
    """What the form says of a field; `MISSING`: nothing. What can't be read is kept as text, and then is a problem."""
    text = posted.get(f"v:{field.path}", "").replace("\r\n", "\n")
    if field.none and f"none:{field.path}" in posted:
        return None
    if field.kind == "condition":
        found = condition_read(posted, field.path, field.value)
        return MISSING if found is None else found
    if field.kind == "bool":
        return _bool(field, f"v:{field.path}" in posted)
    if field.kind == "checks":
        return _checks(field, posted.getlist(f"v:{field.path}"))
    if field.kind == "union":
        return _union(field, posted)
    if field.kind in ("group", "objects", "map"):
        return field.value if field.given else MISSING
    if not text:
        return "" if field.given and field.value == "" else (field.value if _null(field) else MISSING)
    return _typed(field, text)


def _null(field: Field) -> bool:
    return field.given and field.value is None and not field.none


def _typed(field: Field, text: str) -> Json:
    if field.kind == "number":
        return _number(text)
    if field.kind == "scalar":
        return int(text) if text.isdecimal() and len(text) < 10 else text
    if field.kind == "lines":
        return [line for line in text.split("\n") if line]
    if field.kind == "choice":
        return loose(text)
    if field.kind == "loose":
        return loose(text, field.value if field.given else MISSING)
    if field.kind == "json":
        found = read_json(text)
        return text if found.problems else found.data
    return text


def _number(text: str) -> Json:
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        return text
    if number != number or abs(number) == float("inf"):
        return text
    return int(number) if number.is_integer() and "e" not in text.lower() and abs(number) < 1e15 else number


def _bool(field: Field, checked: bool) -> Json:
    default = field.schema.get("default")
    if not field.given:
        return MISSING if checked == default else checked
    return field.value if field.value is checked else (MISSING if checked == default else checked)


def _checks(field: Field, chosen: list[str]) -> Json:
    """Names that were chosen, those that were there first in their old order; `-` alone stands for leaving it out."""
    names = [name for name in chosen if name and name != "-"]
    before = [name for name in field.value if isinstance(name, str)] if isinstance(field.value, list) else []
    ordered = [name for name in before if name in names] + [name for name in names if name not in before]
    extra = [name for name in field.value if not isinstance(name, str)] if isinstance(field.value, list) else []
    if "-" in chosen and not names:
        return MISSING
    return [*ordered, *extra] if field.given or ordered else MISSING


def _union(field: Field, posted: Posted) -> Json:
    """Another form begins with the smallest value of it; the same form keeps its value, and its fields speak for it."""
    wanted = posted.get(f"form:{field.path}", "")
    now = next((option.value for option in field.options if option.chosen), "")
    if wanted == now or f"form:{field.path}" not in posted:
        return field.value if field.given else MISSING
    if not wanted:
        return MISSING
    forms = variants(field.schema, field.root)
    return skeleton(forms[int(wanted)], field.root) if wanted.isdecimal() and int(wanted) < len(forms) else MISSING


def _map_new(field: Field, posted: Posted, at: Mapping[str, str]) -> Iterator[Command]:
    key = posted.get(f"nk:{field.path}", "").strip()
    if key and not (isinstance(field.value, Mapping) and key in field.value):
        yield _set(field.path + pointer(key), loose(posted.get(f"nv:{field.path}", "")), at)
