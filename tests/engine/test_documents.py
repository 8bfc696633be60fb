from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.engine.documents import canonical_json, read_json, semantic_hash


@pytest.mark.parametrize(
    ("text", "code", "path"),
    [
        ("", "not_json", ""),
        ('{"a": 1,}', "not_json", ""),
        ('{"a": 1} x', "not_json", ""),
        ('{"a": "x\0y"}', "not_json", ""),
        ('{"a": "\\u0000"}', "nul", "/a"),
        ('{"a\\u0000": 1}', "nul", ""),
        ('{"a": {"b": 1, "b": 2}}', "duplicate_key", "/a/b"),
        ('{"a": [NaN]}', "not_a_number", ""),
        ('{"a": -Infinity}', "not_a_number", ""),
        ('{"a": 1e999}', "not_a_number", "/a"),
        ('{"a": ["\\ud83d"]}', "lone_surrogate", "/a/0"),
        ('{"\\udc00": 1}', "lone_surrogate", ""),
        ("\ud800", "lone_surrogate", ""),
        (b'{"a": "\xff"}', "not_utf8", ""),
        ('{"a": 1}'.encode("utf-16"), "not_utf8", ""),
        ("[" * 2000 + "]" * 2000, "too_deep", ""),
        ('{"a":' * 2000, "too_deep", ""),
        ("9" * 5000, "number_too_long", ""),
        ('"' + "x" * 5 * 1024 * 1024 + '"', "too_large", ""),
    ],
)
def test_text_that_can_not_be_read_is_a_sentence_with_its_place(text, code, path):
    result = read_json(text)

    assert result.data is None
    assert next((problem.code, problem.path) for problem in result.problems if problem.severity == "error") == (
        code,
        path,
    )
    assert all(problem.message.endswith(".") for problem in result.problems)
    json.dumps([problem._asdict() for problem in result.problems]).encode()


def test_syntax_error_names_line_and_column():
    problem = read_json('{\r\n  "a": 1\r\n  "b": 2}').problems[0]

    assert "line 3, column 3" in problem.message


def test_windows_line_ends_are_read_and_a_byte_order_mark_is_left_out_with_a_warning():
    result = read_json(b'\xef\xbb\xbf{"a":\r\n 1}')

    assert result.data == {"a": 1}
    assert [problem.severity for problem in result.problems] == ["warning"]


def test_every_fault_is_reported_at_once():
    codes = [problem.code for problem in read_json('{"a": "\\u0000", "b": 1e999, "c": {"d": 1, "d": 2}}').problems]

    assert sorted(codes) == ["duplicate_key", "not_a_number", "nul"]


def test_brackets_inside_text_are_not_depth():
    assert read_json(json.dumps({"a": "[" * 5000})).data == {"a": "[" * 5000}


@given(st.text())
def test_no_text_makes_the_reader_fail(text):
    read_json(text)


@given(st.binary())
def test_no_bytes_make_the_reader_fail(data):
    read_json(data)


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(codec="utf-8", exclude_characters="\0")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abcdef", max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text("abcdef", max_size=5), PLAIN, max_size=5))
def test_canonical_text_reads_back_as_the_same_document_and_is_stable(document):
    text = canonical_json(document)

    assert read_json(text).data == document
    assert canonical_json(read_json(text).data) == text


def test_canonical_text_has_the_formats_order_whatever_order_came_in():
    document = {"edges": [{"to": "b", "from": "a"}], "nodes": {"b": {"label": "x", "type": "literal"}}, "format": "f"}

    text = canonical_json(document)

    assert list(json.loads(text)) == ["format", "nodes", "edges"]
    assert list(json.loads(text)["nodes"]["b"]) == ["type", "label"]
    assert list(json.loads(text)["edges"][0]) == ["from", "to"]
    assert text.endswith("}\n")


def test_where_nodes_are_drawn_is_no_part_of_the_meaning():
    assert semantic_hash({"nodes": {}, "layout": {"a": [1, 2]}}) == semantic_hash({"layout": {}, "nodes": {}})
    assert semantic_hash({"nodes": {}}) != semantic_hash({"nodes": {"a": {}}})
