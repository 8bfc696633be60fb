"""YAML read strictly into plain JSON data: no tags, no twice-written keys, bounded in size, depth and expansion.

It is built from the parser's events without recursion, because PyYAML's own composer recurses, expands aliases without
end and lets the last of two equal keys win.
"""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

import yaml
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

from workbench.engine.documents import MAX_BYTES, MAX_DEPTH, ReadResult, pointer, read_json
from workbench.engine.errors import Problem

MAX_VALUES = 500_000
MAX_DIGITS = 1_000

Json = Any

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CONSTRUCTOR = SafeConstructor()
_resolve: Any = Resolver().resolve
_TAG = "tag:yaml.org,2002:"
_UNSET = object()


class _Refused(Exception):
    """The whole document can't be read."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.problem = Problem("error", code, "", message, hint)


class _Anchored(NamedTuple):
    value: Json
    size: int


class _Frame:
    """A list or an object that is being read."""

    def __init__(self, value: Json, anchor: str | None) -> None:
        self.value, self.anchor = value, anchor
        self.key: Json = _UNSET
        self.size = 1
        self.merged: list[Json] = []


def read_yaml(text: str) -> ReadResult:
    """The document as JSON data, or everything wrong with it."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        message = f"The document has {size / 1024 / 1024:.1f} MB; 5 MB is the most that is read."
        return ReadResult(None, [Problem("error", "too_large", "", message)])
    builder = _Builder()
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            builder.take(event)
    except _Refused as refused:
        return ReadResult(None, [*builder.problems, refused.problem])
    except (yaml.YAMLError, UnicodeError) as error:
        return ReadResult(None, [Problem("error", "not_yaml", "", f"This is not YAML: {_because(error)}.")])
    data = builder.document
    if data is _UNSET:
        return ReadResult(None, [Problem("error", "not_yaml", "", "This is not YAML: it is empty.")])
    if "\\" in text:  # only an escape can smuggle in NUL or half characters
        builder.problems += read_json(json.dumps(data)).problems
    return ReadResult(None if builder.problems else data, builder.problems)


def _because(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
    return f"{getattr(error, 'problem', None) or 'it holds a character that YAML does not allow'}{where}"


class _Builder:
    """Takes the events of one document, one after the other."""

    def __init__(self) -> None:
        self.document: Json = _UNSET
        self.problems: list[Problem] = []
        self._frames: list[_Frame] = []
        self._anchors: dict[str, _Anchored] = {}

    def take(self, event: Any) -> None:
        if isinstance(event, yaml.DocumentStartEvent):
            if self.document is not _UNSET:
                raise _Refused("several_documents", "The file holds several YAML documents; one is read.")
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event)
        elif isinstance(event, yaml.ScalarEvent):
            self._tag(event)
            self._place(self._scalar(event), 1, event.anchor)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._tag(event)
            self._open(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._close()

    def _open(self, event: Any) -> None:
        if len(self._frames) >= MAX_DEPTH:
            raise _Refused("too_deep", f"The document is nested more than {MAX_DEPTH} levels deep.")
        parent = self._frames[-1] if self._frames else None
        if parent is not None and isinstance(parent.value, dict) and parent.key is _UNSET:
            raise _Refused("bad_key", f"A key of {self._path() or 'the document'} is a list or an object.")
        mapping = isinstance(event, yaml.MappingStartEvent)
        self._frames.append(_Frame({} if mapping else [], event.anchor))

    def _close(self) -> None:
        frame = self._frames.pop()
        for source in frame.merged:
            frame.value.update({key: item for key, item in source.items() if key not in frame.value})
        self._place(frame.value, frame.size, frame.anchor)

    def _alias(self, event: Any) -> None:
        found = self._anchors.get(event.anchor)
        if found is None:
            raise _Refused("bad_alias", f"The alias *{event.anchor} stands inside what it names, or before it.")
        self._place(found.value, found.size, None)

    def _place(self, value: Json, size: int, anchor: str | None) -> None:
        """Put a finished value where it belongs: `size` counts the values in it, aliases written out."""
        if anchor is not None:
            self._anchors[anchor] = _Anchored(value, size)
        if not self._frames:
            self.document = value
            return
        frame = self._frames[-1]
        frame.size += size
        if frame.size > MAX_VALUES:
            hint = "Aliases (*name) count as often as they are used."
            raise _Refused("too_large", f"The document holds more than {MAX_VALUES:,} values.", hint)
        if isinstance(frame.value, list):
            frame.value.append(value)
        elif frame.key is _UNSET:
            frame.key = self._key(value)
        else:
            self._pair(frame, frame.key, value)
            frame.key = _UNSET

    def _pair(self, frame: _Frame, key: str, value: Json) -> None:
        if key == "<<":
            sources = value if isinstance(value, list) else [value]
            if not all(isinstance(source, dict) for source in sources):
                self._problem("bad_key", key, "The merge key << takes an object, or a list of them.")
                return
            frame.merged += sources
            frame.size += sum(len(source) for source in sources)
        elif key in frame.value:
            self._problem("duplicate_key", key, f"The key {key!r} stands twice.", "Keep one of them.")
        else:
            frame.value[key] = value

    def _key(self, value: Json) -> str:
        if isinstance(value, str):
            return value
        if isinstance(value, dict | list):
            raise _Refused("bad_key", f"A key of {self._path() or 'the document'} is a list or an object.")
        text = json.dumps(value)
        self._problem("bad_key", text, f"The key {text} is not a text.", "Put it in quotes.")
        return text

    def _scalar(self, event: Any) -> Json:
        tag = str(_resolve(yaml.ScalarNode, event.value, event.implicit)).removeprefix(_TAG)
        if tag == "null":
            return None
        if tag == "bool":
            return _CONSTRUCTOR.construct_yaml_bool(yaml.ScalarNode(tag, event.value))
        if tag in ("int", "float"):
            return self._number(tag, event.value)
        return event.value

    def _number(self, tag: str, text: str) -> Json:
        node = yaml.ScalarNode(tag, text)
        if len(text) > MAX_DIGITS:
            raise _Refused("number_too_long", "A number in the document has too many digits.")
        try:
            if tag == "int":
                return _CONSTRUCTOR.construct_yaml_int(node)
            number = _CONSTRUCTOR.construct_yaml_float(node)
        except (ValueError, OverflowError):
            return text
        if not math.isfinite(number):
            raise _Refused("not_a_number", f"{text} is not a finite number.", "Use a finite number, or null.")
        return number

    def _tag(self, event: Any) -> None:
        if event.tag is not None:
            message = f"The YAML tag {event.tag!r} (line {event.start_mark.line + 1}) is not read."
            raise _Refused("yaml_tag", message, "Write the plain value.")

    def _problem(self, code: str, key: str, message: str, hint: str = "") -> None:
        self.problems.append(Problem("error", code, self._path() + pointer(key), message, hint))

    def _path(self) -> str:
        """The JSON Pointer of the list or object that is being read."""
        steps = [len(frame.value) if isinstance(frame.value, list) else str(frame.key) for frame in self._frames[:-1]]
        return pointer(*steps)
