"""Diffs for pages: each file's lines with their numbers, long ones cut."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from workbench.engine.filestore import Tree
from workbench.engine.filestore.diffs import Changed, changes, diff_of
from workbench.engine.filestore.lineage import shown
from workbench.engine.filestore.store import Store
from workbench.experiments.workspace_versions import name_of

FILES, LINES, ALL_LINES, LINE = 50, 400, 20_000, 1_000
"""So many files, and lines of each, stand on a page; so many lines where one file is looked at; characters of a line."""
HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
SIGNS = {"+": "added", "-": "deleted", " ": "same", "\\": "note"}


class Line(NamedTuple):
    """A line of a diff; `before` and `after` are its numbers. Of a `gap`, lines that are the same are left out."""

    kind: str
    text: str
    before: int | None = None
    after: int | None = None

    @property
    def sign(self) -> str:
        """What stands before it, for those who see no colour."""
        return {"added": "+", "deleted": "−"}.get(self.kind, "")


class FileDiff(NamedTuple):
    """What changed in one file. `left` counts the lines that are not shown; `too_large`: none is."""

    name: str
    label: str
    word: str
    lines: list[Line]
    added: int = 0
    deleted: int = 0
    left: int = 0
    binary: bool = False
    too_large: bool = False


class PageDiff(NamedTuple):
    """The first changed files with their lines, and how many there are in all."""

    files: list[FileDiff]
    total: int
    added: int
    deleted: int

    @property
    def more(self) -> int:
        """How many files are not shown."""
        return self.total - len(self.files)


def page_diff(store: Store, differing: tuple[Tree, Tree], *, only: bytes | None = None) -> PageDiff:
    """What differs between two versions, or in one file of them, which is then shown whole."""
    changed = [one for one in changes(*differing) if only is None or one.path == only]
    most = LINES if only is None else ALL_LINES
    files = _files(store, changed[:FILES], most)
    return PageDiff(files, len(changed), sum(it.added for it in files), sum(it.deleted for it in files))


def _files(store: Store, changed: list[Changed], most: int) -> list[FileDiff]:
    diff = diff_of(store, changed)
    sections = _sections(diff.text.decode("utf-8", "replace"))
    return [
        FileDiff(name_of(one.path), shown(one.path), one.word, [], too_large=True)
        if one.path in diff.left_out
        else _file(one, next(sections, []), most)
        for one in changed
    ]


def _sections(text: str) -> Iterator[list[str]]:
    """The lines of each file. A file that became a link has two heads, which are the same line."""
    section: list[str] = []
    for line in text.split("\n"):
        if line.startswith("diff --git ") and (not section or section[0] != line):
            if section:
                yield section
            section = []
        section.append(line)
    yield section


def _file(changed: Changed, section: list[str], most: int) -> FileDiff:
    lines = list(_lines(section))
    added = sum(line.kind == "added" for line in lines)
    deleted = sum(line.kind == "deleted" for line in lines)
    binary = any(line.startswith("Binary files ") for line in section)
    left = max(0, len(lines) - most)
    name, label = name_of(changed.path), shown(changed.path)
    return FileDiff(name, label, changed.word, lines[:most], added, deleted, left, binary)


def _lines(section: list[str]) -> Iterator[Line]:
    before = after = 0
    inside = False
    for text in section:
        found = HUNK.match(text)
        if found:
            if inside or int(found[1]) > 1:
                yield Line("gap", "")
            before, after, inside = int(found[1]), int(found[2]), True
        elif text.startswith("diff --git "):
            inside = False
        elif inside and text[:1] in SIGNS:
            kind = SIGNS[text[0]]
            told = text[1:] if len(text) <= LINE else f"{text[1:LINE]}… ({len(text) - 1:,} characters)"
            was, now = kind in ("same", "deleted"), kind in ("same", "added")
            yield Line(kind, told, before if was else None, after if now else None)
            before, after = before + was, after + now
