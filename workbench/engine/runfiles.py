"""How a run and its visits come to their files: the part between the runtime and the workspace."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from workbench.engine.events import MergeConflicted, Noted
from workbench.engine.filestore.diffs import changes, diff_of
from workbench.engine.filestore.lineage import MergeConflict, Side, Tips, Write, newest, seen_by
from workbench.engine.filestore.store import FINAL, VISITS
from workbench.engine.workspaces import VisitFiles, Workspace, recorded_writes

Visible = Callable[[int], int]
"""Node → which of its visits a visit that begins now comes after."""


class Final(NamedTuple):
    """The files at the end of a run: the commit, what they differ in from its start, whose were put aside."""

    commit: str = ""
    diff: str = ""
    dropped: tuple[str, ...] = ()
    conflict: MergeConflict | None = None


class RunFiles:
    """The files of a run, or of a topology nested in it: which version each visit begins with and leaves.

    `ids` are the nodes in declared order, `writers` those that may change files, `nested` topologies among them."""

    def __init__(
        self,
        space: Workspace,
        ids: Sequence[str],
        writers: frozenset[int],
        merge: str,
        recorded: Mapping[tuple[Any, ...], Any],
        earlier: Mapping[str, Write],
        *,
        path: tuple[str, ...] = (),
        base: Tips = (),
        order: tuple[int, ...] = (),
    ) -> None:
        self.space, self.writers, self.merge = space, writers, merge
        self._ids, self._recorded, self._earlier = ids, recorded, earlier
        self._path, self._base, self._order = path, base, order
        self._starts: dict[tuple[int, int], Tips] = {}
        self._after: dict[tuple[int, int], Tips] = {}
        self._within: dict[tuple[int, int], list[Write]] = {}

    def begin(self, node: int, number: int, visible: Visible) -> None:
        """A visit begins now."""
        started = self._recorded.get(("visit_started", self._path, self._ids[node], number))
        tips = self._known(started.files) if started is not None else None
        if tips is None:
            seen = [write for writer in self.writers for write in self._latest(writer, visible(writer))]
            tips = newest((*self._base, *seen))
        self._starts[node, number] = tips

    def began(self, node: int, number: int) -> tuple[str, ...]:
        """The commits that a visit began with."""
        return tuple(tip.commit for tip in self._tips(node, number)) if self.writers else ()

    def news(
        self, dropped: Sequence[str], conflict: MergeConflict | None, node: str = "", visit: int = 0
    ) -> Iterator[Noted | MergeConflicted]:
        """What people are to be told of how files were joined, each thing once."""
        for name in dropped:
            if self._first_told(name):
                text = f"The files of {name} were put aside for others (workspace.merge)."
                yield Noted(at=time.time(), text=text, code="merge_dropped", path=self._path, node=node, visit=visit)
        if conflict is not None and self._first_told((conflict.base, conflict.sides)):
            yield MergeConflicted(
                at=time.time(),
                path=self._path,
                node=node,
                visit=visit,
                base=conflict.base,
                sides=conflict.sides,
                names=conflict.names,
                paths=conflict.paths,
            )

    def _first_told(self, what: object) -> bool:
        known = what in self.space.told
        self.space.told.add(what)
        return not known

    def _known(self, commits: Sequence[str]) -> Tips | None:
        """What an earlier attempt began with: who had ended by then may have been chance (a join at the first)."""
        found = [self._earlier.get(commit) for commit in commits]
        return newest(write for write in found if write) if all(found) else None

    def _latest(self, writer: int, number: int) -> Tips:
        for visit in range(number, 0, -1):
            if (writer, visit) in self._after:
                return self._after[writer, visit]
        return ()

    def visit(self, node: int, number: int) -> VisitFiles:
        """The files of a visit, or of one unit of it."""
        return VisitFiles(self.space, self._tips(node, number), self.merge, writes=node in self.writers)

    def _tips(self, node: int, number: int) -> Tips:
        return self._starts.get((node, number), self._base)

    def nested(self, place: str, ids: Sequence[str], writers: frozenset[int], merge: str) -> RunFiles:
        """The files of a topology that runs under the visit `node.visit` or, in a map, `node.visit.unit`."""
        name, *numbers = place.split(".")
        node, number = self._ids.index(name), int(numbers[0])
        return RunFiles(
            self.space,
            ids,
            writers,
            merge,
            self._recorded,
            self._earlier,
            path=(*self._path, place),
            base=self._tips(node, number),
            order=(*self._order, node, *map(int, numbers)),
        )

    def absorb(self, inner: RunFiles) -> None:
        """The topology nested in a visit has ended: what its visits changed, this one changed."""
        name, number, *_ = inner._path[-1].split(".")
        tips = [write for tips in inner._after.values() for write in tips]
        self._within.setdefault((self._ids.index(name), int(number)), []).extend(tips)

    async def end(self, node: int, number: int, units: Sequence[VisitFiles]) -> str:
        """A visit did its work: the commit of what it changed, or nothing. Raises `MergeConflict` where the units of a
        map contradict each other."""
        try:
            if not any(unit.tree for unit in units):
                return ""
            return await asyncio.to_thread(self._commit, node, number, units)
        finally:
            for unit in units:
                unit.close()

    def _commit(self, node: int, number: int, units: Sequence[VisitFiles]) -> str:
        store = self.space.store
        base = units[0].start()
        sides = [Side(unit.tree, f"unit {place}") for place, unit in enumerate(units) if unit.tree]
        tree = self.space.joiner.side_by_side(base, sides, self.merge if len(units) > 1 else "three_way").tree
        if tree == base:
            return ""
        parents = [tip.commit for tip in self._tips(node, number)] or [self.space.start()]
        if len(parents) > 1:  # so that what this visit changed is what differs from its parent
            parents = [store.commit(base, parents, "join")]
        return store.commit(tree, parents, self._name(node, number))

    def _name(self, node: int, number: int) -> str:
        return "/".join((*self._path, self._ids[node], str(number)))

    def ended(self, node: int, number: int, commit: str) -> None:
        """A visit has ended, with this commit or without: what comes after it sees what it left."""
        if node not in self.writers:
            return
        tips = self._tips(node, number)
        within = self._within.pop((node, number), [])
        if commit:
            tips = (self._write(node, number, commit, tips),)
        self._after[node, number] = newest((*tips, *within)) if within else tips

    def _write(self, node: int, number: int, commit: str, tips: Tips) -> Write:
        key = (self._path, self._ids[node])
        store, name = self.space.store, VISITS + self._name(node, number)
        if store.exists() and store.ref(name) != commit:
            store.set_ref(name, commit)
        write = self._earlier.get(commit)
        if write is None:
            at = len(self._earlier) + len(self.space.writes)
            write = Write(commit, key, number, seen_by(tips) | {key: number}, at)
        write.order = (*self._order, node, number)
        self.space.writes[key, number] = write
        return write

    async def finish(self, *, complete: bool) -> Final:
        """The run is over. All that was changed is joined; what visits had done that were cut short belongs to it too."""
        tips = newest(self.space.writes.values())
        if not tips and not self.space.opened:
            return Final()
        return await asyncio.to_thread(self._finish, tips, complete)

    def _finish(self, tips: Tips, complete: bool) -> Final:
        space = self.space
        conflict: MergeConflict | None = None
        dropped: tuple[str, ...] = ()
        if not space.store.exists() and not space.opened:
            return Final(tips[0].commit if len(tips) == 1 else "")  # a replay away from the files
        start = space.start()
        try:
            tree, dropped = space.joiner.joined(tips, self.merge)
        except MergeConflict as error:
            conflict, tree = error, self._first_stands(tips)
        if not complete or conflict:
            tree = self._with(tree, space.under_way())
        commit = self._final(tree, tips, start)
        diff = self.difference(space.store.tree_of(start), tree)
        space.close(tree)
        return Final(commit if commit != start else "", diff, dropped, conflict)

    def _first_stands(self, tips: Tips) -> str:
        """What is left of a run whose versions contradict each other: there, the first stands."""
        store, joiner = self.space.store, self.space.joiner
        tree = store.tree_of(tips[0].commit)
        for tip in tips[1:]:
            base = store.tree_of(self.space.start())
            tree = store.tree(joiner.merged(base, tree, store.tree_of(tip.commit)).tree)
        return tree

    def _with(self, tree: str, sides: Sequence[Side]) -> str:
        base = tree
        for side in sides:
            tree = self.space.store.tree(self.space.joiner.merged(base, tree, side.tree).tree)
        return tree

    def _final(self, tree: str, tips: Tips, start: str) -> str:
        store = self.space.store
        parents = [tip.commit for tip in tips] or [start]
        commit = parents[0]
        if len(parents) > 1 or store.tree_of(commit) != tree:
            commit = store.commit(tree, parents, "end")
        store.set_ref(FINAL, commit)
        return commit

    def difference(self, before: str, after: str) -> str:
        """The unified diff of two trees as text; what is too large for it is named at its end."""
        store = self.space.store
        found = diff_of(store, changes(*store.between(before, after)))
        text = found.text.decode("utf-8", "replace").replace("\0", "\ufffd")
        left = [f"# Too large for this diff: {path.decode('utf-8', 'replace')!r}\n" for path in found.left_out]
        return text + "".join(left[:100])


def run_files(
    space: Workspace, compiled: Any, recorded: Mapping[tuple[Any, ...], Any], events: Sequence[Any]
) -> RunFiles:
    """The files of a run that begins, or goes on after what `events` tell (`recorded`: the same by their keys)."""
    plan = compiled.plan
    return RunFiles(space, compiled.ids, plan.writers, plan.merge, recorded, recorded_writes(events))
