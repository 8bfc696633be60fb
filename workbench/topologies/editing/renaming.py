"""Gives nodes other ids, and lets follow whatever names them: edges, start and end, layout, rules, prompts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from workbench.engine.spec import NODE_ID, RESERVED_IDS
from workbench.topologies.editing.schemas import marked, node_schema
from workbench.topologies.editing.state import CommandRefused, Document, edges_of, nodes_of

Json = Any
_CODE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_USE = re.compile(r"""\bnodes(?:\.([A-Za-z_][A-Za-z0-9_]*)|\[\s*(?:"([^"]*)"|'([^']*)')\s*\])""")


def id_refuse(name: Json, document: Document, *, besides: str = "") -> None:
    """Raises `CommandRefused` where a node can't be called that."""
    if not isinstance(name, str) or not NODE_ID.fullmatch(name):
        raise CommandRefused(
            f"{str(name)[:80]!r} can't be the id of a node: begin with a letter; then letters, digits, _ and -, 64 at most."
            " Put any other text into the label."
        )
    if name in RESERVED_IDS:
        raise CommandRefused(f"{name!r} is a reserved word and can't be the id of a node. Choose another.")
    if name in nodes_of(document) and name != besides:
        raise CommandRefused(f"There is a node {name!r} already. Choose another id.")


def free_id(wanted: str, taken: Mapping[str, Json] | set[str]) -> str:
    """An id that begins as wanted and that nobody has: `writer`, `writer2`, `writer3` …"""
    stem = re.sub(r"[^A-Za-z0-9_-]+", "_", wanted).strip("_-") or "node"
    stem = (stem if stem[0].isalpha() else f"n{stem}")[:58]
    bare = re.sub(r"\d+$", "", stem) or stem
    name, number = stem, 1
    while name in taken or name in RESERVED_IDS:
        number += 1
        name = f"{bare}{number}"
    return name


def nodes_renamed(document: Document, names: Mapping[str, str]) -> None:
    """Rename in place; the order of the nodes stays."""
    document["nodes"] = {names.get(key, key): node for key, node in nodes_of(document).items()}
    for node in nodes_of(document).values():
        follow(node, names)
    for edge in edges_of(document):
        edge_follow(edge, names)
    for key in ("start", "end"):
        if isinstance(document.get(key), list):
            document[key] = [names.get(name, name) if isinstance(name, str) else name for name in document[key]]
    layout = document.get("layout")
    if isinstance(layout, dict):
        document["layout"] = {names.get(key, key): place for key, place in layout.items()}


def edge_follow(edge: Json, names: Mapping[str, str]) -> None:
    """Let an edge name its nodes by their new ids."""
    for end in ("from", "to"):
        if isinstance(edge, dict) and isinstance(edge.get(end), str):
            edge[end] = names.get(edge[end], edge[end])


def follow(node: Json, names: Mapping[str, str]) -> None:
    """Let a node's fields and prompts name other nodes by their new ids."""
    if not isinstance(node, dict):
        return
    schema = node_schema(node.get("type"))
    if schema is not None:
        for holder, key in list(marked(node, schema, schema, "node")):
            value = holder[key]
            if isinstance(value, str):
                holder[key] = names.get(value, value)
            elif isinstance(value, list):
                holder[key] = [names.get(item, item) if isinstance(item, str) else item for item in value]
    _texts_follow(node, names)


def _texts_follow(value: Json, names: Mapping[str, str]) -> None:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in list(items):
        if isinstance(item, str) and "nodes" in item:
            value[key] = prompt_renamed(item, names)
        elif isinstance(item, dict | list):
            _texts_follow(item, names)


def prompt_renamed(text: str, names: Mapping[str, str]) -> str:
    """The prompt with `nodes.OLD` written as the new id, inside its braces only."""

    def use(found: re.Match[str]) -> str:
        old = next(group for group in found.groups() if group is not None)
        new = names.get(old)
        if new is None:
            return found[0]
        return f"nodes.{new}" if new.isidentifier() else f'nodes["{new}"]'

    return _CODE.sub(lambda code: _USE.sub(use, code[0]), text)
