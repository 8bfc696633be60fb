from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.engine.events import MessageData
from workbench.engine.transforms import NoMatch, map_problems, read_split, read_transform, transform_problems


def said(text, data=None):
    return MessageData(text=text, data=data, structured=data is not None)


@pytest.mark.parametrize(
    ("transform", "message", "text"),
    [
        ({"regex": r"\d+"}, said("a 12 b 34"), "12"),
        ({"regex": r"(\w)(\d+)", "group": 2}, said("a12"), "12"),
        ({"regex": r"(?P<n>\d+)", "group": "n"}, said("a12"), "12"),
        ({"regex": r"\d+", "all": True}, said("a 12 b 34"), "12\n34"),
        ({"regex": r"\d+", "all": True, "template": "[{match}]"}, said("1 2"), "[1]\n[2]"),
        ({"regex": "ABC", "case_sensitive": False}, said("xabcx"), "abc"),
        ({"json": "a.b"}, said("", {"a": {"b": "x"}}), "x"),
        ({"json": "a"}, said('{"a": [1, true]}'), "[1, true]"),
        ({"tag": "files"}, said("so <files>one\ntwo</files> done"), "one\ntwo"),
        ({"regex": "z", "on_no_match": "keep"}, said("abc"), "abc"),
        ({"regex": "z", "on_no_match": {"default": "none"}}, said("abc"), "none"),
    ],
)
def test_transform_makes_a_new_message(transform, message, text):
    assert not list(transform_problems(transform, ""))
    assert read_transform(transform)(message).text == text


def test_nothing_found_drops_or_fails_as_the_edge_says():
    assert read_transform({"regex": "z", "on_no_match": "drop"})(said("abc")) is None
    with pytest.raises(NoMatch):
        read_transform({"json": "a"})(said("no json"))


@pytest.mark.parametrize(
    ("split", "message", "units"),
    [
        ("messages", said("whole"), ["whole"]),
        ({"regex": r"\d+"}, said("1 and 2"), ["1", "2"]),
        ({"regex": r"- (\w+)"}, said("- a\n- b"), ["a", "b"]),
        ({"json": "items"}, said("", {"items": ["x", {"y": 1}]}), ["x", '{"y": 1}']),
        ({"json": "items"}, said('{"items": []}'), []),
        ({"json": "missing"}, said("text"), []),
    ],
)
def test_split_gives_units_in_order(split, message, units):
    assert [unit.text for unit in read_split({"split": split})(message)] == units


ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["a", "(", "messages", "drop", "x.y", "{match}"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["regex", "json", "tag", "group", "all", "template", "on_no_match", "default", "split", "max_parallel"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@given(ANY)
def test_any_json_is_either_a_transform_or_a_problem(data):
    if data is not None and not list(transform_problems(data, "")):
        with contextlib.suppress(NoMatch):
            read_transform(data)(said("abc"))


@given(ANY)
def test_any_json_is_either_a_map_or_a_problem(data):
    if data is not None and not list(map_problems(data, None, "")):
        read_split(data)(said("abc"))
