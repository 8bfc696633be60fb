"""Conditions on edges: a closed JSON grammar, read once into a function. Nothing in it is ever executed.

Regular expressions are RE2's: they can't backtrack, so that no pattern runs for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, cast

import re2

from workbench.engine.documents import pointer
from workbench.engine.errors import ConditionError, Problem
from workbench.engine.plugins import nearest

Json = Any
Test = Callable[["Judged"], bool]

OPERATORS = ("contains_any", "contains_none", "matches", "field", "status", "otherwise", "all", "any", "not")
COMPARISONS = ("equals", "in", "gt", "lt", "exists")
STATUSES = ("succeeded", "failed")
MAX_DEPTH = 20


class Judged(NamedTuple):
    """What a condition looks at: a message's text, its JSON if it is structured, and the visit's status."""

    text: str
    data: Json = None
    structured: bool = False
    status: str = "succeeded"


class Condition(NamedTuple):
    """A condition once read. `names_status`: it tests the status itself, so that success is not demanded beside it.
    `always`: the edge has no condition."""

    test: Test
    names_status: bool = False
    otherwise: bool = False
    always: bool = False


def read_condition(data: Mapping[str, Json] | None) -> Condition:
    """The condition as a function. Raises `ConditionError` for one that `condition_problems` finds fault with."""
    problems = list(condition_problems(data))
    if problems:
        raise ConditionError(problems[0].message)
    if data is None:
        return Condition(_succeeded, always=True)
    if "otherwise" in data:
        return Condition(_succeeded, otherwise=True)
    test = _compile(data)
    if _names_status(data):
        return Condition(test, names_status=True)
    return Condition(lambda judged: judged.status == "succeeded" and test(judged))


def _succeeded(judged: Judged) -> bool:
    return judged.status == "succeeded"


def condition_problems(data: Json, path: str = "") -> Iterator[Problem]:
    """Everything wrong with a condition, each with its place."""
    if data is None:
        return
    if isinstance(data, Mapping) and "otherwise" in data:
        if data != {"otherwise": True}:
            yield _wrong(path, '"otherwise" stands alone and is true: {"otherwise": true}.')
        return
    yield from _problems(data, path, 0)


def _wrong(path: str, message: str, hint: str = "") -> Problem:
    return Problem("error", "bad_condition", path, message, hint)


def _problems(data: Json, path: str, depth: int) -> Iterator[Problem]:
    if depth > MAX_DEPTH:
        yield _wrong(path, f"The condition is nested more than {MAX_DEPTH} levels deep.")
        return
    if not isinstance(data, Mapping):
        yield _wrong(path, "A condition is a JSON object.", 'For example {"contains_any": ["yes"]}.')
        return
    found = [key for key in data if key in OPERATORS]
    known = [*OPERATORS, *COMPARISONS, "case_sensitive"]
    for key in data:
        if key not in known:
            yield _wrong(path + pointer(key), f"A condition has no {key!r}.{nearest(key, known)}")
    if len(found) != 1:
        named = " and ".join(repr(key) for key in found) or "none"
        yield _wrong(path, f"A condition has exactly one of {', '.join(OPERATORS)}; this one has {named}.")
        return
    if "case_sensitive" in data and not isinstance(data["case_sensitive"], bool):
        yield _wrong(path + "/case_sensitive", '"case_sensitive" is true or false.')
    yield from _operator_problems(found[0], data, path, depth)


def _operator_problems(name: str, data: Mapping[str, Json], path: str, depth: int) -> Iterator[Problem]:
    value, here = data[name], path + pointer(name)
    compared = [key for key in COMPARISONS if key in data]
    if name != "field":
        for key in compared:
            yield _wrong(path + pointer(key), f'{key!r} belongs to "field", not to {name!r}.')
    if name in ("contains_any", "contains_none"):
        if not isinstance(value, list) or not value or not all(isinstance(item, str) and item for item in value):
            yield _wrong(here, f"{name!r} is a list of at least one non-empty text.")
    elif name == "matches":
        yield from regex_problems(value, here)
    elif name == "status":
        if value not in STATUSES:
            yield _wrong(here, '"status" is "succeeded" or "failed".')
    elif name == "otherwise":
        yield _wrong(here, '"otherwise" stands alone; it can\'t be a part of another condition.')
    elif name in ("all", "any"):
        if not isinstance(value, list) or not value:
            yield _wrong(here, f"{name!r} is a list of at least one condition.")
            return
        for index, item in enumerate(value):
            yield from _problems(item, f"{here}/{index}", depth + 1)
    elif name == "not":
        yield from _problems(value, here, depth + 1)
    else:
        yield from _field_problems(data, value, compared, path)


def _field_problems(data: Mapping[str, Json], value: Json, compared: list[str], path: str) -> Iterator[Problem]:
    if not isinstance(value, str) or not all(value.split(".")):
        yield _wrong(path + "/field", '"field" is a dotted path such as "verdict" or "scores.0".')
    if len(compared) != 1:
        yield _wrong(path, f'"field" goes with exactly one of {", ".join(COMPARISONS)}.')
        return
    operand, here = data[compared[0]], path + pointer(compared[0])
    if compared[0] == "in" and not isinstance(operand, list):
        yield _wrong(here, '"in" is a list of values.')
    elif compared[0] in ("gt", "lt") and not _is_number(operand):
        yield _wrong(here, f'"{compared[0]}" is a number.')
    elif compared[0] == "exists" and not isinstance(operand, bool):
        yield _wrong(here, '"exists" is true or false.')


def regex_problems(pattern: Json, path: str) -> Iterator[Problem]:
    """What is wrong with a regular expression (RE2 syntax)."""
    if not isinstance(pattern, str) or not pattern:
        yield Problem("error", "bad_regex", path, "A regular expression is a non-empty text.")
        return
    try:
        compile_regex(pattern)
    except ConditionError as error:
        yield Problem(
            "error", "bad_regex", path, str(error), "The syntax is RE2's: no look-around, no back-references."
        )


class Pattern:
    """A compiled RE2 pattern. RE2 reads UTF-8: half a character, which a model may say, is read as a question mark."""

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled
        self.groups, self.groupindex = compiled.groups, compiled.groupindex

    def search(self, text: str) -> Any:
        """The first match, or None."""
        return self._compiled.search(_whole(text))

    def finditer(self, text: str) -> Iterator[Any]:
        """Every match."""
        return cast(Iterator[Any], self._compiled.finditer(_whole(text)))


def _whole(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def compile_regex(pattern: str, *, case_sensitive: bool = True) -> Pattern:
    """The pattern, quiet about its errors. Raises `ConditionError`."""
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = case_sensitive
    try:
        return Pattern(re2.compile(_whole(pattern), options))
    except re2.error as error:
        detail = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        raise ConditionError(f"The regular expression {pattern!r} is not valid: {detail}.") from error


def _compile(data: Mapping[str, Json]) -> Test:
    sensitive = data.get("case_sensitive", True)
    if "contains_any" in data:
        words = [_fold(word, sensitive) for word in data["contains_any"]]
        return lambda judged: any(word in _fold(judged.text, sensitive) for word in words)
    if "contains_none" in data:
        words = [_fold(word, sensitive) for word in data["contains_none"]]
        return lambda judged: not any(word in _fold(judged.text, sensitive) for word in words)
    if "matches" in data:
        pattern = compile_regex(data["matches"], case_sensitive=sensitive)
        return lambda judged: pattern.search(judged.text) is not None
    if "status" in data:
        return lambda judged: judged.status == data["status"]
    if "all" in data:
        tests = [_compile(item) for item in data["all"]]
        return lambda judged: all(test(judged) for test in tests)
    if "any" in data:
        tests = [_compile(item) for item in data["any"]]
        return lambda judged: any(test(judged) for test in tests)
    if "not" in data:
        inner = _compile(data["not"])
        return lambda judged: not inner(judged)
    return _compile_field(data, sensitive)


def _compile_field(data: Mapping[str, Json], sensitive: bool) -> Test:
    path = data["field"].split(".")
    if "exists" in data:
        compare: Callable[[bool, Json], bool] = lambda found, value: found is data["exists"]  # noqa: E731
    elif "equals" in data:
        compare = lambda found, value: found and _same(value, data["equals"], sensitive)  # noqa: E731
    elif "in" in data:
        compare = lambda found, value: found and any(_same(value, item, sensitive) for item in data["in"])  # noqa: E731
    elif "gt" in data:
        compare = lambda found, value: found and _is_number(value) and value > data["gt"]  # noqa: E731
    else:
        compare = lambda found, value: found and _is_number(value) and value < data["lt"]  # noqa: E731
    return lambda judged: judged.structured and compare(*field_value(judged.data, path))


def field_value(data: Json, path: list[str]) -> tuple[bool, Json]:
    """Whether the path leads somewhere in the JSON, and to what. Digits step into lists."""
    for step in path:
        if isinstance(data, Mapping) and step in data:
            data = data[step]
        elif isinstance(data, list | tuple) and step.isascii() and step.isdigit() and int(step) < len(data):
            data = data[int(step)]
        else:
            return False, None
    return True, data


def _names_status(data: Mapping[str, Json]) -> bool:
    if "status" in data:
        return True
    parts = [*data.get("all", []), *data.get("any", []), *([data["not"]] if "not" in data else [])]
    return any(_names_status(part) for part in parts)


def _fold(text: str, sensitive: bool) -> str:
    return text if sensitive else text.casefold()


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _same(value: Json, wanted: Json, sensitive: bool) -> bool:
    """JSON equality: true is not 1, but 1 is 1.0."""
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    if isinstance(value, str) and isinstance(wanted, str):
        return _fold(value, sensitive) == _fold(wanted, sensitive)
    if isinstance(value, list) and isinstance(wanted, list):
        return len(value) == len(wanted) and all(_same(a, b, sensitive) for a, b in zip(value, wanted, strict=True))
    if isinstance(value, dict) and isinstance(wanted, dict):
        return value.keys() == wanted.keys() and all(_same(value[key], wanted[key], sensitive) for key in value)
    return bool(value == wanted)
