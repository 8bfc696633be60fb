"""Texts and JSON made to measure: what a regular expression matches, what a JSON Schema allows. Deterministic, bounded.

A sampler may fail to find something; whoever uses one tests what it gives.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import islice
from typing import Any

from workbench.engine.conditions import compile_regex
from workbench.engine.errors import ConditionError
from workbench.engine.schemas import schema_fits

Json = Any
Path = tuple[str, ...]
ABSENT = object()
"""The value of a field that must not be there."""
MAX_SAMPLES = 48
MAX_DEPTH = 8

_parser: Any = import_module("re._parser")
_CHARACTERS = "ax0 _-.A\n:,;/é"
_CATEGORIES: dict[str, Callable[[str], bool]] = {
    "digit": str.isdigit,
    "space": str.isspace,
    "word": lambda char: char.isalnum() or char == "_",
}


def regex_samples(pattern: str, *, case_sensitive: bool = True) -> list[str]:
    """A few texts that the pattern (RE2) is found in, the shortest way of writing each alternative first."""
    compiled = compile_regex(pattern, case_sensitive=case_sensitive)
    python = re.sub(r"\(\?<(?=[A-Za-z_])", "(?P<", pattern).replace(r"\z", r"\Z")
    try:
        parsed = _parser.parse(python)
    except (re.error, RecursionError, OverflowError):
        return []
    written = dict.fromkeys(_written(parsed, variant) for variant in range(6))
    return [text for text in written if compiled.search(text) is not None]


def _written(parsed: Any, variant: int) -> str:
    return "".join(_item(str(operation), argument, variant) for operation, argument in parsed)


def _item(operation: str, argument: Any, variant: int) -> str:
    if operation == "LITERAL":
        return chr(argument)
    if operation == "NOT_LITERAL":
        return next(char for char in _CHARACTERS if ord(char) != argument)
    if operation == "ANY":
        return "x"
    if operation == "IN":
        return _one_of(argument)
    if operation == "BRANCH":
        return _written(argument[1][variant % len(argument[1])], variant)
    if operation == "SUBPATTERN":
        return _written(argument[-1], variant)
    if operation.endswith("_REPEAT"):
        least, most, inner = argument
        times = least if variant % 2 == 0 else max(least, min(int(most), 1))
        return _written(inner, variant) * min(int(times), 1000)
    return ""


def _one_of(items: Any) -> str:
    """A character of a class such as `[a-z_]` or `[^0-9]`."""
    negated = str(items[0][0]) == "NEGATE"
    wanted = items[1:] if negated else items
    named: list[str] = [
        chr(arg if str(op) == "LITERAL" else arg[0]) for op, arg in wanted if str(op) in ("LITERAL", "RANGE")
    ]
    tried: list[str] = [*_CHARACTERS] if negated else [*named, *_CHARACTERS]
    for char in tried:
        if any(_in_class(char, str(op), arg) for op, arg in wanted) is not negated:
            return char
    return ""


def _in_class(char: str, operation: str, argument: Any) -> bool:
    if operation == "LITERAL":
        return bool(ord(char) == argument)
    if operation == "RANGE":
        return bool(argument[0] <= ord(char) <= argument[1])
    name = str(argument).lower().removeprefix("category_")
    return bool(_CATEGORIES.get(name.removeprefix("not_"), str.isalpha)(char)) is not name.startswith("not_")


def schema_samples(schema: Mapping[str, Json]) -> list[Json]:
    """Values that fit the schema: one of each kind that its enums, booleans and alternatives tell apart."""
    fits = partial(schema_fits, schema)
    samples: list[Json] = []
    for value in islice(_values(schema, schema, 0), MAX_SAMPLES * 4):
        if len(samples) < MAX_SAMPLES and not any(_same(value, other) for other in samples) and fits(value):
            samples.append(value)
    return samples


def _same(one: Json, other: Json) -> bool:
    return repr(one) == repr(other)


def _values(schema: Json, root: Mapping[str, Json], depth: int) -> Iterator[Json]:
    """The first is the plainest; the others differ from it in one place each."""
    if not isinstance(schema, Mapping) or depth > MAX_DEPTH:
        yield "text"
        return
    if "const" in schema:
        yield schema["const"]
    elif "enum" in schema:
        yield from schema["enum"]
    elif "$ref" in schema:
        yield from _values(_referred(str(schema["$ref"]), root), root, depth + 1)
    elif "allOf" in schema:
        yield from _values(_merged([schema, *schema["allOf"]]), root, depth + 1)
    elif alternatives := schema.get("anyOf") or schema.get("oneOf"):
        rest = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf")}
        for alternative in alternatives:
            yield from _values(_merged([rest, alternative]), root, depth + 1)
    else:
        kinds = schema.get("type") or (
            "object" if "properties" in schema else "array" if "items" in schema else "string"
        )
        for kind in [kinds] if isinstance(kinds, str) else kinds:
            yield from _of_type(kind, schema, root, depth)


def _referred(reference: str, root: Mapping[str, Json]) -> Json:
    found: Json = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        found = found.get(step) if isinstance(found, Mapping) else None
    return found


def _merged(schemas: Sequence[Json]) -> dict[str, Json]:
    merged: dict[str, Json] = {}
    for schema in schemas:
        for key, value in schema.items() if isinstance(schema, Mapping) else ():
            if key == "properties":
                merged[key] = {**merged.get(key, {}), **value}
            elif key == "required":
                merged[key] = [*merged.get(key, []), *value]
            elif key != "allOf":
                merged[key] = value
    return merged


def _of_type(kind: str, schema: Mapping[str, Json], root: Mapping[str, Json], depth: int) -> Iterator[Json]:
    if kind == "object":
        yield from _objects(schema, root, depth)
    elif kind == "array":
        yield from _arrays(schema, root, depth)
    elif kind == "boolean":
        yield from (True, False)
    elif kind in ("integer", "number"):
        yield from _numbers(schema, kind)
    elif kind == "null":
        yield None
    else:
        yield from _strings(schema)


def _objects(schema: Mapping[str, Json], root: Mapping[str, Json], depth: int) -> Iterator[Json]:
    properties = schema.get("properties", {})
    each = {name: list(islice(_values(inner, root, depth + 1), 12)) for name, inner in properties.items()}
    for name in schema.get("required", ()):
        each.setdefault(name, ["text"])
    plain = {name: values[0] for name, values in each.items() if values}
    yield plain
    for name, values in each.items():
        yield from ({**plain, name: value} for value in values[1:])
    required = schema.get("required", ())
    if any(name not in required for name in plain):
        yield {name: value for name, value in plain.items() if name in required}


def _arrays(schema: Mapping[str, Json], root: Mapping[str, Json], depth: int) -> Iterator[Json]:
    values = list(islice(_values(schema.get("items", {}), root, depth + 1), 12)) or ["text"]
    least, most = schema.get("minItems", 0), schema.get("maxItems", 1000)
    length = min(max(least, 2), most)
    distinct = [values[place % len(values)] for place in range(length)]
    yield distinct if schema.get("uniqueItems") else [values[0]] * length
    yield [values[-1]] * length
    yield [values[0]] * min(max(least, 1), most)
    if not least:
        yield []


def _numbers(schema: Mapping[str, Json], kind: str) -> Iterator[Json]:
    low, high = (
        schema.get("minimum", schema.get("exclusiveMinimum")),
        schema.get("maximum", schema.get("exclusiveMaximum")),
    )
    middle = low + (high - low) / 2 if low is not None and high is not None else None
    for value in (
        low,
        high,
        middle,
        1,
        0,
        low + 1 if low is not None else None,
        high - 1 if high is not None else None,
    ):
        if value is not None:
            yield int(value) if kind == "integer" else value


def _strings(schema: Mapping[str, Json]) -> Iterator[Json]:
    if "pattern" in schema:
        try:
            yield from regex_samples(schema["pattern"])
        except ConditionError:
            return
    text = "text".ljust(min(schema.get("minLength", 0), 10_000), "x")
    yield text[: schema.get("maxLength", len(text))]


def with_field(data: Json, path: Path, value: Json) -> Json:
    """A copy of the JSON with a value put at the path, or taken away from there."""
    if not path:
        return copy.deepcopy(value)
    step, *rest = path
    if isinstance(data, list) and step.isdigit():
        items = [*data, *(["text"] * (int(step) + 1 - len(data)))]
        items[int(step)] = with_field(items[int(step)], tuple(rest), value)
        return items
    known = dict(data) if isinstance(data, Mapping) else {}
    if value is ABSENT and not rest:
        known.pop(step, None)
    else:
        known[step] = with_field(known.get(step), tuple(rest), value)
    return known


def text_places(data: Json, path: Path = ()) -> Iterator[Path]:
    """Where texts stand in the JSON."""
    if isinstance(data, str):
        yield path
    elif isinstance(data, Mapping):
        for key, value in data.items():
            yield from text_places(value, (*path, str(key)))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from text_places(value, (*path, str(index)))
