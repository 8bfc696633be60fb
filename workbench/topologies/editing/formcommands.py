"""The commands that a form asks for: a button's, those of chosen rows, a new node or edge, and changed fields."""

from __future__ import annotations

from typing import Any

from workbench.engine.documents import read_json
from workbench.topologies.editing.changes import Command
from workbench.topologies.editing.conditionforms import Posted
from workbench.topologies.editing.formreading import form_changes
from workbench.topologies.editing.panels import edge_fields, node_fields, top_fields
from workbench.topologies.editing.state import CommandRefused, State, names_of

Json = Any


def form_commands(posted: Posted, state: State) -> list[Command]:
    """What is to be done; `state` is what the person saw."""
    commands: list[Command] = []
    for text in posted.getlist("command"):
        read = read_json(text).data
        commands += read if isinstance(read, list) else [read]
    if posted.get("chosen"):
        commands.append(_chosen(posted))
    if posted.get("do"):
        commands += _simple(posted)
    if posted.getlist("has"):
        commands += _fields(posted, state)
    return commands


def _chosen(posted: Posted) -> Command:
    """What to do with the rows that are ticked."""
    nodes, edges = posted.getlist("nodes"), posted.getlist("edges")
    if posted.get("chosen") == "duplicate":
        return {"do": "duplicate", "nodes": nodes}
    return {"do": "delete", "nodes": nodes, "edges": edges}


def _simple(posted: Posted) -> list[Command]:
    """Forms with a field for each part of one command."""
    name = posted.get("do")
    if name == "add_node":
        agent = posted.get("agent", "").strip()
        command: dict[str, Json] = {"do": name, "type": posted.get("type", "agent")}
        command |= {key: posted.get(key, "").strip() for key in ("id", "from") if posted.get(key, "").strip()}
        return [command | ({"config": {"agent": agent}} if agent and command["type"] == "agent" else {})]
    if name in ("connect", "reconnect"):
        keys = ("from", "to", "edge") if name == "reconnect" else ("from", "to")
        return [{"do": name, **{key: posted.get(key, "") for key in keys if posted.get(key, "")}}]
    if name == "rename":
        old, new = posted.get("node", ""), posted.get("to", "").strip()
        return [] if old == new else [{"do": name, "node": old, "to": new}]
    if name == "set_text":
        return [{"do": name, "text": posted.get("text", ""), "syntax": posted.get("syntax", "json")}]
    if name == "paste":
        return [{"do": name, "fragment": read_json(posted.get("fragment", "")).data}]
    raise CommandRefused(f"There is no command {str(name)[:60]!r}.")


def _fields(posted: Posted, state: State) -> list[Command]:
    """The fields of a node, an edge or the topology that were changed in the form."""
    node, edge = posted.get("node", ""), posted.get("edge", "")
    if node:
        return [*_marks(posted, state, node), *form_changes(node_fields(state, node), posted, {"node": node})]
    if edge:
        return list(form_changes(edge_fields(state, edge), posted, {"edge": edge}))
    return list(form_changes(top_fields(state), posted, {}))


def _marks(posted: Posted, state: State, node: str) -> list[Command]:
    found: list[Command] = []
    for key in ("start", "end"):
        if f"@{key}" in posted.getlist("has"):
            wanted = f"v:@{key}" in posted
            if wanted != (node in names_of(state.document, key)):
                found.append({"do": "mark", "node": node, key: wanted})
    return found
