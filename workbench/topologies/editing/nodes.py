"""Commands on nodes: add, rename, mark as start or end, move, lay out."""

from __future__ import annotations

from typing import Any

from workbench.topologies.editing.changes import Changed, Command
from workbench.topologies.editing.edges import edge_insert
from workbench.topologies.editing.fields import node_at
from workbench.topologies.editing.placing import layout_set, places_made
from workbench.topologies.editing.renaming import free_id, id_refuse, nodes_renamed
from workbench.topologies.editing.schemas import node_schema
from workbench.topologies.editing.state import CommandRefused, State, names_of, nodes_of

Json = Any


def add_node(state: State, command: Command) -> Changed:
    """A new node; the first of a topology is where it starts and ends."""
    kind, document = command.get("type"), state.document
    if node_schema(kind) is None:
        raise CommandRefused(f"There is no node type {kind!r}.")
    config = command.get("config") or {}
    if not isinstance(config, dict):
        raise CommandRefused('"config" holds the fields of the new node, as a JSON object.')
    name = command.get("id")
    if name is None:
        agent = config.get("agent")
        name = free_id(agent.partition("@")[0] if isinstance(agent, str) else str(kind), nodes_of(document))
    id_refuse(name, document)
    nodes = dict(nodes_of(document))
    first = not nodes
    document["nodes"] = inserted(nodes, name, {"type": kind, **config}, command.get("index"))
    if first:
        document["start"], document["end"] = [name], [name]
    if command.get("at") is not None:
        layout_set(state, {name: command["at"]})
    edges: tuple[str, ...] = ()
    if command.get("from") is not None:
        node_at(state, command["from"])
        state, key = edge_insert(state, {"from": command["from"], "to": name})
        edges = (key,)
    return Changed(state, f"Add {name}", nodes=(name,), edges=edges)


def inserted(items: dict[str, Json], key: str, value: Json, index: Json) -> dict[str, Json]:
    """The items with one more, at a place among them (without one: at the end)."""
    pairs = [(name, item) for name, item in items.items() if name != key]
    place = index if isinstance(index, int) and 0 <= index <= len(pairs) else len(pairs)
    pairs.insert(place, (key, value))
    return dict(pairs)


def rename(state: State, command: Command) -> Changed:
    """Another id; everything that names the node follows."""
    old, new = command.get("node"), command.get("to")
    if not isinstance(old, str) or old not in nodes_of(state.document):
        raise CommandRefused(f"There is no node {old!r} (any more).")
    id_refuse(new, state.document, besides=old)
    nodes_renamed(state.document, {old: str(new)})
    places = {str(new) if name == old else name: place for name, place in state.places.items()}
    state = state._replace(places=places)
    return Changed(state, f"Rename {old} to {new}", renamed={old: str(new)} if old != new else {})


def mark(state: State, command: Command) -> Changed:
    """Whether the run starts or ends at a node."""
    name, document = command.get("node"), state.document
    node_at(state, name)
    said = []
    for key in ("start", "end"):
        wanted = command.get(key)
        if wanted is None:
            continue
        names = [other for other in names_of(document, key) if other != name]
        document[key] = [*names, name] if wanted else names
        said.append(f"{key}s" if wanted else f"no longer {key}s")
    return Changed(state, f"Run {' and '.join(said) or 'unchanged'} at {name}")


def move(state: State, command: Command) -> Changed:
    """Where nodes stand."""
    places = command.get("places")
    if not isinstance(places, dict) or not places:
        raise CommandRefused('"places" says for each node where it stands: {"writer": [40, 80]}.')
    for name in places:
        if name not in nodes_of(state.document):
            raise CommandRefused(f"There is no node {name!r} (any more).")
    layout_set(state, places)
    names = list(places)
    return Changed(state, f"Move {names[0]}" if len(names) == 1 else f"Move {len(names)} nodes")


def layout(state: State, command: Command) -> Changed:
    """Every node at the place that we would give it."""
    if not nodes_of(state.document):
        raise CommandRefused("There are no nodes yet.")
    state.document["layout"] = {name: list(place) for name, place in places_made(state.document).items()}
    return Changed(state, "Arrange")
