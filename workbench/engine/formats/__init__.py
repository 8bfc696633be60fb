"""Topology formats that can be imported. The contract: one `Format` in a file of its own beside this one.

An importer is pure: it reads no other file, no environment, and executes nothing. What it can't express it says.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

from workbench.engine.errors import Problem
from workbench.engine.plugins import Plugins

Json = Any

_NONE: Mapping[str, str] = {}


class Imported(NamedTuple):
    """A foreign document as a topology. Problems point into the foreign document; notes say what was understood
    differently, changed or left out."""

    topology: dict[str, Json] | None
    """The topology in the own format; None where the text could not be read at all."""
    notes: list[str]
    problems: list[Problem]
    foreign_ids: Mapping[str, str] = _NONE
    """Own id → the id that the node has in the foreign document."""
    places: Mapping[str, str] = _NONE
    """JSON Pointer in the topology (`/nodes/x`, `/edges/3`, `/start`) → the place that it came from."""
    format: str = ""
    """The importer's name; "" for a document that already has the own format."""


class Format(ABC):
    """A format to import. Its docstring is what the user reads."""

    @abstractmethod
    def recognises(self, filename: str, text: str) -> bool:
        """Whether the text looks like a document of this format; cheap, and never an error."""

    @abstractmethod
    def read(self, text: str) -> Imported:
        """The topology in the text. Whatever is wrong with it is a problem; nothing is raised."""


FORMATS = Plugins("workbench.engine.formats", Format, "format")  # type: ignore[type-abstract]


def read_foreign(filename: str, text: str) -> Imported | None:
    """The document, imported by the format that recognises it; None where none does."""
    for name in FORMATS.names():
        reader = FORMATS.get(name)()
        if reader.recognises(filename, text):
            return reader.read(text)._replace(format=name)
    return None
