"""What a command is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from workbench.topologies.editing.state import State

Json = Any
Command = Mapping[str, Json]


class Changed(NamedTuple):
    """A state after a command: what was done in words, what was made (to be selected), which nodes changed their id."""

    state: State
    label: str
    nodes: tuple[str, ...] | None = None
    edges: tuple[str, ...] | None = None
    renamed: Mapping[str, str] = {}
