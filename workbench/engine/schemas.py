"""JSON Schemas of answers (draft 2020-12), as people write them: checked, and applied without fetching or running on.

`pattern` is RE2's, so that no answer makes it backtrack for ever; references stay inside the schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from jsonschema import Draft202012Validator, SchemaError, ValidationError, validators
from jsonschema.exceptions import best_match
from referencing import Registry
from referencing.exceptions import Unresolvable

from workbench.engine.conditions import compile_regex, field_value, regex_problems
from workbench.engine.documents import pointer
from workbench.engine.errors import Problem

Json = Any
REFUSED = {
    "patternProperties": "The names of properties can't be given by a pattern",
    "unevaluatedProperties": "Unevaluated properties can't be judged",
    "unevaluatedItems": "Unevaluated items can't be judged",
    "$dynamicRef": "Dynamic references are not followed",
}


def _pattern(validator: Any, pattern: str, instance: Json, schema: Json) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not compile_regex(pattern).search(instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


_Validator: Any = validators.extend(Draft202012Validator, {"pattern": _pattern})  # type: ignore[no-untyped-call]


def schema_problems(schema: Mapping[str, Json], path: str) -> Iterator[Problem]:
    """Everything that keeps a schema from being used."""
    try:
        Draft202012Validator.check_schema(dict(schema))
    except SchemaError as error:
        where = pointer(*error.absolute_path)
        yield Problem("error", "bad_schema", path + where, f"This is no JSON Schema: {error.message[:300]}.")
        return
    waiting: list[tuple[str, Json]] = [(path, dict(schema))]
    while waiting:
        here, part = waiting.pop()
        if isinstance(part, Mapping):
            yield from _keyword_problems(part, here, schema)
            waiting.extend((here + pointer(key), value) for key, value in part.items() if key not in ("enum", "const"))
        elif isinstance(part, list):
            waiting.extend((f"{here}/{index}", value) for index, value in enumerate(part))


def _keyword_problems(part: Mapping[str, Json], path: str, whole: Mapping[str, Json]) -> Iterator[Problem]:
    for key, message in REFUSED.items():
        if key in part and isinstance(part[key], str | bool | Mapping):
            yield Problem(
                "error", "bad_schema", path + pointer(key), f"{message} in an answer's schema.", "Leave it out."
            )
    if isinstance(part.get("pattern"), str):
        yield from regex_problems(part["pattern"], path + "/pattern")
    reference = part.get("$ref")
    if isinstance(reference, str) and not reference.startswith("#"):
        message = f"The reference {reference!r} leads out of the schema; nothing is ever fetched."
        yield Problem("error", "bad_schema", path + "/$ref", message, 'Put it under "$defs" and refer to "#/$defs/…".')
    elif isinstance(reference, str) and reference.startswith("#/") and not _holds(whole, reference):
        yield Problem("error", "bad_schema", path + "/$ref", f"The schema holds nothing at {reference!r}.")


def _holds(whole: Json, reference: str) -> bool:
    steps = [step.replace("~1", "/").replace("~0", "~") for step in unquote(reference).split("/")[1:]]
    return field_value(whole, steps)[0]


def schema_fault(schema: Mapping[str, Json], data: Json) -> str:
    """Why data does not fit the schema, as a sentence without its capital; "" where it does."""
    try:
        fault = best_match(_Validator(dict(schema), registry=Registry()).iter_errors(data))
    except Unresolvable as error:
        return f"the schema refers to {error.ref!r}, which it does not hold."
    except RecursionError:
        return "the schema refers to itself without end."
    if fault is None:
        return ""
    where = pointer(*fault.absolute_path)
    return f"{where + ': ' if where else ''}{fault.message[:300]}."


def schema_fits(schema: Mapping[str, Json], data: Json) -> bool:
    """Whether data fits the schema."""
    return not schema_fault(schema, data)
