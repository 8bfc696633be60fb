"""The fields of a node, an edge, and the topology itself, as their schemas say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from workbench.engine.documents import pointer
from workbench.engine.errors import PluginError
from workbench.engine.nodes import NODES, Surroundings
from workbench.engine.spec import Defaults
from workbench.topologies.editing.fields import edge_at
from workbench.topologies.editing.forms import Around, Field, Option, fields_of
from workbench.topologies.editing.patches import edges_by_key
from workbench.topologies.editing.schemas import edge_schema, node_schema, shared_schema, top_schema
from workbench.topologies.editing.state import State, nodes_of
from workbench.topologies.library import Library

Json = Any
SHARED = ("type", "label", "join", "on_error", "retries")


def node_fields(state: State, name: str) -> list[Field]:
    """The fields of a node: what it is, what its type says, what all nodes share. Of an unknown type: what is there."""
    node = nodes_of(state.document).get(name)
    said = node if isinstance(node, Mapping) else {}
    shared = shared_schema()
    own = node_schema(said.get("type")) or {"properties": {}}
    usual = _usual(state, name, said)
    first = fields_of(_only(shared, ("type", "label")), _part(said, ("type", "label")))
    rest = fields_of(_only(shared, SHARED[2:]), _part(said, SHARED[2:]))
    own_values = {key: value for key, value in said.items() if key not in SHARED}
    return [_types(first[0]), first[1], *fields_of(own, own_values, Around(usual, said)), *rest]


def _types(field: Field) -> Field:
    """The type is one of those that there are."""
    names = NODES.names()
    chosen = str(field.value) if field.given else ""
    options = [Option(f'"{name}"', name, name == chosen) for name in names]
    if chosen not in names:
        options.insert(0, Option(f'"{chosen}"' if chosen else "", f"{chosen or 'no type'} (not known)", True))
    return field._replace(kind="choice", options=options, help="")


def _only(schema: dict[str, Json], names: tuple[str, ...]) -> dict[str, Json]:
    return {**schema, "properties": {name: schema["properties"][name] for name in names}, "required": []}


def _part(said: Mapping[str, Json], names: tuple[str, ...]) -> dict[str, Json]:
    return {name: said[name] for name in names if name in said}


def _usual(state: State, name: str, said: Mapping[str, Json]) -> dict[str, Json]:
    """What a run would take where the node says nothing: what its agent and the topology's defaults say."""
    try:
        kind = NODES.get(str(said.get("type")))
        defaults = Defaults.model_validate(state.document.get("defaults") or {})
        config = kind.Config.model_validate({key: value for key, value in said.items() if key not in SHARED})
        found = kind.resolve(config, Surroundings(name, defaults, Library(), ()))
    except (PluginError, ValidationError, AttributeError, TypeError, ValueError, KeyError):
        return {}
    return _flat(found.model_dump(mode="json"), "")


def _flat(value: Json, path: str) -> dict[str, Json]:
    if not isinstance(value, dict):
        return {path: value}
    return {key: item for name, part in value.items() for key, item in _flat(part, path + pointer(name)).items()}


def edge_fields(state: State, key: str) -> list[Field]:
    """The fields of an edge."""
    edge_at(state, key)
    return fields_of(edge_schema(), edges_by_key(state)[key])


def top_fields(state: State) -> list[Field]:
    """The fields of the topology itself."""
    return fields_of(top_schema(), state.document, skip=("format", "name", "nodes", "edges", "layout"))
