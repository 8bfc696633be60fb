"""Every command there is, by name, and several of them as one step. Pure: a state goes in, another comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.topologies.editing.changes import Changed, Command
from workbench.topologies.editing.edges import connect, delete, reconnect, reorder
from workbench.topologies.editing.fields import MISSING, edge_at, node_at, pointer_steps, set_value
from workbench.topologies.editing.nesting import inside
from workbench.topologies.editing.nodes import add_node, layout, mark, move, rename
from workbench.topologies.editing.pasting import duplicate, paste
from workbench.topologies.editing.placing import placed
from workbench.topologies.editing.state import CommandRefused, State, edges_of, keys_carried, pack, unpack
from workbench.topologies.editing.texts import drop_text, replace, set_text

Json = Any
MOST = 2000
ALWAYS = ("set_text", "drop_text", "replace")
"""Commands that make sense while the text can't be read."""


def set_field(state: State, command: Command) -> Changed:
    """One value anywhere in the document, written or taken away."""
    steps = pointer_steps(_text(command.get("path"), "path"))
    value = MISSING if command.get("unset") else command.get("value")
    if value is MISSING or "value" in command:
        root, where = _root(state, command)
        set_value(root, steps, value, what=f" of {where}" if where else "")
        word = "Clear" if value is MISSING else "Set"
        label = f"{word} {_name(steps)}{f' of {where}' if where else ''}"
        return Changed(_realigned(state, command, steps), label)
    raise CommandRefused('"set" needs a "value", or "unset": true.')


def _root(state: State, command: Command) -> tuple[Json, str]:
    if command.get("node") is not None:
        return node_at(state, command["node"]), str(command["node"])
    if command.get("edge") is not None:
        edge = edge_at(state, command["edge"])
        return edge, f"the edge from {edge.get('from')} to {edge.get('to')}"
    return state.document, ""


def _name(steps: Sequence[str]) -> str:
    return " ".join(steps[-2:]) if len(steps) > 1 else steps[0] if steps else "everything"


def _realigned(state: State, command: Command, steps: Sequence[str]) -> State:
    """Where edges were set from outside, they are counted again."""
    whole = not (command.get("node") or command.get("edge"))
    if whole and steps[0] == "edges" and len(edges_of(state.document)) != len(state.keys):
        before = State({"edges": [None] * len(state.keys)}, state.keys)
        return state._replace(keys=keys_carried(before, edges_of(state.document)))
    return state


def _text(value: Json, name: str) -> str:
    if not isinstance(value, str):
        raise CommandRefused(f'"{name}" is missing.')
    return value


COMMANDS: Mapping[str, Callable[[State, Command], Changed]] = {
    "add_node": add_node,
    "connect": connect,
    "reconnect": reconnect,
    "set": set_field,
    "rename": rename,
    "mark": mark,
    "move": move,
    "layout": layout,
    "delete": delete,
    "reorder": reorder,
    "duplicate": duplicate,
    "paste": paste,
    "replace": replace,
    "set_text": set_text,
    "drop_text": drop_text,
}


def apply(state: State, commands: Sequence[Json], label: str = "") -> Changed:
    """The state after all commands, or `CommandRefused` and none of them. The given state is left as it is."""
    if not commands or len(commands) > MOST:
        raise CommandRefused(f"Between 1 and {MOST:,} commands make one step.")
    changed = Changed(unpack(pack(state)), "")
    renamed: dict[str, str] = {}
    for command in commands:
        found = _one(changed.state, command)
        renamed |= found.renamed
        changed = Changed(
            found.state,
            (command.get("label") if isinstance(command.get("label"), str) else "") or found.label,
            _joined(changed.nodes, found.nodes),
            _joined(changed.edges, found.edges),
            renamed,
        )
    words = label or (changed.label if len(commands) == 1 else f"{changed.label} and {len(commands) - 1} more")
    return changed._replace(label=words[:200], state=placed(changed.state))


def _one(state: State, command: Json) -> Changed:
    if not isinstance(command, dict):
        raise CommandRefused("A command is a JSON object.")
    name = command.get("do")
    todo = COMMANDS.get(name) if isinstance(name, str) else None
    if todo is None:
        raise CommandRefused(f"There is no command {str(name)[:60]!r}. There are {', '.join(COMMANDS)}.")
    if command.get("in"):
        if name in ALWAYS:
            raise CommandRefused(f'"{name}" is about the whole text, not about a topology inside it.')
        return inside(state, command, _one)
    if state.broken is not None and name not in ALWAYS:
        raise CommandRefused("The text of this topology can't be read. Mend it, undo it, or drop it first.")
    if name in ALWAYS:
        return todo(state, command)
    _usable(state)
    return todo(state, command)


def _usable(state: State) -> None:
    """Nodes and edges of the wrong kind would be overwritten by a command: they are for the text."""
    for key, kind, word in (("nodes", dict, "object"), ("edges", list, "list")):
        value = state.document.get(key)
        if value is not None and not isinstance(value, kind):
            raise CommandRefused(f'"{key}" of this topology is no JSON {word}; mend it in the text.')


def _joined(one: tuple[str, ...] | None, other: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return one if other is None else (one or ()) + other
