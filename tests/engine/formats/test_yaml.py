"""YAML is read into plain data or refused with a sentence; nothing in it is executed, expanded without end or lost."""

from __future__ import annotations

import time

import pytest

from workbench.engine.formats._yaml import read_yaml

LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


def test_plain_values_are_what_yaml_says_they_are():
    text = "a: 1\nb: 1.5\nc: [yes, no, null, ~, 'yes', 0x10]\nd: 2024-05-01\ne: |\n  two\n  lines\nf: {g: h}\n"

    read = read_yaml(text)

    assert read.problems == []
    assert read.data == {
        "a": 1, "b": 1.5, "c": [True, False, None, None, "yes", 16], "d": "2024-05-01", "e": "two\nlines\n",
        "f": {"g": "h"},
    }  # fmt: skip


def test_aliases_and_merge_keys_are_written_out():
    read = read_yaml("base: &b {x: 1, y: 2}\nitem: {<<: *b, y: 3}\nagain: *b\n")

    assert read.data == {"base": {"x": 1, "y": 2}, "item": {"x": 1, "y": 3}, "again": {"x": 1, "y": 2}}


REFUSED = [
    ("yaml_tag", "", "a: !!python/object/apply:os.system ['true']"),
    ("yaml_tag", "", "a: !!str 1"),
    ("yaml_tag", "", "!thing {a: 1}"),
    ("too_large", "", LAUGHS),
    ("too_large", "", "a: '" + "x" * (5 * 1024 * 1024) + "'"),
    ("bad_alias", "", "a: &a [*a]"),
    ("bad_alias", "", "a: *nowhere"),
    ("duplicate_key", "/a/1/b", "a: [1, {b: 1, b: 2}]"),
    ("duplicate_key", "/a", "a: 1\na: 2"),
    ("bad_key", "/a/true", "a: {yes: 1}"),
    ("bad_key", "", "{[1]: 2}"),
    ("bad_key", "", "? {a: 1}\n: 2"),
    ("bad_key", "/a/<<", "a: {<<: 1}"),
    ("too_deep", "", "[" * 200 + "]" * 200),
    ("several_documents", "", "a: 1\n---\nb: 2"),
    ("not_a_number", "", "a: .nan"),
    ("not_a_number", "", "a: -.inf"),
    ("number_too_long", "", "a: " + "9" * 5000),
    ("nul", "/a", r'a: "\0"'),
    ("not_yaml", "", r'a: "\ud800"'),
    ("not_yaml", "", "a: \ud800"),
    ("not_yaml", "", "a: \x07"),
    ("not_yaml", "", "a: [1"),
    ("not_yaml", "", ""),
    ("not_yaml", "", "a: b: c"),
]


@pytest.mark.parametrize(("code", "path", "text"), REFUSED, ids=[f"{case[0]}-{n}" for n, case in enumerate(REFUSED)])
def test_what_is_not_safe_or_not_clear_is_refused_with_its_place(code, path, text):
    read = read_yaml(text)

    assert read.data is None
    assert (code, path) in [(problem.code, problem.path) for problem in read.problems]
    if code == "not_yaml" and "[1" in text:
        assert "line 2, column 1" in read.problems[0].message


def test_a_bomb_of_aliases_is_refused_at_once():
    began = time.monotonic()

    read_yaml(LAUGHS)

    assert time.monotonic() - began < 2
