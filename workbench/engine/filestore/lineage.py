"""Who has seen whose files: which versions a visit starts from, and how they are joined.

A visit sees the files of the visits that come before it, and of no other: not of a branch beside it, whatever happens to
finish first. Where branches meet, their versions are joined, in the order in which their nodes are declared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from workbench.engine.errors import WorkbenchError
from workbench.engine.filestore.merging import Merged, by_lines, chosen, three_way
from workbench.engine.filestore.store import Store

Key = tuple[tuple[str, ...], str]
"""A node, with the visits of nested topologies around it."""


@dataclass(slots=True, eq=False)
class Write:
    """A visit that changed files. `seen`: node → the last of its visits whose changes are in this version, itself too.
    `order` is where its node is declared; None until the run has come there. `at` counts versions as they came."""

    commit: str
    key: Key
    number: int
    seen: dict[Key, int]
    at: int = 0
    order: tuple[int, ...] | None = None

    @property
    def name(self) -> str:
        """Whose version it is, in words."""
        return " ".join((*self.key[0], self.key[1], str(self.number)))


Tips = tuple[Write, ...]
"""Versions side by side, none of which has seen another; in declared order."""


def newest(writes: Iterable[Write]) -> Tips:
    """Those that no other has seen: only a later one can have seen an earlier one."""
    found: list[Write] = []
    seen: dict[Key, int] = {}
    for one in sorted(writes, key=lambda one: -one.at):
        if seen.get(one.key, 0) < one.number:
            found.append(one)
            seen = seen_by(found) if len(found) > 1 else one.seen
    return tuple(sorted(found, key=lambda one: (one.order is None, one.order or (), one.key, one.number)))


def seen_by(tips: Iterable[Write]) -> dict[Key, int]:
    """What versions side by side have seen together."""
    seen: dict[Key, int] = {}
    for tip in tips:
        for key, number in tip.seen.items():
            seen[key] = max(seen.get(key, 0), number)
    return seen


class MergeConflict(WorkbenchError):
    """Versions side by side contradict each other. `base` and `sides` are trees, `names` whose the sides are."""

    code = "merge_conflict"

    def __init__(self, base: str, sides: tuple[str, str], names: tuple[str, str], paths: Sequence[bytes]) -> None:
        self.base, self.sides, self.names = base, sides, names
        self.paths = tuple(shown(path) for path in paths)
        listed = ", ".join(self.paths[:5]) + (f" and {len(paths) - 5} more" if len(paths) > 5 else "")
        super().__init__(
            f"{names[0]} and {names[1]} changed the same files in ways that contradict each other: {listed}. Let them "
            'write different files or one after the other, or set "workspace": {"merge": "first"} or "vote".'
        )


def shown(path: bytes) -> str:
    """A path as text that a sentence and a database can hold."""
    text = path.decode("utf-8", "backslashreplace")
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


class Joined(NamedTuple):
    """The tree of joined versions, and whose were put aside for that of another."""

    tree: str
    dropped: tuple[str, ...] = ()


class Side(NamedTuple):
    """A version to be joined, with its name in words."""

    tree: str
    name: str


class Joiner:
    """Joins versions; what was joined once is remembered."""

    def __init__(self, store: Store, start: Callable[[], str], find: Callable[[Key, int], Write | None]) -> None:
        self._store, self._start, self._find = store, start, find
        self._done: dict[tuple[str, ...], Joined] = {}

    def joined(self, tips: Tips, merge: str) -> Joined:
        """The tree that a visit sees which comes after all of these. Raises `MergeConflict`."""
        if not tips:
            return Joined(self._store.tree_of(self._start()))
        if len(tips) == 1:
            return Joined(self._store.tree_of(tips[0].commit))
        known = (merge, *(tip.commit for tip in tips))
        if known not in self._done:
            self._done[known] = self._join(tips, merge)
        return self._done[known]

    def _join(self, tips: Tips, merge: str) -> Joined:
        sides = [Side(self._store.tree_of(tip.commit), tip.name) for tip in tips]
        if merge != "three_way":
            return self.side_by_side(self._common([tip.seen for tip in tips], merge), sides, merge)
        whole, seen = sides[0], dict(tips[0].seen)
        for tip, side in zip(tips[1:], sides[1:], strict=True):
            whole = self.pair(self._common([seen, tip.seen], merge), whole, side)
            seen = seen_by((Write("", tip.key, 0, seen), tip))
        return Joined(whole.tree)

    def _common(self, seen: Sequence[dict[Key, int]], merge: str) -> str:
        """What all of them have seen. Where that was never one version, the first of it."""
        keys = set(seen[0]).intersection(*seen[1:])
        found = (self._find(key, min(one[key] for one in seen)) for key in keys)
        tips = newest(write for write in found if write is not None)
        try:
            return self.joined(tips, merge).tree
        except MergeConflict:
            return self.joined(tips[:1], merge).tree

    def side_by_side(self, base: str, sides: Sequence[Side], merge: str) -> Joined:
        """Versions that all come from `base`, as the topology wants them joined. Raises `MergeConflict`."""
        if merge != "three_way":
            files = self._store.files
            number = chosen(merge, files(base), [files(side.tree) for side in sides])
            if number is None:
                return Joined(base)
            tree = sides[number].tree
            return Joined(tree, tuple(side.name for side in sides if side.tree not in (tree, base)))
        whole = sides[0]
        for side in sides[1:]:
            whole = self.pair(base, whole, side)
        return Joined(whole.tree)

    def pair(self, base: str, one: Side, other: Side) -> Side:
        """Two versions as one. Raises `MergeConflict`."""
        if one.tree == other.tree or other.tree == base:
            return one
        if one.tree == base:
            return Side(other.tree, f"{one.name}, {other.name}")
        merged = self.merged(base, one.tree, other.tree)
        if merged.conflicts:
            raise MergeConflict(base, (one.tree, other.tree), (one.name, other.name), merged.conflicts)
        return Side(self._store.tree(merged.tree), f"{one.name}, {other.name}")

    def merged(self, base: str, one: str, other: str) -> Merged:
        """Two versions as one, with the conflicts; in them, the first stands."""
        files = self._store.files
        return three_way(files(base), files(one), files(other), by_lines(self._store))
