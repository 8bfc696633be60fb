"""The JSON Schemas of nodes, edges and of the topology itself, as forms and commands read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from workbench.engine.errors import PluginError
from workbench.engine.nodes import NODES, json_schema
from workbench.engine.spec import EdgeSpec, NodeSpec, TopologySpec
from workbench.engine.tools import TOOLS
from workbench.engine.transforms import MapSpec, ReduceSpec, TransformSpec

Json = Any
Schema = dict[str, Json]
EDGE_PARTS: dict[str, type[BaseModel]] = {"transform": TransformSpec, "map": MapSpec, "reduce": ReduceSpec}


@lru_cache(maxsize=256)
def _node_schema(kind: str) -> Schema:
    return json_schema(NODES.get(kind).Config)


def node_schema(kind: Json) -> Schema | None:
    """The schema of a node type's own fields; None where there is no such type."""
    try:
        return _node_schema(kind) if isinstance(kind, str) else None
    except PluginError:
        return None


@lru_cache(maxsize=1)
def shared_schema() -> Schema:
    """The fields that all nodes share."""
    return NodeSpec.model_json_schema()


@lru_cache(maxsize=1)
def edge_schema() -> Schema:
    """The fields of an edge, with those of its transform, map and reduce."""
    schema = EdgeSpec.model_json_schema()
    for name, kind in EDGE_PARTS.items():
        part = kind.model_json_schema()
        definitions = schema.setdefault("$defs", {})
        definitions |= part.pop("$defs", {})
        definitions[kind.__name__] = part
        schema["properties"][name]["anyOf"][0] = {"$ref": f"#/$defs/{kind.__name__}"}
    return schema


@lru_cache(maxsize=1)
def top_schema() -> Schema:
    """The fields of a topology beside its nodes, edges and layout."""
    schema = TopologySpec.model_json_schema()
    hidden = ("format", "name", "nodes", "edges", "layout")
    schema["properties"] = {key: value for key, value in schema["properties"].items() if key not in hidden}
    return schema


@lru_cache(maxsize=256)
def tool_schema(name: str) -> Schema | None:
    """The schema of a tool's arguments; None where there is no such tool."""
    try:
        return TOOLS.get(name).Arguments.model_json_schema()
    except PluginError:
        return None


def resolved(schema: Schema, root: Schema) -> Schema:
    """The schema behind a reference, with what stands beside the reference."""
    while "$ref" in schema:
        target = root.get("$defs", {}).get(schema["$ref"].rpartition("/")[2], {})
        schema = target | {key: value for key, value in schema.items() if key != "$ref"}
    return schema


def variants(schema: Schema, root: Schema) -> list[Schema]:
    """The forms that a value may take, without null; one where there is no choice."""
    schema = resolved(schema, root)
    parts = schema.get("anyOf") or schema.get("oneOf")
    if not parts:
        return [schema]
    found = [form for part in parts for form in variants(part, root)]
    return [form for form in found if form.get("type") != "null"]


def marked(value: Json, schema: Schema, root: Schema, mark: str) -> Iterator[tuple[Json, str | int]]:
    """Every place inside a value that its schema marks (`x-input`), as (holder, key), so that it can be rewritten."""
    for form in variants(schema, root):
        if isinstance(value, dict):
            free = form.get("additionalProperties")
            known: Mapping[str, Json] = form.get("properties") or {}
            for key, item in value.items():
                inner = known.get(key) or (free if isinstance(free, dict) else None)
                if inner is not None:
                    yield from _marked_item(value, key, item, inner, root, mark)
        elif isinstance(value, list) and isinstance(form.get("items"), dict):
            for place, item in enumerate(value):
                yield from _marked_item(value, place, item, form["items"], root, mark)


def _marked_item(
    holder: Json, key: str | int, item: Json, schema: Schema, root: Schema, mark: str
) -> Iterator[tuple[Json, str | int]]:
    forms = variants(schema, root)
    if resolved(schema, root).get("x-input") == mark or any(form.get("x-input") == mark for form in forms):
        yield holder, key
    elif isinstance(item, dict | list):
        yield from marked(item, schema, root, mark)
