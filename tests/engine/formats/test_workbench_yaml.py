"""The own format may be written as YAML, and means the same."""

from __future__ import annotations

import json

import yaml

from tests.engine.support import asks, problems_of, topology
from workbench.engine.formats import read_foreign

DOCUMENT = topology({"a": asks("One.\nTwo: {{ inbox }}"), "b": {"type": "passthrough"}}, [("a", "b")])


def test_yaml_and_json_are_the_same_document():
    imported = read_foreign("t.yaml", yaml.safe_dump(DOCUMENT, sort_keys=False))

    assert imported.format == "workbench_yaml"
    assert imported.topology == DOCUMENT
    assert imported.notes == []
    assert problems_of(imported.topology) == []


def test_own_json_is_nothing_to_import():
    assert read_foreign("t.json", json.dumps(DOCUMENT)) is None


def test_a_key_that_stands_twice_is_an_error_in_yaml_too():
    imported = read_foreign("-", "format: workbench.topology/1\nname: a\nname: b\n")

    assert [(problem.code, problem.path) for problem in imported.problems] == [("duplicate_key", "/name")]
