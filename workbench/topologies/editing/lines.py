"""From a JSON Pointer to the line of a text where it stands, for JSON and for YAML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

from workbench.engine.documents import pointer

_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[\[\]{},:]|\n|[^\s\[\]{},:"]+')
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_LINE = re.compile(r"\(line (\d+)")


def pointer_lines(text: str, syntax: str) -> dict[str, int]:
    """Every place of a document with its line, counted from 1. Of a text that can't be read, what comes before the fault."""
    return _yaml_lines(text) if syntax == "yaml" else _json_lines(text)


def line_of(path: str, lines: Mapping[str, int]) -> int | None:
    """The line of a place, or of the nearest place around it that stands in the text."""
    while path not in lines:
        if not path:
            return None
        path = path.rpartition("/")[0]
    return lines[path]


def line_in(message: str) -> int | None:
    """The line that a sentence about an unreadable text names."""
    found = _LINE.search(message)
    return int(found[1]) if found else None


def _json_lines(text: str) -> dict[str, int]:
    """Without recursion: `open_paths` holds the objects and lists around, `places` the number of the current item in each
    list (None in an object), `current` the place whose value comes next."""
    lines: dict[str, int] = {"": 1}
    open_paths: list[str] = []
    places: list[int | None] = []
    current, line, key_next = "", 1, False
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token == "\n":
            line += 1
        elif token in ("}", "]"):
            if open_paths:
                open_paths.pop()
                places.pop()
            key_next = False
        elif token == ",":
            key_next = bool(places) and places[-1] is None
            if places and places[-1] is not None:
                places[-1] += 1
                current = f"{open_paths[-1]}/{places[-1]}"
        elif token == ":":
            key_next = False
        elif key_next:
            current = open_paths[-1] + pointer(_plain(token))
            lines[current] = line
        else:
            lines.setdefault(current, line)
            if token in ("{", "["):
                open_paths.append(current)
                places.append(None if token == "{" else 0)
                key_next = token == "{"
                current = current if key_next else f"{current}/0"
    return lines


def _plain(token: str) -> str:
    try:
        found = yaml.safe_load(token) if "\\" in token else token.strip('"')
    except yaml.YAMLError:
        return token
    return str(found)


def _yaml_lines(text: str) -> dict[str, int]:
    try:
        root = yaml.compose(text, Loader=_LOADER)
    except (yaml.YAMLError, RecursionError, UnicodeError):
        return {"": 1}
    lines: dict[str, int] = {"": 1}
    waiting: list[tuple[str, Any]] = [("", root)]
    while waiting and len(lines) < 500_000:
        path, node = waiting.pop()
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                here = path + pointer(str(getattr(key, "value", "")))
                lines[here] = key.start_mark.line + 1
                waiting.append((here, value))
        elif isinstance(node, yaml.SequenceNode):
            for place, value in enumerate(node.value):
                here = f"{path}/{place}"
                lines[here] = value.start_mark.line + 1
                waiting.append((here, value))
    return lines
