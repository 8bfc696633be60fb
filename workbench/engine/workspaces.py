"""The files of a run: the folder that its tools work in, and every version that its visits left.

Nothing is made until a tool or code first needs a file. The folder then gets the instance's files; each call that
changed something leaves a version, whose id stands in the journal, so that before a call is repeated the folder is put
back to what it was when the call began. Visits side by side get folders of their own (`filestore.lineage`).
The repository of the versions lies beside the folder, as `NAME.git`, where neither tools nor sandboxes can reach it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from workbench.engine.errors import NodeFailed, ToolError
from workbench.engine.filestore import Quota, QuotaExceeded
from workbench.engine.filestore.lineage import Joined, Joiner, Key, Side, Tips, Write
from workbench.engine.filestore.store import START, Store
from workbench.engine.filestore.trees import Folder, WorkspaceBroken, remove

T = TypeVar("T")


def repository_of(workspace: Path) -> Path:
    """Where the versions of a workspace lie."""
    return workspace.with_name(f"{workspace.name}.git")


def beside(workspace: Path) -> Path:
    """Where the folders of visits side by side lie, while there are any."""
    return workspace.with_name(f"{workspace.name}.beside")


def workspace_remove(workspace: Path) -> None:
    """Take away the folder and all versions."""
    for place in (workspace, beside(workspace), repository_of(workspace)):
        remove(place)


def workspace_fork(source: Path, target: Path) -> None:
    """Give another run the versions of this one, to go on from; the folder itself is filled when it is needed."""
    workspace_remove(target)
    versions = repository_of(source)
    if versions.exists():
        shutil.copytree(versions / "objects", repository_of(target) / "objects", copy_function=_linked)
        ignored = shutil.ignore_patterns("objects", "heads", "visits")  # those are of visits that it may not take
        shutil.copytree(versions, repository_of(target), ignore=ignored, dirs_exist_ok=True)


def _linked(source: str, target: str) -> str:
    """Versions never change: one copy serves both."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
    return target


@dataclass(slots=True)
class Place:
    """A folder, the tree that it holds (None: not known), and who works in it."""

    folder: Folder
    tree: str | None = None
    users: int = 0
    alone: bool = False

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.folder.root


class Workspace:
    """The files of one run. What blocks is for a thread; one lock holds for all of it. Each later attempt works in a
    folder of its own: a stalled worker may still be at work in that of the attempt before."""

    def __init__(self, folder: Path, given: Mapping[str, str], quota: Quota, attempt: int = 1) -> None:
        self.root = folder.absolute()
        self._attempt = attempt
        self.quota = quota
        self.store = Store(repository_of(self.root))
        self.joiner = Joiner(self.store, self.start, lambda key, number: self.writes.get((key, number)))
        self.writes: dict[tuple[Key, int], Write] = {}
        self.told: set[object] = set()
        self._given = given
        self._lock = threading.RLock()
        self._places: list[Place] = []

    @property
    def opened(self) -> bool:
        """Whether a file was needed."""
        return bool(self._places)

    def start(self) -> str:
        """The commit that everything comes from: the instance's files, and what stood in the folder."""
        with self._lock:
            if not self.store.exists():
                self.open()
            return self.store.ref(START)

    def open(self) -> None:
        """Make the folder, once; at the first time with the instance's files."""
        with self._lock:
            if self._places:
                return
            main = Place(Folder(self.root))
            self.root.mkdir(parents=True, exist_ok=True)
            remove(beside(self.root))
            if not self.store.exists():
                self._begin(main)
            self._places.append(main if self._attempt == 1 else self._another())

    def _begin(self, main: Place) -> None:
        self.store.make()
        top = self.root.resolve()
        for name, text in self._given.items():
            path = (top / name).resolve()
            if not path.is_relative_to(top):
                raise WorkspaceBroken(f"The instance's file {name!r} would lie outside the run's workspace.")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", errors="surrogatepass")
        main.tree = self.read(main)
        self.store.set_ref(START, self.store.commit(main.tree, (), "start"))

    # Folders

    def take(self, tree: str, *, alone: bool) -> Place:
        """A folder that holds the tree, for one visit alone, or for several that only read."""
        with self._lock:
            self.open()
            place = self._free(tree, alone)
            place.users, place.alone = place.users + 1, alone
            self.fill(place, tree)
            return place

    def _free(self, tree: str, alone: bool) -> Place:
        if not alone:
            for place in self._places:
                if place.tree == tree and not place.alone:
                    return place
        free = [place for place in self._places if not place.users]
        for place in free:
            if place.tree == tree:
                return place
        if not free:
            free = [self._another()]
            self._places += free
        return free[0]

    def _another(self) -> Place:
        return Place(Folder(beside(self.root) / f"{self._attempt}-{len(self._places)}"))

    def give(self, place: Place) -> None:
        """The visit does not need the folder any more."""
        with self._lock:
            place.users -= 1
            place.alone = False

    def fill(self, place: Place, tree: str) -> None:
        """Make the folder hold the tree."""
        with self._lock:
            if place.tree != tree:
                place.tree = None
                place.folder.fill(self.store.files(tree), self.store.get, self.quota)
                place.tree = tree

    def read(self, place: Place) -> str:
        """Keep what the folder holds; the tree. Raises `QuotaExceeded`."""
        with self._lock:
            place.tree = None
            self.store.room(self.quota)
            place.tree = self.store.tree(place.folder.read(self.store.blob, self.quota))
            return place.tree

    def under_way(self) -> list[Side]:
        """What visits that were cut short have in their folders, as far as it can be kept."""
        sides = []
        for place in self._places:
            if place.users and place.alone:
                try:
                    sides.append(Side(self.read(place), "a visit that was cut short"))
                except (QuotaExceeded, OSError):
                    continue
        return sides

    def close(self, tree: str) -> None:
        """The end: the folder holds the tree, the others go. Where there never was a file, nothing stays."""
        with self._lock:
            self.open()
            main = self._places[0] if self._attempt == 1 else Place(Folder(self.root))
            self.fill(main, tree)
            remove(beside(self.root))
            if not self.store.files(tree) and self.store.tree_of(self.start()) == tree:
                workspace_remove(self.root)


class VisitFiles:
    """What one visit, or one unit of a map, does with files."""

    def __init__(self, space: Workspace, tips: Tips, merge: str, *, writes: bool) -> None:
        self.space, self.tips, self.writes = space, tips, writes
        self.dropped: tuple[str, ...] = ()
        self._merge = merge
        self._start = self._tree = self._taken = ""
        self._place: Place | None = None

    @property
    def quota(self) -> Quota:
        """What the run's files may take."""
        return self.space.quota

    @property
    def tree(self) -> str:
        """The version that it left, or nothing where it is the one that it began with."""
        return self._tree if self._tree != self._start else ""

    def recall(self, tree: str) -> None:
        """A call that the journal holds left this version."""
        if tree:
            self._tree = tree

    def taken(self) -> str:
        """The version that the last call left, or nothing where it changed none; said once."""
        taken, self._taken = self._taken, ""
        return taken

    def restart(self) -> None:
        """The visit is done again from its beginning."""
        self._tree = ""

    @asynccontextmanager
    async def use(self, *, writes: bool) -> AsyncIterator[Path]:
        """The folder, as it was when the last call ended. What a call that writes leaves is kept, also where it failed;
        where it is too much it is undone. Raises `MergeConflict`, and `QuotaExceeded` at the end."""
        if writes and not self.writes:
            raise NodeFailed("This node writes files without saying so (`writes_files`).", code="undeclared_writer")
        place = await _threaded(self._ready)
        before = place.tree
        assert before is not None
        if not writes:
            yield place.path
            return
        place.tree = None  # until it is read: the call may be cut short
        try:
            yield place.path
        except ToolError:
            await _threaded(self._keep, place, before)
            raise
        await _threaded(self._keep, place, before)

    def _ready(self) -> Place:
        wanted = self._tree or self.start()
        if self._place is None:
            self._place = self.space.take(wanted, alone=self.writes)
        else:
            self.space.fill(self._place, wanted)
        return self._place

    def start(self) -> str:
        """The tree that the visit begins with."""
        if not self._start:
            joined: Joined = self.space.joiner.joined(self.tips, self._merge)
            self._start, self.dropped = joined
        return self._start

    def _keep(self, place: Place, before: str) -> None:
        try:
            after = self.space.read(place)
        except QuotaExceeded as error:
            self.space.fill(place, before)
            raise QuotaExceeded(f"{error} What this call wrote was undone.") from error
        if after != before:
            self._tree = self._taken = after

    def close(self) -> None:
        """Give the folder back."""
        if self._place is not None:
            self.space.give(self._place)
            self._place = None


async def _threaded(work: Callable[..., T], *given: Any) -> T:
    """Done in a thread; what the disk refuses is a sentence."""
    try:
        return await asyncio.to_thread(work, *given)
    except OSError as error:
        reason = error.strerror or str(error)
        raise WorkspaceBroken(
            f"The run's files can't be kept: {reason}. Make room or mend the disk, and go on."
        ) from error


class PlainFiles:
    """A folder and nothing more, for what is no run: no versions, nothing to go back to."""

    quota = Quota()

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def recall(self, tree: str) -> None:
        """There is nothing to recall."""

    def taken(self) -> str:
        """No version."""
        return ""

    def restart(self) -> None:
        """There is nothing to go back to."""

    @asynccontextmanager
    async def use(self, *, writes: bool) -> AsyncIterator[Path]:
        """The folder."""
        yield self._folder


def recorded_writes(events: Sequence[Any]) -> dict[str, Write]:
    """The versions that earlier attempts left, by their commits: what each had seen is what its visit began with."""
    begun: dict[tuple[Any, ...], tuple[str, ...]] = {}
    found: dict[str, Write] = {}
    for event in events:
        if event.kind == "visit_started" and event.files:
            begun[event.path, event.node, event.visit] = event.files
        elif event.kind == "visit_ended" and event.commit:
            seen: dict[Key, int] = {}
            for commit in begun.get((event.path, event.node, event.visit), ()):
                for key, number in found[commit].seen.items() if commit in found else ():
                    seen[key] = max(seen.get(key, 0), number)
            key = (event.path, event.node)
            found[event.commit] = Write(event.commit, key, event.visit, seen | {key: event.visit}, len(found))
    return found
