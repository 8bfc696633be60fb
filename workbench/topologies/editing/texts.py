"""The text of a topology as JSON or YAML, and back."""

from __future__ import annotations

import json
from typing import Any

import yaml

from workbench.engine.documents import canonical_json, read_json
from workbench.engine.formats._yaml import read_yaml
from workbench.topologies.editing.changes import Changed, Command
from workbench.topologies.editing.state import Broken, CommandRefused, Document, State, edges_of, keys_carried

Json = Any
SYNTAXES = ("json", "yaml")


class _Dumper(yaml.SafeDumper):
    """Texts of several lines stand as blocks, and nothing is written once and referred to."""

    def ignore_aliases(self, data: Json) -> bool:
        return True


def _block(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _block)


def document_text(document: Document, syntax: str = "json") -> str:
    """The document as text, in the format's order."""
    text = canonical_json(document)
    if syntax != "yaml":
        return text
    return yaml.dump(json.loads(text), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def text_read(text: str, syntax: str) -> tuple[Document | None, str]:
    """The document that a text holds, or why it holds none."""
    read = read_yaml(text) if syntax == "yaml" else read_json(text)
    if isinstance(read.data, dict):
        document: Document = json.loads(json.dumps(read.data))  # plain, and nothing in it twice the same object
        return document, ""
    if read.data is None and read.problems:
        return None, read.problems[0].message
    return None, "A topology is an object: as JSON it begins with { and ends with }."


def state_from_text(before: State, text: str, syntax: str) -> State:
    """The state after somebody wrote a text. One that can't be read is kept as it is, over the last readable document."""
    document, message = text_read(text, syntax)
    if document is None:
        return before._replace(broken=Broken(text, syntax, message))
    return State(document, keys_carried(before, edges_of(document)), None, before.places)


def set_text(state: State, command: Command) -> Changed:
    """The whole document as text."""
    text, syntax = command.get("text"), command.get("syntax", "json")
    if not isinstance(text, str) or syntax not in SYNTAXES:
        raise CommandRefused('"text" is the whole document, "syntax" is json or yaml.')
    return Changed(state_from_text(state, text.replace("\r\n", "\n"), syntax), "Edit the text")


def drop_text(state: State, command: Command) -> Changed:
    """Forget a text that can't be read; the last readable document is the draft again."""
    return Changed(state._replace(broken=None), "Drop the unreadable text")


def replace(state: State, command: Command) -> Changed:
    """Another document instead."""
    document = command.get("document")
    if not isinstance(document, dict):
        raise CommandRefused('"document" is a topology, as a JSON object.')
    return Changed(State(document, keys_carried(state, edges_of(document)), None, state.places), "Replace everything")
