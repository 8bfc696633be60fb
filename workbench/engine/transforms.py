"""What an edge makes of a message on its way, and into which units a map splits it: closed JSON grammars, read once.

A transform is `{"regex", "group", "all", "template"}`, `{"json": path}` or `{"tag": name}`, each with `on_no_match`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workbench.engine.conditions import compile_regex, field_value, regex_problems
from workbench.engine.documents import pointer
from workbench.engine.errors import ConditionError, Problem
from workbench.engine.events import MessageData
from workbench.engine.plugins import nearest

Json = Any
Transform = Callable[[MessageData], MessageData | None]
Split = Callable[[MessageData], list[MessageData]]


class Default(BaseModel):
    """The text that stands in where nothing matches."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    default: str


class TransformSpec(BaseModel):
    """One of `regex`, `json`, `tag`; the other fields belong to `regex`, but for `on_no_match`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    regex: str | None = None
    group: int | str = Field(0, description="Which group of the match: a number, or a name.")
    all: bool = Field(False, description="Every match, one a line, not only the first.")
    template: str | None = Field(None, description="Put around the match: {match} stands for it.")
    case_sensitive: bool = True
    json_path: str | None = Field(None, alias="json")
    tag: str | None = Field(None, pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")
    on_no_match: Literal["fail", "keep", "drop"] | Default = "fail"


class SplitSpec(BaseModel):
    """A split by `regex` (each match is a unit) or `json` (each element of the list at that path)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    regex: str | None = None
    group: int | str | None = None
    json_path: str | None = Field(None, alias="json")


class MapSpec(BaseModel):
    """How the target runs once per unit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    split: Literal["messages"] | SplitSpec = "messages"
    max_parallel: int = Field(10, ge=1, le=1000)


class ReduceSpec(BaseModel):
    """How the units are reduced, layer by layer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    group_size: int = Field(3, ge=2, le=1000)


class NoMatch(ConditionError):
    """A transform that found nothing, on an edge that says that this is a failure."""

    code = "no_match"


def transform_problems(data: Json, path: str) -> Iterator[Problem]:
    """Everything wrong with an edge's transform."""
    if data is None:
        return
    spec, problems = _read(TransformSpec, data, path)
    yield from problems
    if spec is None:
        return
    chosen = [
        name
        for name, value in (("regex", spec.regex), ("json", spec.json_path), ("tag", spec.tag))
        if value is not None
    ]
    if len(chosen) != 1:
        yield Problem("error", "bad_transform", path, 'A transform has exactly one of "regex", "json", "tag".')
    if spec.regex is None:
        for name in ("group", "all", "template", "case_sensitive"):
            if name in data:
                yield Problem("error", "bad_transform", path + pointer(name), f'"{name}" belongs to "regex".')
    else:
        yield from _regex_problems(spec.regex, spec.group, path)
        if spec.template is not None and "{match}" not in spec.template:
            message = 'The template does not hold "{match}", so the match would be lost.'
            yield Problem("error", "bad_transform", path + "/template", message)
    if spec.json_path is not None and not all(spec.json_path.split(".")):
        yield Problem("error", "bad_transform", path + "/json", '"json" is a dotted path such as "files.0".')


def map_problems(data: Json, reduce: Json, path: str) -> Iterator[Problem]:
    """Everything wrong with an edge's map and reduce; `path` is the edge's."""
    if data is None:
        if reduce is not None:
            yield Problem(
                "error", "reduce_without_map", path + "/reduce", '"reduce" goes with "map".', 'Add "map": {}.'
            )
        return
    spec, problems = _read(MapSpec, data, path + "/map")
    yield from problems
    if spec is not None and isinstance(spec.split, SplitSpec):
        split = spec.split
        here = path + "/map/split"
        if (split.regex is None) == (split.json_path is None):
            yield Problem("error", "bad_map", here, 'A split is "messages", {"regex": …} or {"json": …}.')
        if split.regex is not None:
            yield from _regex_problems(split.regex, split.group, here)
    if reduce is not None:
        yield from _read(ReduceSpec, reduce, path + "/reduce")[1]


def _read(kind: type[Any], data: Json, path: str) -> tuple[Any, list[Problem]]:
    try:
        return kind.model_validate(data), []
    except ValidationError as error:
        return None, [_problem(fault, kind, path) for fault in error.errors(include_url=False)]


def _problem(fault: Any, kind: type[BaseModel], path: str) -> Problem:
    steps = [
        step
        for step in fault["loc"]
        if not isinstance(step, str) or step not in ("SplitSpec", "Default", "literal['messages']")
    ]
    name = str(steps[-1]) if steps else ""
    if fault["type"] == "extra_forbidden":
        known = [field.alias or key for key, field in kind.model_fields.items()]
        message = f"There is no key {name!r} here.{nearest(name, known)}"
        return Problem("error", "unknown_key", path + pointer(*steps), message, f"Known are {', '.join(known)}.")
    text = str(fault["msg"])
    return Problem("error", "bad_value", path + pointer(*steps), f"{name!r} does not fit: {text[0].lower()}{text[1:]}.")


def _regex_problems(pattern: str, group: int | str | None, path: str) -> Iterator[Problem]:
    problems = list(regex_problems(pattern, path + "/regex"))
    yield from problems
    if problems or group is None:
        return
    compiled = compile_regex(pattern)
    known = list(compiled.groupindex) if isinstance(group, str) else range(compiled.groups + 1)
    if group not in known:
        yield Problem("error", "bad_regex", path + "/group", f"The regular expression has no group {group!r}.")


def read_transform(data: Mapping[str, Json]) -> Transform:
    """The transform as a function: the new message, None where it is dropped; raises `NoMatch`."""
    spec = TransformSpec.model_validate(data)
    extract = _extractor(spec)

    def transform(message: MessageData) -> MessageData | None:
        found = extract(message)
        if found is not None:
            return found
        if isinstance(spec.on_no_match, Default):
            return _as_text(message, spec.on_no_match.default)
        if spec.on_no_match == "keep":
            return message
        if spec.on_no_match == "drop":
            return None
        raise NoMatch(f"its transform {json.dumps(dict(data), ensure_ascii=False)[:200]} found nothing")

    return transform


def _extractor(spec: TransformSpec) -> Callable[[MessageData], MessageData | None]:
    if spec.regex is not None:
        return _regex_extractor(spec, compile_regex(spec.regex, case_sensitive=spec.case_sensitive))
    if spec.json_path is not None:
        path = spec.json_path.split(".")

        def from_json(message: MessageData) -> MessageData | None:
            found, value = field_value(json_of(message), path)
            return _as_value(message, value) if found else None

        return from_json
    pattern = compile_regex(f"(?s)<{spec.tag}>(.*?)</{spec.tag}>")

    def from_tag(message: MessageData) -> MessageData | None:
        match = pattern.search(message.text)
        return _as_text(message, match.group(1)) if match else None

    return from_tag


def _regex_extractor(spec: TransformSpec, pattern: Any) -> Callable[[MessageData], MessageData | None]:
    def extract(message: MessageData) -> MessageData | None:
        matches = [match.group(spec.group) or "" for match in _matches(pattern, message.text, spec.all)]
        if not matches:
            return None
        if spec.template is not None:
            matches = [spec.template.replace("{match}", match) for match in matches]
        return _as_text(message, "\n".join(matches))

    return extract


def _matches(pattern: Any, text: str, every: bool) -> list[Any]:
    if every:
        return list(pattern.finditer(text))
    match = pattern.search(text)
    return [match] if match else []


def read_split(data: Mapping[str, Json]) -> Split:
    """The units of one message, in order; none where nothing matches."""
    split = MapSpec.model_validate(data).split
    if split == "messages":
        return lambda message: [message]
    if split.regex is not None:
        pattern = compile_regex(split.regex)
        group = split.group if split.group is not None else min(pattern.groups, 1)
        return lambda message: [_as_text(message, match.group(group) or "") for match in pattern.finditer(message.text)]
    path = (split.json_path or "").split(".") if split.json_path else []

    def elements(message: MessageData) -> list[MessageData]:
        found, value = field_value(json_of(message), path)
        return [_as_value(message, item) for item in value] if found and isinstance(value, list) else []

    return elements


def json_of(message: MessageData) -> Json:
    """A message's JSON: what it holds, or what its text reads as; None otherwise."""
    if message.structured:
        return message.data
    try:
        return json.loads(message.text)
    except (ValueError, RecursionError):
        return None


def _as_text(message: MessageData, text: str) -> MessageData:
    return replace(message, text=text, data=None, structured=False)


def _as_value(message: MessageData, value: Json) -> MessageData:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return replace(message, text=text, data=value, structured=True)
