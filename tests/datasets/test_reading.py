"""Files of instances: all of them, or every bad line by number, field and reason."""

from __future__ import annotations

import json

import pytest

from workbench.datasets import reading
from workbench.datasets.reading import instances_hash, instances_read
from workbench.datasets.rows import InvalidLines


def jsonl(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def refusals(data, filename="set.jsonl"):
    with pytest.raises(InvalidLines) as caught:
        instances_read(data, filename)
    return [f"{problem.message} {problem.hint}".rstrip() for problem in caught.value.problems]


def test_json_line_gives_every_field():
    row = {
        "id": "a/1",
        "problem": "Fix it.",
        "files": {"src/app.py": "x = 1\n"},
        "reference": ["one", "two"],
        "metadata": {"level": 3, "tags": ["x"]},
        "split": "test",
    }

    (instance,) = instances_read(jsonl(row), "set.jsonl")

    assert instance == ("a/1", "Fix it.", {"src/app.py": "x = 1\n"}, ["one", "two"], row["metadata"], "test")


def test_only_id_and_problem_are_needed_and_null_is_absent():
    row = {"id": "a", "problem": "p", "reference": None, "files": None, "metadata": None, "split": None}

    assert instances_read(jsonl(row), "x.jsonl") == instances_read(jsonl({"id": "a", "problem": "p"}), "x.ndjson")


def test_csv_has_the_same_fields_with_json_in_three_of_them():
    text = (
        "\ufeffid,problem,reference,files,metadata,split\r\n"
        'a,"one\r\ntwo, ""three""",Lima,,,\r\n'
        '"b","p","[""x"", ""y""]","{""f.py"": ""1""}","{""k"": [1]}",dev\r\n'
        "\r\n"
        "c,p,[not a list,,,\r\n"
    )

    a, b, c = instances_read(text.encode(), "set.CSV")

    assert (a.problem, a.references) == ('one\r\ntwo, "three"', ["Lima"])
    assert (b.references, b.files, b.metadata, b.split) == (["x", "y"], {"f.py": "1"}, {"k": [1]}, "dev")
    assert c.references == ["[not a list"]


def test_lines_of_json_end_at_newlines_only():
    text = '{"id": "a", "problem": "one\u2028two\u0085three\x0bfour"}\r\n\n{"id": "b", "problem": "p"}'.replace(
        "\x0b", "\\u000b"
    )

    first, second = instances_read(("\ufeff" + text).encode(), "set.jsonl")

    assert first.problem == "one\u2028two\u0085three\x0bfour"
    assert second.id == "b"


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({"problem": "p"}, "Line 1, id: it is missing."),
        ({"id": "a"}, "Line 1, problem: it is missing."),
        ({"id": 7, "problem": "p"}, "Line 1, id: it must be text, not a number. Put it in quotes."),
        ({"id": "", "problem": "p"}, "Line 1, id: it is empty."),
        ({"id": "x" * 201, "problem": "p"}, "Line 1, id: it has 201 characters; 200 is the most."),
        ({"id": " a", "problem": "p"}, "Line 1, id: it begins or ends with white space"),
        ({"id": "a\nb", "problem": "p"}, "or holds a control character."),
        ({"id": "a/../b", "problem": "p"}, "Line 1, id: between slashes"),
        ({"id": "..", "problem": "p"}, "Line 1, id: between slashes"),
        ({"id": "a", "problem": " \n"}, "Line 1, problem: it is empty."),
        ({"id": "a", "problem": ["p"]}, "Line 1, problem: it must be text, not a list."),
        ({"id": "a", "problem": "p" * 1_000_001}, "Line 1, problem: it has 1,000,001 characters"),
        ({"id": "a", "problem": "p", "reference": 4}, "Line 1, reference: it must be text, not a number."),
        ({"id": "a", "problem": "p", "reference": ["x", None]}, "Line 1, reference: entry 2 must be text, not null."),
        ({"id": "a", "problem": "p", "metadata": [1]}, "Line 1, metadata: it must be an object, not a list."),
        ({"id": "a", "problem": "p", "split": "x" * 51}, "Line 1, split: it must be a name of at most 50"),
        ({"id": "a", "problem": "p", "files": "x"}, "Line 1, files: it must be an object of path → text"),
        ({"id": "a", "problem": "p", "files": {"a": 1}}, "Line 1, files: 'a' must hold text, not a number."),
        ({"id": "a", "problem": "p", "files": {"/etc/x": ""}}, "Line 1, files: the path '/etc/x' is absolute."),
        ({"id": "a", "problem": "p", "files": {"C:/x": ""}}, "the path 'C:/x' is absolute."),
        ({"id": "a", "problem": "p", "files": {"a/../../x": ""}}, "has an empty part, '.' or '..' in it."),
        ({"id": "a", "problem": "p", "files": {"": ""}}, "has an empty part"),
        ({"id": "a", "problem": "p", "files": {"a\\b": ""}}, "holds a backslash or a control character."),
        ({"id": "a", "problem": "p", "files": {".GIT/hooks/x": ""}}, "leads into a Git repository."),
        ({"id": "a", "problem": "p", "files": {"a": "", "a/b": ""}}, "'a' is a file and a folder at once."),
        ({"id": "a", "problem": "p", "refrence": "x"}, "Line 1, 'refrence': there is no such field. Did you mean"),
        ({"id": "a", "problem": "p\0"}, "Line 1, problem: the text holds a NUL character."),
    ],
)
def test_bad_field_is_named_with_its_line_and_reason(row, sentence):
    (found,) = refusals(jsonl(row))

    assert sentence in found


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"[1, 2]", "Line 1: it must be a JSON object, written {\u2026}."),
        (b'{"id": "a", "problem": "p"', "Line 1: this is not JSON: "),
        (b'{"id": "a", "problem": "p", "metadata": {"x": NaN}}', "Line 1: NaN is not a JSON number."),
        (b'{"id": "a", "problem": "p", "metadata": {"x": 1e400}}', "Line 1, metadata: the number is too large."),
        (b'{"id": "a", "problem": "p", "id": "b"}', "Line 1, id: the key 'id' stands twice."),
        (b'{"id": "a", "problem": "\\ud800"}', "Line 1, problem: a character of the text is half of a character"),
        (b'{"id": "a", "problem": "p", "metadata": ' + b"[" * 200 + b"]" * 200 + b"}", "Line 1: it is nested"),
        (b'{"id": "a", "problem": "\x00"}', "Line 1: there is a NUL character."),
        (b'{"id": "ok", "problem": "p"}\n{"id": "\xe9", "problem": "p"}', "Line 2: byte 0xe9 is not UTF-8."),
        ('{"id": "a", "problem": "p"}'.encode("utf-16"), "The file is UTF-16, not UTF-8. Save it as UTF-8."),
        (b"", "The file holds no instance."),
        (b'{"id": "a", "problem": "p", "x": "' + b"y" * 6_000_000 + b'"}', "Line 1: it has 5.7 MB; 5 MB is the most"),
    ],
)
def test_line_that_is_no_instance_is_a_sentence(data, sentence):
    (found,) = refusals(data)

    assert found.startswith(sentence)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("id,problem,id\na,p,b\n", "Line 1: the column 'id' stands twice."),
        ("id;problem\na;p\n", "The columns are not separated by commas."),
        ("id,problem\na\n", "Line 2: it has 1 cells, the header has 2."),
        ("id,problem\na,p\n\nb,p,q\n", "Line 4: it has 3 cells, the header has 2."),
        ('id,problem\na,"p\n', "Line 2: this is not CSV: a quoted field is never closed."),
        ("id,problem,metadata\na,p,{x}\n", "Line 2, metadata: this is not JSON"),
        ("id,problem,files\na,p,[]\n", "Line 2, files: it must be an object of path → text, not a list."),
        ("id,problm\na,p\n", "Line 2, 'problm': there is no such field. Did you mean 'problem'?"),
        ('id,problem\na,"one\ntwo"\na,p\n', "Line 4, id: 'a' stands in line 2 already."),
        ("", "The file holds no instance."),
        ("id,problem\n", "The file holds no instance."),
    ],
)
def test_csv_that_does_not_fit_is_a_sentence(text, sentence):
    assert refusals(text.encode(), "set.csv")[0].startswith(sentence)


def test_long_cell_of_csv_is_read():
    (instance,) = instances_read(f"id,problem\na,{'x' * 500_000}\n".encode(), "set.csv")

    assert len(instance.problem) == 500_000


def test_every_bad_line_is_named_at_once_and_more_than_a_hundred_are_counted():
    some = jsonl({"id": "a", "problem": "p"}, {"id": "a", "problem": "q"}, {"problem": "p", "split": 1}, {"id": "b"})

    assert [sentence.split(": ")[0] for sentence in refusals(some)] == [
        "Line 2, id",
        "Line 3, id",
        "Line 3, split",
        "Line 4, problem",
    ]
    with pytest.raises(InvalidLines, match=r"Line 1, problem: it is missing\. \(and 249 more\)") as caught:
        instances_read(jsonl(*({"id": str(number)} for number in range(250))), "set.jsonl")
    assert (len(caught.value.problems), caught.value.total, caught.value.unnamed) == (100, 250, 150)


@pytest.mark.parametrize("filename", ["set.txt", "set.json", "set", ""])
def test_other_kinds_of_files_are_refused(filename):
    assert "is neither .jsonl nor .csv" in refusals(b"{}", filename)[0]


def test_file_over_fifty_megabytes_or_with_too_many_instances_is_refused(monkeypatch):
    assert refusals(b"x" * (50 * 1024 * 1024 + 1)) == ["The file has 50.0 MB; 50 MB is the most that is read."]
    monkeypatch.setattr(reading, "MAX_INSTANCES", 2)
    assert "more than 2 instances" in refusals(jsonl(*({"id": str(n), "problem": "p"} for n in range(3))))[0]


def test_hash_depends_on_content_and_order_not_on_format_or_the_order_of_keys():
    csv = instances_read(b'id,problem,metadata\na,p,"{""x"": 1, ""y"": 2}"\n', "set.csv")
    one = instances_read(b'{"metadata": {"y": 2, "x": 1}, "problem": "p", "id": "a"}', "set.jsonl")
    two = instances_read(jsonl({"id": "a", "problem": "p"}, {"id": "b", "problem": "p"}), "set.jsonl")

    assert instances_hash(csv) == instances_hash(one)
    assert instances_hash(two) != instances_hash(two[::-1])
