"""Joins versions of files that were changed side by side, as the topology says (`workspace.merge`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from workbench.engine.filestore import FILE, FOLDER, LINK, PROGRAM, Entry, Tree
from workbench.engine.filestore.store import Store
from workbench.engine.gitcommand import GitCommand, GitError

MERGED_BYTES = 10_000_000
"""A larger file is not merged line by line: changed on both sides, it is a conflict."""

Contents = Callable[[Entry, Entry, Entry], "str | None"]
"""The id of the content that joins base, one side and the other, or None where they contradict each other."""


class Merged(NamedTuple):
    """What came of it, and the paths on which the sides contradict each other: there, the first side stands."""

    tree: Tree
    conflicts: tuple[bytes, ...] = ()


def three_way(base: Tree, ours: Tree, theirs: Tree, contents: Contents) -> Merged:
    """What either side changed; what both changed differently, line by line."""
    tree: Tree = {}
    conflicts: list[bytes] = []
    for path in sorted({*base, *ours, *theirs}):
        was, mine, other = base.get(path), ours.get(path), theirs.get(path)
        kept = mine if other == was or mine == other else other
        if mine != other and mine != was and other != was:
            kept = _joined(was, mine, other, contents)
            if kept is None:
                kept = mine
                conflicts.append(path)
        if kept is not None:
            tree[path] = kept
    return _standing(tree, conflicts)


def _joined(was: Entry | None, mine: Entry | None, other: Entry | None, contents: Contents) -> Entry | None:
    if not (was and mine and other) or {was.mode, mine.mode, other.mode} & {LINK, FOLDER}:
        return None
    mode = PROGRAM if (was.mode == FILE) == (PROGRAM in (mine.mode, other.mode)) else FILE
    if mine.id == other.id:
        return Entry(mode, mine.id)
    joined = contents(was, mine, other)
    return None if joined is None else Entry(mode, joined)


def _standing(tree: Tree, conflicts: list[bytes]) -> Merged:
    """Without empty folders that are no longer empty. A file where the other side has a folder is a conflict."""
    for path in list(tree):
        parent = path.rpartition(b"/")[0]
        while parent:
            above = tree.get(parent)
            if above is not None and above.mode == FOLDER:
                del tree[parent]
            elif above is not None:
                conflicts.append(parent)
                tree.pop(path, None)
            parent = parent.rpartition(b"/")[0]
    return Merged(tree, tuple(dict.fromkeys(conflicts)))


def chosen(merge: str, base: Tree, sides: Sequence[Tree]) -> int | None:
    """Which side stands as a whole under `first` and `vote`: the first that changed anything, or the change that most
    made, the first of them on a draw. None: nobody changed anything."""
    changed = [(number, side) for number, side in enumerate(sides) if side != base]
    if merge == "first" or not changed:
        return changed[0][0] if changed else None
    kinds = [frozenset(side.items()) for _, side in changed]
    votes = Counter(kinds)
    return changed[max(range(len(kinds)), key=lambda number: (votes[kinds[number]], -number))][0]


def by_lines(store: Store) -> Contents:
    """Joins contents line by line, as Git does."""

    def joined(was: Entry, mine: Entry, other: Entry) -> str | None:
        entries = (mine, was, other)
        if any(store.size_of(entry.id) > MERGED_BYTES for entry in entries):
            return None
        with TemporaryDirectory(prefix="workbench-merge-") as folder:
            names = ("ours", "base", "theirs")
            for name, entry in zip(names, entries, strict=True):
                Path(folder, name).write_bytes(store.get(entry.id))
            try:
                text = GitCommand(store.folder).run("merge-file", "-p", *(str(Path(folder, name)) for name in names))
            except GitError:  # they contradict each other, or are no text
                return None
        return store.blob(text)

    return joined
