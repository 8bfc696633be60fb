"""Commands inside a nested topology: `"in": ["outer", "inner"]` leads to the document that such a node holds.

Edges in there are named by their place, e1, e2 and so on, anew after each change: nobody else keeps names of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.topologies.editing.changes import Changed, Command
from workbench.topologies.editing.state import CommandRefused, State, nodes_of, state_of

Json = Any
DEEPEST = 8


def inside(state: State, command: Command, act: Callable[[State, Command], Changed]) -> Changed:
    """What `act` does with a command, done to the topology that the first node of its `in` holds."""
    path = command["in"]
    if not isinstance(path, list) or len(path) > DEEPEST or not all(isinstance(name, str) for name in path):
        raise CommandRefused(f'"in" is a list of at most {DEEPEST} nodes, each inside the one before.')
    node = nodes_of(state.document).get(path[0])
    nested = node.get("topology") if isinstance(node, dict) else None
    if not isinstance(node, dict) or not isinstance(nested, dict):
        raise CommandRefused(f"{path[0]!r} holds no topology of its own, so nothing can be changed inside it.")
    changed = act(state_of(nested), {**command, "in": path[1:]})
    node["topology"] = changed.state.document
    return Changed(state, f"{changed.label} in {path[0]}")
