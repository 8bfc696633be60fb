from __future__ import annotations

import pytest
from pydantic import ValidationError

from workbench.engine.errors import ToolError


def test_lines_come_with_their_numbers(use, workspace):
    (workspace / "a.txt").write_text("one\ntwo\r\nthree")

    assert use("read_file", path="a.txt") == "     1\tone\n     2\ttwo\n     3\tthree"


def test_a_range_is_read_and_the_rest_is_announced(use, workspace):
    (workspace / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 11)))

    text = use("read_file", path="a.txt", start=4, lines=2)

    assert text == "     4\tline 4\n     5\tline 5\n(5 more lines. To go on, call read_file with start=6.)"


def test_a_long_file_comes_in_parts_that_join(use, workspace):
    (workspace / "a.txt").write_text("".join(f"{n} {'x' * 90}\n" for n in range(1, 1001)))

    seen, start = [], 1
    while True:
        *lines, last = use("read_file", path="a.txt", start=start).split("\n")
        if "start=" not in last:
            seen += [*lines, last]
            break
        seen += lines
        start = int(last.split("start=")[1].rstrip(".)"))

    assert [int(line.split("\t")[0]) for line in seen] == list(range(1, 1001))


@pytest.mark.parametrize("content", [b"x" * 1_000_000, b"x\n" * 1_000_000, ("ä" * 100 + "\n").encode() * 5000])
def test_output_is_bounded(use, workspace, content):
    (workspace / "big").write_bytes(content)

    assert len(use("read_file", path="big")) < 25_000


def test_bytes_that_are_no_text_are_replaced(use, workspace):
    (workspace / "a.bin").write_bytes(b"caf\xe9\x00!")

    assert use("read_file", path="a.bin") == "     1\tcaf\ufffd\ufffd!"


def test_an_empty_file_is_said_to_be_empty(use, workspace):
    (workspace / "a.txt").touch()

    assert use("read_file", path="a.txt") == "a.txt is empty."


def test_what_is_wrong_is_said_with_what_to_do(use, workspace):
    (workspace / "folder").mkdir()
    (workspace / "plan.txt").write_text("x\n")

    for arguments, sentence in [
        ({"path": "folder"}, "list_files"),
        ({"path": "plans.txt"}, "Did you mean 'plan.txt'?"),
        ({"path": "none/x.txt"}, "There is no"),
        ({"path": "plan.txt", "start": 2}, "has 1 lines"),
    ]:
        with pytest.raises(ToolError) as raised:
            use("read_file", **arguments)
        assert sentence in str(raised.value)


@pytest.mark.parametrize(
    "arguments", [{}, {"path": "a", "start": 0}, {"path": "a", "lines": 100000}, {"path": "a", "x": 1}]
)
def test_arguments_are_checked(use, arguments):
    with pytest.raises(ValidationError):
        use("read_file", **arguments)


def test_a_pipe_is_not_waited_for(use, workspace):
    import os

    os.mkfifo(workspace / "pipe")

    for tool, more in (("read_file", {}), ("write_file", {"content": "x"})):
        with pytest.raises(ToolError):
            use(tool, path="pipe", **more)
