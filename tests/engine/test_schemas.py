from __future__ import annotations

import time

import pytest

from tests.engine.support import asks, problems_of, run, topology
from workbench.engine.schemas import schema_fault, schema_problems

PASS = {"type": "passthrough"}


def test_pattern_that_backtracks_for_ever_elsewhere_answers_at_once():
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}
    began = time.process_time()

    result, _ = run(
        topology({"n": asks("p", output={"json_schema": schema}), "t": PASS}, [("n", "t")]),
        {"default": '{"a": "' + "a" * 5000 + '!"}'},
    )

    assert (result.status, result.code) == ("failed", "bad_output")
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({"type": "objekt"}, "/s/type"),
        ({"properties": {"a": {"pattern": "(?=x)"}}}, "/s/properties/a/pattern"),
        ({"patternProperties": {"(a+)+$": {}}}, "/s/patternProperties"),
        ({"$ref": "http://127.0.0.1:1/schema.json"}, "/s/$ref"),
        ({"$ref": "file:///etc/passwd"}, "/s/$ref"),
        ({"properties": {"a": {"$ref": "#/$defs/nowhere"}}}, "/s/properties/a/$ref"),
        ({"unevaluatedProperties": False}, "/s/unevaluatedProperties"),
    ],
)
def test_schema_that_can_not_be_used_safely_is_refused_with_its_place(schema, path):
    assert path in [problem.path for problem in schema_problems(schema, "/s")]


def test_enum_may_hold_what_elsewhere_would_be_a_keyword():
    assert not list(schema_problems({"enum": [{"pattern": "("}]}, ""))


def test_reference_inside_the_schema_is_followed_and_one_without_end_is_a_sentence():
    schema = {"$defs": {"n": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/n"}}}

    assert schema_fault(schema, {"a": 1}) == ""
    assert "/a" in schema_fault(schema, {"a": "x"})
    assert "does not hold" in schema_fault({"$ref": "#/$defs/missing"}, 1)
    assert "without end" in schema_fault({"$ref": "#"}, 1)


def test_check_names_the_place_in_the_topology():
    document = topology(
        {"n": asks("p", output={"json_schema": {"patternProperties": {"x": {}}}}), "t": PASS}, [("n", "t")]
    )

    assert [problem.path for problem in problems_of(document)] == ["/nodes/n/output/json_schema/patternProperties"]
