"""The versions of a run's files, for pages: out of the repository alone, the folder itself is never opened."""

from __future__ import annotations

import re
from typing import NamedTuple

from workbench.engine.filestore import FOLDER, LINK, Entry, Tree
from workbench.engine.filestore.diffs import changes, is_git
from workbench.engine.filestore.lineage import shown
from workbench.engine.filestore.store import FINAL, START, VISITS, Store
from workbench.engine.filestore.trees import WorkspaceBroken
from workbench.engine.workspaces import repository_of
from workbench.experiments.models import Run
from workbench.experiments.workspace import workspace_of

ID = re.compile(r"[0-9a-f]{40}")
HEX = "\\x"
"""A name that begins so is given in hexadecimal: it holds what no address and no line can."""


class VisitVersion(NamedTuple):
    """What one visit left. `node` is written as pages write it: `writer`, or `outer.1:writer` inside a nested topology."""

    node: str
    visit: int
    commit: str
    files: int = 0
    """How many files it changed, once that was counted."""


class FileRow(NamedTuple):
    """A file of a version. `name` is how addresses and pages write its path."""

    name: str
    path: bytes
    entry: Entry
    size: int = 0

    @property
    def label(self) -> str:
        """The path as people read it."""
        return shown(self.path)

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link; its content is where it leads."""
        return self.entry.mode == LINK


class Versions:
    """The versions of one run."""

    def __init__(self, run: Run) -> None:
        self.store = Store(repository_of(workspace_of(run)))
        self.start = self.store.ref(START)
        self.final = self.store.ref(FINAL)

    def visits(self) -> list[VisitVersion]:
        """The visits that changed files, by node and number."""
        found = []
        for name, commit in self.store.refs(VISITS).items():
            *path, node, number = name.split("/")
            if number.isdecimal() and ID.fullmatch(commit):
                found.append(VisitVersion(":".join((*path, node)), int(number), commit))
        return sorted(found)

    def counted(self, visit: VisitVersion) -> VisitVersion:
        """The same with the number of files that it changed."""
        return visit._replace(files=len(changes(*self.between(self.before(visit.commit), visit.commit))))

    def newest(self, visits: list[VisitVersion]) -> str:
        """The version at the end; while the run goes on, the longest line of changes there is."""
        if self.final:
            return self.final
        parents = {parent for visit in visits for parent in self.store.parents_of(visit.commit)}
        tips = [visit.commit for visit in visits if visit.commit not in parents]
        return tips[-1] if tips else self.start

    def tree(self, version: str) -> Tree:
        """The files of a commit, or of a tree. Raises `WorkspaceBroken` for what is neither."""
        return self.store.files(self._top(version))

    def between(self, before: str, after: str) -> tuple[Tree, Tree]:
        """What differs between two versions. Raises `WorkspaceBroken`."""
        return self.store.between(self._top(before), self._top(after))

    def _top(self, version: str) -> str:
        kind = self.store.kind_of(version) if ID.fullmatch(version) else ""
        if kind not in ("commit", "tree"):
            raise WorkspaceBroken("The run has no such version of its files.")
        return self.store.tree_of(version) if kind == "commit" else version

    def before(self, commit: str) -> str:
        """What a visit began with."""
        parents = self.store.parents_of(commit) if self.store.kind_of(commit) == "commit" else []
        return parents[0] if parents else self.start

    def rows(self, tree: Tree) -> list[FileRow]:
        """The files in order, without what a Git of the code's own keeps; their sizes are not looked up yet."""
        return [
            FileRow(name_of(path), path, entry)
            for path, entry in sorted(tree.items())
            if entry.mode != FOLDER and not is_git(path)
        ]

    def sized(self, row: FileRow) -> FileRow:
        """The same with its size."""
        return row._replace(size=self.store.size_of(row.entry.id))

    def file(self, version: str, name: str) -> FileRow | None:
        """One file of a version."""
        path = path_of(name)
        entry = self.tree(version).get(path)
        if entry is None or entry.mode == FOLDER:
            return None
        return FileRow(name, path, entry, self.store.size_of(entry.id))


def name_of(path: bytes) -> str:
    """A path as pages and addresses write it."""
    try:
        text = path.decode()
    except UnicodeDecodeError:
        return HEX + path.hex()
    return text if text.isprintable() and not text.startswith(HEX) else HEX + path.hex()


def path_of(name: str) -> bytes:
    """The path of a name. What is none is the path of nothing."""
    if not name.startswith(HEX):
        return name.encode("utf-8", "replace")
    try:
        return bytes.fromhex(name[len(HEX) :])
    except ValueError:
        return b""
