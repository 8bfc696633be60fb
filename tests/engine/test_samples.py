"""Samples match what they were made for."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

from workbench.engine.conditions import compile_regex
from workbench.engine.samples import ABSENT, regex_samples, schema_samples, with_field


@pytest.mark.parametrize(
    "pattern",
    ["DONE", "^yes$", r"\bscore: \d{1,3}\b", "a|b|c", "(?i)final answer", "[^a-z]+", r"[\w.]+@[\w.]+\.\w{2,}", "x*",
     r"(?P<name>\S+)\s(?<other>\D)", r"(?s)<files>(.*?)</files>", r"(?m)^- .+$", r"\z", "[^a]{3}", "[0-9a-f]{8}"],
)  # fmt: skip
def test_a_regular_expression_is_found_in_its_samples(pattern):
    samples = regex_samples(pattern)

    assert samples
    assert all(compile_regex(pattern).search(text) for text in samples)


def test_each_alternative_of_a_pattern_has_a_sample():
    assert {"red", "green", "blue"} <= set(regex_samples("red|green|blue"))


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"enum": ["a", "b", 3]}, ["a", "b", 3]),
        ({"type": "boolean"}, [True, False]),
        ({"const": {"x": 1}}, [{"x": 1}]),
        ({"type": "integer", "minimum": 3, "maximum": 4}, [3, 4]),
        ({"type": "string", "minLength": 6, "maxLength": 8}, ["textxx"]),
        ({"$ref": "#/$defs/one", "$defs": {"one": {"enum": [1, 2]}}}, [1, 2]),
        ({"anyOf": [{"const": "a"}, {"type": "null"}]}, ["a", None]),
    ],
)
def test_a_schema_has_a_sample_of_each_kind(schema, expected):
    assert schema_samples(schema) == expected


def test_the_samples_of_a_nested_schema_fit_and_show_every_choice():
    schema = {
        "type": "object",
        "required": ["verdict", "steps"],
        "additionalProperties": False,
        "properties": {
            "verdict": {"enum": ["accept", "revise"]},
            "steps": {"type": "array", "minItems": 1, "items": {"type": "object", "required": ["done"],
                      "properties": {"done": {"type": "boolean"}}}},
            "score": {"type": "number", "minimum": 0, "maximum": 1},
        },
    }  # fmt: skip

    samples = schema_samples(schema)

    assert all(Draft202012Validator(schema).is_valid(sample) for sample in samples)
    assert {sample["verdict"] for sample in samples} == {"accept", "revise"}
    assert {sample["steps"][0]["done"] for sample in samples} == {True, False}
    assert any("score" not in sample for sample in samples)


def test_a_schema_that_contains_itself_is_sampled_to_a_bounded_depth():
    schema = {
        "$ref": "#/$defs/tree",
        "$defs": {"tree": {"type": "object", "properties": {"next": {"$ref": "#/$defs/tree"}}}},
    }

    assert isinstance(schema_samples(schema)[0], dict)


def test_a_value_is_put_at_a_path_and_taken_away_from_it():
    data = {"a": [{"b": 1}]}

    assert with_field(data, ("a", "0", "b"), 2) == {"a": [{"b": 2}]}
    assert with_field(data, ("a", "0", "b"), ABSENT) == {"a": [{}]}
    assert with_field(data, ("c", "d"), 1) == {"a": [{"b": 1}], "c": {"d": 1}}
    assert data == {"a": [{"b": 1}]}
