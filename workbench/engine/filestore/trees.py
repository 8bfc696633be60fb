"""Walks, fills and clears a folder that hostile code may have written: no link is followed, nothing special is opened."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from workbench.engine.errors import WorkbenchError
from workbench.engine.filestore import FILE, FOLDER, LINK, PROGRAM, Entry, Quota, QuotaExceeded, Tree

DEEPEST, LONGEST = 100, 3_500
"""Folders in folders, and bytes of a path: systems have no room for more than about 4,096."""
RACY_NS = 20_000_000
"""A file changed so shortly before it was read may change again without its times telling."""
EMPTY_FOLDER = Entry(FOLDER, "4b825dc642cb6eb9a060e54bf8d69288fbee4904")


class WorkspaceBroken(WorkbenchError):
    """The files of a run can't be read or written."""

    code = "workspace"


class Item(NamedTuple):
    """Something in a folder. `kind` is None for what can't be kept: pipes, sockets, devices."""

    path: bytes
    kind: int | None
    info: os.stat_result


def walk(root: Path, quota: Quota | None = None) -> Iterator[Item]:
    """Everything in it, folders before what is in them. Raises `QuotaExceeded` as soon as it is too much."""
    top = os.fsencode(root)
    waiting, number, size = [b""], 0, 0
    while waiting:
        folder = waiting.pop()
        for entry in _scanned(top, folder):
            path = folder + entry.name
            item = Item(path, _kind(info := entry.stat(follow_symlinks=False)), info)
            number, size = number + 1, size + (info.st_size if stat.S_ISREG(info.st_mode) else 0)
            if quota is not None:
                _within(quota, number, size, path)
            yield item
            if item.kind == FOLDER:
                waiting.append(path + b"/")


def _scanned(top: bytes, folder: bytes) -> list[os.DirEntry[bytes]]:
    place = os.path.join(top, folder)
    if os.stat(place).st_mode & stat.S_IRWXU != stat.S_IRWXU:  # code took its own rights away, or one of them
        os.chmod(place, 0o755)
    return list(os.scandir(place))


def _kind(info: os.stat_result) -> int | None:
    if stat.S_ISREG(info.st_mode):
        return PROGRAM if info.st_mode & stat.S_IXUSR else FILE
    if stat.S_ISLNK(info.st_mode):
        return LINK
    return FOLDER if stat.S_ISDIR(info.st_mode) else None


def _within(quota: Quota, number: int, size: int, path: bytes) -> None:
    if number > quota.files:
        raise QuotaExceeded(f"The workspace may hold {quota.files:,} files and folders; there are more. Make fewer.")
    if size > quota.bytes:
        raise QuotaExceeded(f"The workspace may hold {quota.bytes:,} bytes; its files have more. Write less.")
    if path.count(b"/") >= DEEPEST or len(path) > LONGEST:
        raise QuotaExceeded(f"The workspace may hold {DEEPEST} folders in each other, and paths of {LONGEST:,} bytes.")


def too_much(root: Path, quota: Quota) -> str:
    """Why what stands in a folder is too much, in words, or nothing. Code may be changing it meanwhile."""
    try:
        for _ in walk(root, quota):
            pass
    except QuotaExceeded as error:
        return str(error)
    except OSError:
        pass
    return ""


class Folder:
    """A folder whose content is known as far as it has not changed since."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._top = os.fsencode(root)
        self._known: dict[bytes, tuple[tuple[int, ...], Entry]] = {}

    def read(self, keep: Callable[[bytes], str], quota: Quota | None) -> Tree:
        """What is in it; `keep` stores a content and says its id. Raises `QuotaExceeded` before anything is stored."""
        items = list(walk(self.root, quota))
        known, self._known = self._known, {}
        started = time.time_ns()
        tree: Tree = {}
        filled = {os.path.dirname(item.path) for item in items if item.kind is not None}
        for item in items:
            if item.kind == FOLDER:
                if item.path not in filled:
                    tree[item.path] = EMPTY_FOLDER
            elif item.kind is not None:
                signature = _signature(item.info)
                before = known.get(item.path)
                entry = before[1] if before and before[0] == signature else self._entry(item, keep)
                tree[item.path] = entry
                if item.info.st_ctime_ns < started - RACY_NS:
                    self._known[item.path] = (signature, entry)
        return tree

    def _entry(self, item: Item, keep: Callable[[bytes], str]) -> Entry:
        assert item.kind is not None
        place = os.path.join(self._top, item.path)
        if item.kind == LINK:
            return Entry(LINK, keep(os.readlink(place)))
        return Entry(item.kind, keep(_content(place)))

    def fill(self, wanted: Tree, content: Callable[[str], bytes], quota: Quota) -> None:
        """Make it hold exactly that; what stands there already and is the same stays as it is."""
        self.root.mkdir(parents=True, exist_ok=True)
        folders = {parent for path in wanted for parent in _parents(path)}
        folders |= {path for path, entry in wanted.items() if entry.mode == FOLDER}
        standing = self._clear(wanted, folders, quota)
        for folder in sorted(folders):
            Path(os.fsdecode(os.path.join(self._top, folder))).mkdir(exist_ok=True)
        for path, entry in wanted.items():
            if path not in standing and entry.mode != FOLDER:
                _make(os.path.join(self._top, path), entry, content(entry.id))

    def _clear(self, wanted: Tree, folders: set[bytes], quota: Quota) -> set[bytes]:
        """Take away what is not wanted; the paths that may stay."""
        standing: set[bytes] = set()
        gone: list[bytes] = []
        waiting = [b""]
        while waiting:
            folder = waiting.pop()
            for entry in _scanned(self._top, folder):
                path, info = folder + entry.name, entry.stat(follow_symlinks=False)
                if _kind(info) == FOLDER and path in folders:
                    waiting.append(path + b"/")
                elif self._same(path, info, wanted.get(path), quota):
                    standing.add(path)
                else:
                    gone.append(path)
        for path in gone:
            remove(os.path.join(self._top, path))
        return standing

    def _same(self, path: bytes, info: os.stat_result, wanted: Entry | None, quota: Quota) -> bool:
        kind = _kind(info)
        if wanted is None or wanted.mode != kind or info.st_size > quota.bytes:
            return False
        known = self._known.get(path)
        if known and known[0] == _signature(info):
            return known[1] == wanted
        return self._entry(Item(path, kind, info), blob_id) == wanted


def _signature(info: os.stat_result) -> tuple[int, ...]:
    return (info.st_mode, info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)


def blob_id(content: bytes) -> str:
    """The id that Git gives to a content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _content(place: bytes) -> bytes:
    """The content of an ordinary file; what has become a link or a pipe meanwhile is not opened."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(place, flags)
    except PermissionError:
        os.chmod(place, 0o644)
        handle = os.open(place, flags)
    with open(handle, "rb") as file:
        return file.read() if stat.S_ISREG(os.fstat(handle).st_mode) else b""


def _make(place: bytes, entry: Entry, content: bytes) -> None:
    if entry.mode == LINK:
        os.symlink(content, place)
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    with open(os.open(place, flags, 0o755 if entry.mode == PROGRAM else 0o644), "wb") as file:
        file.write(content)


def _parents(path: bytes) -> Iterator[bytes]:
    place = path.find(b"/")
    while place >= 0:
        yield path[:place]
        place = path.find(b"/", place + 1)


def remove(place: bytes | Path) -> None:
    """Take it away with all that is in it, however deep, whatever rights were taken from it."""
    if not os.path.lexists(place):
        return
    if os.path.islink(place) or not os.path.isdir(place):
        os.unlink(place)
        return
    try:
        shutil.rmtree(place)
    except (OSError, RecursionError):  # rights taken away, or folders deeper than any path is long
        for command in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
            subprocess.run([*command, "--", place], check=False, stderr=subprocess.DEVNULL)
    if os.path.lexists(place):
        raise WorkspaceBroken("A folder of the run's workspace can't be removed. Remove it by hand, and go on.")
