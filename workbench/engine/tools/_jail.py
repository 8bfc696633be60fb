"""Keeps tools inside the run's workspace: no way out by absolute paths, `..`, symbolic links, nor into `.git`."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath

from workbench.engine.errors import ToolError
from workbench.engine.plugins import nearest


def inside(workspace: Path, path: str) -> Path:
    """The real place of `path` in the workspace, whether or not it exists. Raises `ToolError` for anything outside."""
    parts = PurePosixPath(path.replace("\\", "/")).parts
    if not path.strip() or "\0" in path:
        raise ToolError("Give the path of a file in the workspace, such as 'notes/plan.txt'.")
    if PurePosixPath(path).is_absolute() or PureWindowsPath(path).anchor or ".." in parts:
        raise ToolError(
            f"{quoted(path)} leads out of the workspace. Give a path inside it, without a leading '/' and '..'."
        )
    try:
        root = workspace.resolve()
        real = root.joinpath(*parts).resolve()
        real.exists()  # a name that the file system can't hold is found out here
    except (OSError, RuntimeError, ValueError) as error:
        raise ToolError(f"{quoted(path)} can't be used as a path: {_reason(error)}.") from error
    if not real.is_relative_to(root):
        raise ToolError(f"{quoted(path)} is a link that leads out of the workspace.")
    if any(_is_git(part) for part in (*parts, *real.relative_to(root).parts)):
        raise ToolError(f"{quoted(path)} belongs to Git's own records, which tools may not touch.")
    return real


def quoted(path: str) -> str:
    """The path as a sentence shows it; a model may send a whole page for one."""
    return repr(path if len(path) <= 200 else f"{path[:200]}…")


def missing(workspace: Path, path: str, real: Path) -> ToolError:
    """That there is no such file, with the nearest name beside it."""
    try:
        names = [item.name for item in real.parent.iterdir() if not _is_git(item.name)]
    except OSError:
        names = []
    return ToolError(f"There is no {quoted(path)} in the workspace.{nearest(real.name, names)}")


def failed(doing: str, path: str, error: OSError) -> ToolError:
    """That the system refused, in its own words and without a path of the machine."""
    return ToolError(f"{quoted(path)} can't be {doing}: {_reason(error)}.")


def shown(text: str) -> str:
    """Text that a journal and a page can hold: without NUL, which databases refuse."""
    return text.replace("\0", "\ufffd")


def _is_git(name: str) -> bool:
    return name.rstrip(". ").lower() == ".git"  # some file systems fold case and drop trailing dots


def _reason(error: Exception) -> str:
    reason = (error.strerror if isinstance(error, OSError) else None) or "it is not a usable name"
    return reason[0].lower() + reason[1:]
