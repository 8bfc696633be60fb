"""What importers share: reading a foreign document part by part, strictly, and gathering what is to be said about it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeVar

from workbench.engine.documents import pointer, read_json
from workbench.engine.errors import Problem
from workbench.engine.plugins import nearest

Json = Any
T = TypeVar("T")

MAX_HINTS, MAX_NAMES = 50, 20

_TOP_KEY = re.compile(r"""^["']?([A-Za-z_]\w*)["']?\s*:""", re.MULTILINE)
_JINJA = re.compile(r"\{[{%#]")
_SPACES = re.compile(r"[^A-Za-z0-9._-]+")


class Reading:
    """The problems and notes of one import. Equal notes about several things become one."""

    def __init__(self, problems: Sequence[Problem] = ()) -> None:
        self.problems = list(problems)
        self._notes: dict[str, dict[str, None]] = {}

    def error(self, code: str, path: str, message: str, hint: str = "") -> None:
        self.problems.append(Problem("error", code, path, message, hint))

    def nearest(self, name: str, known: Collection[str]) -> str:
        """A hint at the known name most like this one; after many problems no more, for each costs a search."""
        return nearest(name, list(known)) if len(self.problems) < MAX_HINTS else ""

    def note(self, sentence: str, about: str = "") -> None:
        """Say something about the node or edge named `about`; without one, about the whole document."""
        subjects = self._notes.setdefault(sentence, {})
        if about:
            subjects[about] = None

    @property
    def notes(self) -> list[str]:
        return [f"{_listed(about)}: {sentence}" if about else sentence for sentence, about in self._notes.items()]

    def part(self, data: Json, path: str, known: Sequence[str], what: str) -> Part:
        """An object of the document; whatever stands in it that is not known is a problem."""
        if not isinstance(data, Mapping):
            self.error("bad_value", path, f"{what} must be an object with keys; it is {shown(data)}.")
            return Part(self, {}, path, what)
        for key in data:
            if key not in known:
                message = f"{what} has no key {key!r}.{self.nearest(str(key), known)}"
                self.error("unknown_key", path + pointer(key), message, f"Known are {', '.join(known)}.")
        return Part(self, data, path, what)


class Part:
    """An object of a foreign document with its place. A key that is null counts as absent."""

    def __init__(self, reading: Reading, data: Mapping[str, Json], path: str, what: str) -> None:
        self.reading, self.data, self.path, self.what = reading, data, path, what

    def at(self, *keys: str | int) -> str:
        """The JSON Pointer of something in it."""
        return self.path + pointer(*keys)

    def get(self, key: str) -> Json:
        return self.data.get(key)

    def has(self, key: str) -> bool:
        return self.data.get(key) is not None

    def text(self, key: str, default: str = "", *, required: bool = False) -> str:
        value = self._typed(key, str, default, "a text (numbers, yes and no need quotes)")
        if required and not value:
            self.missing(key)
        return value

    def missing(self, key: str) -> None:
        self.reading.error("missing_key", self.at(key), f"{self.what} needs {key!r}.")

    def flag(self, key: str, default: bool) -> bool:
        return self._typed(key, bool, default, "true or false")

    def whole(self, key: str, default: int) -> int:
        if isinstance(self.get(key), bool):
            return self._wrong(key, default, "a whole number")
        return self._typed(key, int, default, "a whole number")

    def number(self, key: str, default: float) -> float:
        value = self.get(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float):
            return self._wrong(key, default, "a number")
        return value

    def items(self, key: str) -> list[Json]:
        return self._typed(key, list, [], "a list")

    def texts(self, key: str, *, one: bool = False) -> list[str]:
        """A list of texts; with `one`, a single text stands for a list of one."""
        value = self.get(key)
        if one and isinstance(value, str):
            return [value]
        found = self.items(key)
        for position, item in enumerate(found):
            if not isinstance(item, str):
                message = f"{self.what}: {key!r} holds {shown(item)}, which is not a text."
                self.reading.error("bad_value", self.at(key, position), message, "Put it in quotes.")
        return [item for item in found if isinstance(item, str)]

    def choice(self, key: str, options: Collection[str], default: str, *, required: bool = False) -> str:
        """One of the options; another is a problem, and the default goes on."""
        if required and not self.has(key):
            self.missing(key)
        value = self.text(key, default)
        if value in options:
            return value
        message = f"{self.what} has an unknown {key} {value!r}.{self.reading.nearest(value, options)}"
        self.reading.error(f"unknown_{key}", self.at(key), message, f"Known are {', '.join(options)}.")
        return default

    def part(self, key: str, known: Sequence[str], what: str) -> Part:
        """The object at a key; an empty one where it is absent."""
        data = self.get(key)
        return self.reading.part({} if data is None else data, self.at(key), known, what)

    def _typed(self, key: str, kind: type[T], default: T, words: str) -> T:
        value = self.get(key)
        if value is None:
            return default
        return value if isinstance(value, kind) else self._wrong(key, default, words)

    def _wrong(self, key: str, default: T, words: str) -> T:
        message = f"{self.what}: {key!r} must be {words}; it is {shown(self.get(key))}."
        self.reading.error("bad_value", self.at(key), message)
        return default


def shown(value: Json) -> str:
    """A value as an error shows it."""
    text = json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= 60 else text[:57] + "…"


def _listed(names: Collection[str]) -> str:
    shown_names = list(names)[:MAX_NAMES]
    return ", ".join(shown_names) + (f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else "")


def top_keys(text: str) -> set[str]:
    """The keys at the top of a JSON or YAML document, found without reading all of the latter."""
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        data = read_json(text).data
        return set(data) if isinstance(data, dict) else set()
    return {match.group(1) for match in _TOP_KEY.finditer(text)}


def as_template(text: str) -> str:
    """A text as a prompt that renders to just that text: what would begin an expression is quoted."""
    return _JINJA.sub(lambda match: "{{ '" + match.group() + "' }}", text)


def as_name(text: str, reading: Reading) -> str:
    """A topology's name from a foreign one."""
    name = _SPACES.sub("-", text).strip("-._")[:100] or "imported"
    if text and name != text:
        reading.note(f"The topology is called {name!r}: {text!r} can't be a name here.")
    return name
