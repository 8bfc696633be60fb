from __future__ import annotations

import pytest

from workbench.engine.errors import ToolError
from workbench.engine.tools import TOOLS

WAYS_OUT = [
    "/etc/passwd",
    "../secret.txt",
    "a/../../secret.txt",
    "..",
    "a\\..\\..\\x",
    "C:\\x",
    "\\\\host\\x",
    "",
    " ",
    "a\0b",
]
GITS = [".git/config", "a/.git/hooks/x", ".GIT/config", ".git./config", ".git"]
TOOL_ARGUMENTS = [("read_file", {}), ("write_file", {"content": "x"}), ("list_files", {})]


@pytest.mark.parametrize("path", WAYS_OUT)
@pytest.mark.parametrize(("tool", "more"), TOOL_ARGUMENTS)
def test_no_path_leads_out(use, workspace, tool, more, path):
    with pytest.raises(ToolError):
        use(tool, path=path, **more)

    assert (workspace.parent / "secret.txt").read_text() == "secret"


@pytest.mark.parametrize("path", GITS)
@pytest.mark.parametrize(("tool", "more"), TOOL_ARGUMENTS)
def test_gits_records_are_out_of_reach(use, workspace, tool, more, path):
    (workspace / ".git").mkdir()
    (workspace / ".git/config").write_text("kept")

    with pytest.raises(ToolError, match="Git"):
        use(tool, path=path, **more)

    assert (workspace / ".git/config").read_text() == "kept"


@pytest.mark.parametrize(("tool", "more"), TOOL_ARGUMENTS)
def test_a_link_out_is_refused_also_as_a_parent(use, workspace, tool, more):
    (workspace / "out").symlink_to(workspace.parent)
    (workspace / "file").symlink_to(workspace.parent / "secret.txt")
    (workspace / "new").symlink_to(workspace.parent / "new.txt")

    for path in ("file", "out/secret.txt", "out", "new", "out/deep/new.txt"):
        with pytest.raises(ToolError, match="out of the workspace"):
            use(tool, path=path, **more)

    assert sorted(item.name for item in workspace.parent.iterdir()) == ["secret.txt", "workspace"]


def test_a_link_into_git_is_refused(use, workspace):
    (workspace / ".git").mkdir()
    (workspace / "innocent").symlink_to(workspace / ".git")

    with pytest.raises(ToolError, match="Git"):
        use("write_file", path="innocent/config", content="x")


def test_a_link_inside_the_workspace_works(use, workspace):
    (workspace / "real.txt").write_text("here")
    (workspace / "link.txt").symlink_to("real.txt")

    assert "here" in use("read_file", path="link.txt")


def test_a_circle_of_links_and_a_name_too_long_are_sentences(use, workspace):
    (workspace / "a").symlink_to("b")
    (workspace / "b").symlink_to("a")

    for path in ("a", "x" * 5000):
        with pytest.raises(ToolError, match=r"\.$"):
            use("write_file", path=path, content="x")


@pytest.mark.parametrize("name", TOOLS.names())
def test_a_tool_tells_the_model_what_it_does_and_what_it_takes(name):
    schema = TOOLS.get(name).schema(name)

    assert schema.description
    assert schema.parameters["type"] == "object"
    assert schema.parameters["additionalProperties"] is False
    assert all(item["description"] for item in schema.parameters["properties"].values())
