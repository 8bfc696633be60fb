"""Conditions out of parts: as a form shows them, as a form sends them back, as a sentence, and tried on a sample."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from workbench.engine.conditions import COMPARISONS, Judged, condition_problems, read_condition
from workbench.engine.documents import read_json
from workbench.topologies.words import condition_words

Json = Any
OPERATORS = {
    "": "always",
    "contains_any": "the output has one of",
    "contains_none": "the output has none of",
    "matches": "the output matches",
    "field": "a field of its JSON",
    "status": "the node’s status is",
    "otherwise": "otherwise: no other edge fires",
    "all": "all of these hold",
    "any": "one of these holds",
    "not": "this does not hold",
}
COMPARED = {"equals": "is", "in": "is one of", "gt": "is more than", "lt": "is less than", "exists": "is there"}
DEEPEST = 4
FRESH: dict[str, Json] = {
    "contains_any": {"contains_any": ["yes"]},
    "contains_none": {"contains_none": ["no"]},
    "matches": {"matches": "yes|ok"},
    "field": {"field": "verdict", "equals": "accept"},
    "status": {"status": "failed"},
    "otherwise": {"otherwise": True},
    "all": {"all": [{"field": "verdict", "equals": "accept"}]},
    "any": {"any": [{"field": "verdict", "equals": "accept"}]},
    "not": {"not": {"contains_any": ["yes"]}},
}


class Posted:
    """What a form sent: its fields, each with all its values."""

    def __init__(self, lists: Mapping[str, Sequence[str]]) -> None:
        self._lists = lists

    def get(self, key: str, default: str = "") -> str:
        """The last value of a field."""
        values = self._lists.get(key)
        return values[-1] if values else default

    def getlist(self, key: str) -> list[str]:
        """All values of a field."""
        return list(self._lists.get(key, ()))

    def __contains__(self, key: object) -> bool:
        return key in self._lists


class Part(NamedTuple):
    """A part of a condition as the form shows it."""

    path: str
    operator: str
    words: str = ""
    regex: str = ""
    field: str = ""
    compare: str = "equals"
    operand: str = ""
    sensitive: bool = True
    parts: Sequence[Part] = ()
    raw: str = ""
    """What the form has no parts for, as JSON."""

    @property
    def id(self) -> str:
        return "c" + self.path.replace("/", "-")

    @property
    def operators(self) -> list[tuple[str, str]]:
        inner = self.path.rpartition("/")[2].isdecimal() or self.path.endswith("/not")
        return [(key, label) for key, label in OPERATORS.items() if not (inner and key in ("", "otherwise"))]

    @property
    def comparisons(self) -> list[tuple[str, str]]:
        return list(COMPARED.items())

    @property
    def has_case(self) -> bool:
        return self.operator in ("contains_any", "contains_none", "matches", "field")


def condition_form(when: Json, path: str, depth: int = 0) -> Part:
    """The parts of a condition, however it was written."""
    if when is None:
        return Part(path, "")
    known = [key for key in OPERATORS if key and isinstance(when, Mapping) and key in when]
    if len(known) != 1 or depth > DEEPEST:
        return Part(path, known[0] if known else "", raw=json.dumps(when, ensure_ascii=False))
    operator, value = known[0], when[known[0]]
    part = Part(path, operator, sensitive=when.get("case_sensitive") is not False)
    if operator in ("contains_any", "contains_none"):
        words = value if isinstance(value, list) else [value]
        return part._replace(words="\n".join(str(word) for word in words))
    if operator == "matches":
        return part._replace(regex=str(value))
    if operator == "status":
        return part._replace(operand=str(value))
    if operator == "field":
        return _field_form(part, when)
    if operator == "not":
        return part._replace(parts=[condition_form(value, f"{path}/not", depth + 1)])
    if operator in ("all", "any"):
        items = value if isinstance(value, list) else []
        inner = [condition_form(item, f"{path}/{operator}/{place}", depth + 1) for place, item in enumerate(items)]
        return part._replace(parts=inner)
    return part


def _field_form(part: Part, when: Mapping[str, Json]) -> Part:
    compare = next((key for key in COMPARISONS if key in when), "equals")
    operand = when.get(compare, "")
    several = compare == "in" and isinstance(operand, list)
    shown = "\n".join(_plain(item) for item in operand) if several else _plain(operand)
    return part._replace(field=str(when["field"]), compare=compare, operand=shown)


def _plain(value: Json) -> str:
    """A value as a person types it: text bare, unless it would be read as something else."""
    if isinstance(value, str) and not isinstance(_read(value), str):
        return json.dumps(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _read(text: str) -> Json:
    """What a person typed: numbers, true, false, null and quoted texts are read as JSON, anything else is text."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return text if isinstance(found, dict | list) or (isinstance(found, float) and found != found) else found


def condition_read(posted: Posted, path: str, before: Json) -> Json:
    """The condition that a form holds; another operator than before begins afresh. None: always."""
    operator = posted.get(f"op:{path}", "")
    if operator not in OPERATORS or not operator:
        return None
    now = condition_form(before, path)
    if now.raw:
        return _raw(posted, path, before)
    if operator != now.operator:
        return _fresh(operator, before)
    return _written(posted, path, operator, before)


def _raw(posted: Posted, path: str, before: Json) -> Json:
    text = posted.get(f"raw:{path}", "")
    if not text:
        return before
    found = read_json(text)
    return text if found.problems else found.data


def _fresh(operator: str, before: Json) -> Json:
    """A new condition; what stood there becomes its first part, where it can have parts."""
    if before is not None and operator in ("all", "any") and "otherwise" not in before:
        inner = before.get("all") or before.get("any")
        return {operator: inner if isinstance(inner, list) else [before]}
    if before is not None and operator == "not" and "otherwise" not in before:
        return {"not": before}
    return json.loads(json.dumps(FRESH[operator]))


def _written(posted: Posted, path: str, operator: str, before: Mapping[str, Json]) -> Json:
    found: dict[str, Json]
    if operator in ("contains_any", "contains_none"):
        lines = posted.get(f"words:{path}", "").replace("\r\n", "\n").split("\n")
        found = {operator: [line for line in lines if line]}
    elif operator == "matches":
        found = {operator: posted.get(f"regex:{path}", "")}
    elif operator == "status":
        found = {operator: posted.get(f"operand:{path}", "failed")}
    elif operator == "field":
        found = _field_written(posted, path)
    elif operator == "not":
        found = {operator: condition_read(posted, f"{path}/not", before["not"])}
    elif operator in ("all", "any"):
        items = before[operator] if isinstance(before[operator], list) else []
        found = {operator: [condition_read(posted, f"{path}/{operator}/{n}", item) for n, item in enumerate(items)]}
    else:
        return {"otherwise": True}
    if condition_form(found, path).has_case and f"case:{path}" not in posted:
        found["case_sensitive"] = False
    return found


def _field_written(posted: Posted, path: str) -> dict[str, Json]:
    compare, text = posted.get(f"cmp:{path}", "equals"), posted.get(f"operand:{path}", "").replace("\r\n", "\n")
    operand: Json = _read(text)
    if compare == "in":
        operand = [_read(line) for line in text.split("\n") if line]
    elif compare == "exists":
        operand = text.strip().casefold() not in ("false", "no", "0")
    return {"field": posted.get(f"field:{path}", ""), compare: operand}


def sentence(when: Json) -> str:
    """The condition of an edge as a sentence."""
    if when is None:
        return "It fires whenever its source has run."
    words = condition_words(when)
    if words == "otherwise":
        return "It fires if no other edge of its source does."
    return f"It fires if: {words}."


class Verdict(NamedTuple):
    """What a part of a condition says to a sample."""

    words: str
    holds: bool
    depth: int


def condition_tried(when: Json, text: str, status: str) -> tuple[list[Verdict], str]:
    """The verdict of every part on a sample output, the whole first; and what keeps it from being judged."""
    problems = list(condition_problems(when))
    if problems:
        return [], problems[0].message
    if when is not None and "otherwise" in when:
        return [], "“Otherwise” fires when no other edge of its source does, whatever the output is."
    read = read_json(text) if text.strip()[:1] in ("{", "[") else None
    structured = read is not None and not read.problems
    judged = Judged(text, read.data if read is not None and structured else None, structured, status)
    return list(_verdicts(when, judged, 0)), ""


def _verdicts(when: Json, judged: Judged, depth: int) -> list[Verdict]:
    holds = read_condition(when).test(judged)
    found = [Verdict(condition_words(when) if when is not None else "always", holds, depth)]
    if isinstance(when, Mapping):
        inner = [*when.get("all", []), *when.get("any", []), *([when["not"]] if "not" in when else [])]
        for part in inner:
            found += _verdicts(part, judged, depth + 1)
    return found
