from __future__ import annotations

import pytest

from workbench.engine.errors import ToolError


def test_files_are_listed_in_order_with_their_paths(use, workspace):
    for path in ("b.txt", "a.txt", "z/1.txt", "c/d/2.txt", ".git/config"):
        (workspace / path).parent.mkdir(parents=True, exist_ok=True)
        (workspace / path).touch()

    assert use("list_files").split("\n") == ["a.txt", "b.txt", "c/d/2.txt", "z/1.txt"]
    assert use("list_files", path="c") == "c/d/2.txt"


def test_links_are_named_and_not_followed(use, workspace):
    (workspace / "out").symlink_to(workspace.parent)

    assert use("list_files") == "out"


def test_many_files_are_cut_and_counted(use, workspace):
    for number in range(250):
        (workspace / f"{number:03}").touch()

    *lines, last = use("list_files").split("\n")

    assert len(lines) == 200
    assert last.startswith("(50 more files.")


def test_an_empty_folder_a_file_and_nothing_are_told_apart(use, workspace):
    (workspace / "a.txt").touch()
    (workspace / "empty").mkdir()

    assert use("list_files", path="empty") == "empty holds no files."
    for path, sentence in [("a.txt", "read_file"), ("emty", "Did you mean 'empty'?")]:
        with pytest.raises(ToolError) as raised:
            use("list_files", path=path)
        assert sentence in str(raised.value)


def test_names_that_are_no_utf8_are_shown(use, workspace):
    import os

    os.close(os.open(os.fsencode(workspace) + b"/caf\xe9", os.O_CREAT))

    assert use("list_files") == "caf?"
