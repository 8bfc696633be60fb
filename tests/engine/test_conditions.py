from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.engine.conditions import Judged, condition_problems, read_condition

JSON = {"verdict": "accept", "score": 7, "flag": True, "deep": {"list": [{"x": 1}]}, "none": None}


def holds(condition, text="", data=None, status="succeeded"):
    return read_condition(condition).test(Judged(text, data, data is not None, status))


@pytest.mark.parametrize(
    ("condition", "text", "expected"),
    [
        (None, "anything", True),
        ({"contains_any": ["yes", "ok"]}, "that is ok", True),
        ({"contains_any": ["yes"]}, "YES", False),
        ({"contains_any": ["yes"], "case_sensitive": False}, "YES", True),
        ({"contains_none": ["no", "never"]}, "fine", True),
        ({"contains_none": ["no"]}, "no way", False),
        ({"matches": r"^\d+$"}, "42", True),
        ({"matches": "score: (\\d+)", "case_sensitive": False}, "Score: 7", True),
        ({"not": {"contains_any": ["x"]}}, "y", True),
        ({"all": [{"contains_any": ["a"]}, {"contains_any": ["b"]}]}, "ab", True),
        ({"any": [{"contains_any": ["a"]}, {"contains_any": ["b"]}]}, "b", True),
        ({"any": [{"contains_any": ["a"]}, {"contains_any": ["b"]}]}, "c", False),
    ],
)
def test_conditions_on_text(condition, text, expected):
    assert holds(condition, text) is expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"field": "verdict", "equals": "accept"}, True),
        ({"field": "verdict", "equals": "ACCEPT", "case_sensitive": False}, True),
        ({"field": "verdict", "in": ["revise", "accept"]}, True),
        ({"field": "score", "gt": 6.5}, True),
        ({"field": "score", "lt": 7}, False),
        ({"field": "flag", "equals": 1}, False),
        ({"field": "flag", "equals": True}, True),
        ({"field": "score", "equals": 7.0}, True),
        ({"field": "flag", "gt": 0}, False),
        ({"field": "deep.list.0.x", "equals": 1}, True),
        ({"field": "deep.list.1.x", "exists": False}, True),
        ({"field": "none", "exists": True}, True),
        ({"field": "missing", "equals": None}, False),
    ],
)
def test_conditions_on_fields(condition, expected):
    assert holds(condition, data=JSON) is expected


@pytest.mark.parametrize("comparison", [{"equals": 1}, {"exists": False}, {"exists": True}])
def test_field_on_a_message_without_json_is_false(comparison):
    assert holds({"field": "a", **comparison}, "text") is False


def test_success_is_demanded_unless_the_status_is_asked_for():
    assert holds(None, status="failed") is False
    assert holds({"contains_none": ["x"]}, status="failed") is False
    assert holds({"status": "failed"}, status="failed") is True
    assert holds({"not": {"status": "succeeded"}}, status="failed") is True


@pytest.mark.parametrize(
    ("condition", "path"),
    [
        ([], ""),
        ({}, ""),
        ({"contains_an": ["a"]}, "/contains_an"),
        ({"contains_any": []}, "/contains_any"),
        ({"contains_any": "a"}, "/contains_any"),
        ({"contains_any": ["a"], "matches": "b"}, ""),
        ({"matches": "(?<=a)b"}, "/matches"),
        ({"matches": "("}, "/matches"),
        ({"field": "a"}, ""),
        ({"field": "a", "equals": 1, "gt": 2}, ""),
        ({"field": "a..b", "equals": 1}, "/field"),
        ({"field": "a", "gt": "1"}, "/gt"),
        ({"field": "a", "in": 1}, "/in"),
        ({"field": "a", "exists": "yes"}, "/exists"),
        ({"status": "lost"}, "/status"),
        ({"otherwise": False}, ""),
        ({"otherwise": True, "status": "failed"}, ""),
        ({"not": {"otherwise": True}}, "/not/otherwise"),
        ({"all": [{"contains_any": ["a"]}, {"x": 1}]}, "/all/1/x"),
        ({"contains_any": ["a"], "equals": 1}, "/equals"),
        ({"contains_any": ["a"], "case_sensitive": 1}, "/case_sensitive"),
    ],
)
def test_anything_else_is_refused_with_its_place(condition, path):
    assert path in [problem.path for problem in condition_problems(condition)]


def test_nest_without_end_is_refused():
    condition = {"status": "failed"}
    for _ in range(200):
        condition = {"not": condition}

    assert any("levels deep" in problem.message for problem in condition_problems(condition))


def test_pattern_that_backtracks_for_ever_elsewhere_answers_at_once():
    began = time.process_time()

    holds({"matches": "(a+)+$"}, "a" * 5000 + "b")

    assert time.process_time() - began < 1


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda s: (
            st.lists(s, max_size=3)
            | st.dictionaries(
                st.sampled_from(["all", "any", "not", "field", "equals", "matches", "contains_any", "status", "x"]),
                s,
                max_size=3,
            )
        ),
        max_leaves=8,
    )
)
def test_any_json_is_either_a_condition_or_a_problem(data):
    if data is not None and not list(condition_problems(data)):
        holds(data, "text")
