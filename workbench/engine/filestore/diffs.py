"""What differs between two versions, as a unified diff; what is too large for one is named instead."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from workbench.engine.filestore import FOLDER, Entry, Tree
from workbench.engine.filestore.store import Store
from workbench.engine.gitcommand import GitCommand

DIFF_BYTES = 1_000_000


class Changed(NamedTuple):
    """A path that differs: `before` or `after` is None where there was nothing."""

    path: bytes
    before: Entry | None
    after: Entry | None

    @property
    def word(self) -> str:
        """What happened to it."""
        if self.before is None:
            return "added"
        return "deleted" if self.after is None else "changed"


class Diff(NamedTuple):
    """A unified diff in bytes, and the changed paths that it leaves out because they are too large."""

    text: bytes
    left_out: tuple[bytes, ...] = ()


def changes(before: Tree, after: Tree) -> list[Changed]:
    """The paths that differ, in order. Empty folders, and what a Git of the code's own keeps, are nobody's change."""
    found = []
    for path in sorted({*before, *after}):
        was, now = before.get(path), after.get(path)
        if was != now and not is_git(path) and not any(entry and entry.mode == FOLDER for entry in (was, now)):
            found.append(Changed(path, was, now))
    return found


def is_git(path: bytes) -> bool:
    """Whether it belongs to a repository that code made in the workspace."""
    return any(part.lower() == b".git" for part in path.split(b"/"))


def diff_of(store: Store, changed: list[Changed], most: int = DIFF_BYTES, context: int = 3) -> Diff:
    """The diff of these paths, as far as their contents together are not more than `most` bytes."""
    picked, left_out, size = [], [], 0
    for one in changed:
        takes = sum(store.size_of(entry.id) for entry in (one.before, one.after) if entry)
        if size + takes > most:
            left_out.append(one.path)
        else:
            size += takes
            picked.append(one)
    return Diff(_text(store, picked, context) if picked else b"", tuple(left_out))


def _text(store: Store, picked: list[Changed], context: int) -> bytes:
    """By trees of these paths alone: however they are named, no command line holds a name."""
    with TemporaryDirectory(prefix="workbench-diff-") as folder:
        scratch = Store(Path(folder))
        scratch.make()
        # The line is quoted, or a folder's name could end it.
        Path(folder, "objects", "info", "alternates").write_text(f"{_quoted(store.folder.resolve() / 'objects')}\n")
        before = scratch.tree({one.path: one.before for one in picked if one.before})
        after = scratch.tree({one.path: one.after for one in picked if one.after})
        options = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--full-index", f"-U{context}")
        return GitCommand(scratch.folder).run("diff", *options, before, after)


def _quoted(path: Path) -> str:
    text = str(path).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'
