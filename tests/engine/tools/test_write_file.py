from __future__ import annotations

import pytest

from workbench.engine.errors import ToolError


def test_a_file_is_made_with_its_folders_and_then_replaced(use, workspace):
    assert use("write_file", path="a/b/c.txt", content="one\ntwo\n") == "Made a/b/c.txt: 2 lines, 8 bytes."
    assert use("write_file", path="a/b/c.txt", content="x") == "Replaced a/b/c.txt: 1 lines, 1 bytes."
    assert (workspace / "a/b/c.txt").read_text() == "x"


def test_content_is_written_as_it_is(use, workspace):
    use("write_file", path="a", content="é\r\n\ttab\n")

    assert (workspace / "a").read_bytes() == b"\xc3\xa9\r\n\ttab\n"


def test_half_a_character_is_replaced(use, workspace):
    use("write_file", path="a", content="x\ud800")

    assert (workspace / "a").read_text() == "x?"


def test_too_much_is_refused_with_both_numbers(use, workspace):
    with pytest.raises(ToolError, match=r"1,000,001 bytes.*1,000,000"):
        use("write_file", path="a", content="x" * 1_000_001)

    assert not (workspace / "a").exists()


def test_a_folder_or_a_file_in_the_way_is_a_sentence(use, workspace):
    (workspace / "folder").mkdir()
    (workspace / "file").write_text("x")

    for path in ("folder", "file/below"):
        with pytest.raises(ToolError, match=path):
            use("write_file", path=path, content="x")
