"""The Git repository of topologies: one file NAME.json each, one commit per change, and nothing that rewrites history.

Commits are written straight into the repository (`git fast-import`); of the files beside it only the one that changed
is touched. Other people may commit there with their own Git at any time: what is committed last is what counts here.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from django.conf import settings

from workbench.catalog.authors import local_author
from workbench.engine.errors import WorkbenchError
from workbench.topologies.gitcommand import GitCommand, StoreError
from workbench.topologies.reading import LARGEST, Reader, StoredTopology, file_name

LOCK_SECONDS = 30.0


class Author(NamedTuple):
    """Who a commit is by."""

    name: str
    email: str = "local@localhost"

    @classmethod
    def local(cls) -> Author:
        """The person at this computer, where there are no accounts."""
        return cls(local_author())


class Conflict(WorkbenchError):
    """Somebody else committed in between. Holds their version, and what they changed as a unified diff."""

    code = "conflict"

    def __init__(self, name: str, newer: StoredTopology | None, difference: str) -> None:
        self.newer, self.difference = newer, difference
        what = "was changed" if newer else "was deleted"
        super().__init__(f"{name} {what} by somebody else while you were editing. Nothing was overwritten.")


class Store(Reader):
    """The repository at one place, for reading and writing."""

    def save(
        self, name: str, text: str, *, message: str, author: Author, expected: str | None = None
    ) -> StoredTopology:
        """Commit a topology's text; a text that is there already makes no commit.

        `expected` is the commit the change started from: `""` for a topology that must be new, None to ask nothing.
        Raises `Conflict` where it was changed since.
        """
        data = text.encode()
        if len(data) > LARGEST:
            raise StoreError(f"The text is larger than {LARGEST // 1024 // 1024} MB.")
        with self._locked():
            self._refuse_clash(name)
            tip = self.head()
            current = self._current(name, tip, expected)
            if current is not None and current.text == text:
                return current
            change = b"M 100644 inline %s\ndata %d\n%s\n" % (file_name(name).encode(), len(data), data)
            commit = self._commit(tip, change, message=message or f"Change {name}", author=author)
            blob = self.blob(name, commit)
            self.git.run("update-index", "--add", "--cacheinfo", f"100644,{blob},{file_name(name)}")
            self._write_file(name, data)
        return StoredTopology(name, commit, blob, text)

    def delete(self, name: str, *, message: str, author: Author, expected: str | None = None) -> str:
        """Commit that a topology is gone; its history stays. Returns the commit."""
        with self._locked():
            tip = self.head()
            if self._current(name, tip, expected) is None:
                raise StoreError(f"There is no topology {name!r}.")
            change = b"D %s\n" % file_name(name).encode()
            commit = self._commit(tip, change, message=message or f"Delete {name}", author=author)
            self.git.run("update-index", "--force-remove", file_name(name))
            (self.root / file_name(name)).unlink(missing_ok=True)
        return commit

    def _current(self, name: str, tip: str, expected: str | None) -> StoredTopology | None:
        """The topology as it is at the tip, once it is sure that nobody's change would be lost."""
        self._refuse_uncommitted(name)
        blob = self.blob(name, tip) if tip else ""
        before = self.blob(name, expected) if expected else ""
        current = self.read(name) if blob else None
        if expected is not None and before != blob:
            raise Conflict(name, current, self.difference(before, blob) if before and blob else "")
        return current

    def _refuse_clash(self, name: str) -> None:
        for entry in self.entries():
            file = entry.name if entry.problem else file_name(entry.name)
            if file.casefold() != file_name(name).casefold():
                continue
            if file != file_name(name):
                raise StoreError(
                    f"There is {file} already, whose name differs only in upper and lower case. Choose another."
                )
            if entry.problem:
                raise StoreError(f"{file} in the repository is not a topology: {entry.problem} Choose another name.")

    def _refuse_uncommitted(self, name: str) -> None:
        """Somebody may be editing the file beside the repository; what Git does not hold yet is never overwritten."""
        path = self.root / file_name(name)
        if not os.path.lexists(path):
            return
        if path.is_symlink() or not path.is_file():
            raise StoreError(f"{path.name} in the repository of topologies is not a plain file. Move it away first.")
        blob = self.git.run("hash-object", "--no-filters", "--stdin", given=path.read_bytes()).decode().strip()
        if self.git.run("cat-file", "--batch-check", given=f"{blob}\n".encode()).endswith(b" missing\n"):
            raise StoreError(
                f"{path.name} was edited in the repository of topologies and not committed. "
                "Commit or undo that edit first."
            )

    def _commit(self, tip: str, change: bytes, *, message: str, author: Author) -> str:
        branch = self._branch()
        who = f"{_ident(author.name) or 'local'} <{_ident(author.email)}> {int(time.time())} +0000"
        words = message.strip().replace("\0", "").encode("utf-8", "replace")
        stream = b"commit %s\nmark :1\nauthor %s\ncommitter %s\ndata %d\n%s\n%s%s\nget-mark :1\ndone\n" % (
            *(branch.encode(), who.encode("utf-8", "replace"), who.encode("utf-8", "replace"), len(words), words),
            *(b"from %s\n" % tip.encode() if tip else b"", change),
        )
        # It moves the branch only forward: a commit made outside in this very moment makes it fail, not vanish.
        return self.git.run("fast-import", "--quiet", "--done", "--date-format=raw", given=stream).decode().strip()

    def _write_file(self, name: str, data: bytes) -> None:
        """Keep the file beside the repository in step; a rename follows no link and shows no half a file."""
        try:
            handle, temporary = tempfile.mkstemp(dir=self.git.folder, prefix="workbench-")
            with open(handle, "wb") as file:
                file.write(data)
            os.chmod(temporary, 0o644)
            os.replace(temporary, self.root / file_name(name))
        except OSError as error:
            raise StoreError(
                f"{file_name(name)} is committed, but the file could not be written: {error.strerror}."
            ) from error

    def _branch(self) -> str:
        try:
            return self.git.run("symbolic-ref", "HEAD").decode().strip()
        except StoreError as error:
            raise StoreError("The repository of topologies is on no branch. Check one out there first.") from error

    def _make(self) -> None:
        """Make the repository where there is none: it appears whole, whoever else makes it in the same moment."""
        if self.exists():
            return
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self.root, prefix=".making-") as folder:
                made = GitCommand(Path(folder))
                made.run("init", "--quiet", "--initial-branch=main", "--template=")
                made.folder.rename(self.git.folder)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                return  # somebody else was quicker
            raise StoreError(f"The repository of topologies can't be made at {self.root}: {error.strerror}.") from error

    def _busy_outside(self) -> bool:
        """Whether somebody's own Git is writing here; a commit now would leave its index behind."""
        return (self.git.folder / "index.lock").exists()

    def _why_busy(self) -> str:
        if not self._busy_outside():
            return "Another save is still going on. Nothing was changed; try again in a moment."
        return (
            f"Git is at work in the repository of topologies. Nothing was changed; try again in a moment. "
            f"If no Git runs there, delete {self.git.folder / 'index.lock'}."
        )

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One writer at a time, over all processes of this machine. The lock ends with its process."""
        self._make()
        try:
            file = open(self.git.folder / "workbench.lock", "a")  # noqa: SIM115
        except OSError as error:
            raise StoreError(f"The repository of topologies can't be written: {error.strerror}.") from error
        with file:
            deadline = time.monotonic() + LOCK_SECONDS
            while not _lock(file.fileno()) or self._busy_outside():
                if time.monotonic() > deadline:
                    raise StoreError(self._why_busy())
                time.sleep(0.01)
            yield


def store() -> Store:
    """The repository that the settings name."""
    return Store(Path(settings.TOPOLOGY_REPOSITORY))


def _lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _ident(text: str) -> str:
    return re.sub(r"[<>\x00-\x1f\x7f]", "", text).strip()[:200]
