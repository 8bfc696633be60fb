"""The repository that holds the versions of a run's files. It is bare, and readable with any Git.

Loose objects are made and read here: ten lines, where a Git process for each would cost more than most tool calls.
Versions carry no time, so that the same changes have the same ids in every attempt; the journal says when they came.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from workbench.engine.filestore import FOLDER, Entry, Quota, QuotaExceeded, Tree
from workbench.engine.filestore.trees import EMPTY_FOLDER, WorkspaceBroken

HISTORY = 10
"""All versions together may take so many times what one may."""
AUTHOR = "Workbench <workbench@localhost> 0 +0000"
START, FINAL, VISITS = "refs/workbench/start", "refs/heads/main", "refs/visits/"


class Store:
    """A repository of file versions."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._objects = folder / "objects"
        self._known: set[str] = set()
        self._size: int | None = None

    def exists(self) -> bool:
        """Whether it holds anything: its first version is what makes it one."""
        return self.ref(START) != ""

    def make(self) -> None:
        """The empty repository."""
        for name in ("objects/info", "objects/pack", "refs/heads", "refs/workbench"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self.put("tree", b"")  # Git knows it by heart, but for its own check of a repository
        (self.folder / "HEAD").write_text("ref: refs/heads/main\n")
        (self.folder / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = true\n")

    # Objects

    def put(self, kind: str, content: bytes) -> str:
        """Keep an object; its id."""
        data = b"%b %d\0%b" % (kind.encode(), len(content), content)
        name = hashlib.sha1(data, usedforsecurity=False).hexdigest()
        if name in self._known:
            return name
        place = self._place(name)
        if not place.exists():
            packed = zlib.compress(data, 1)
            place.parent.mkdir(exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self._objects, prefix="new-")
            with open(handle, "wb") as file:
                file.write(packed)
            os.replace(temporary, place)  # whole or not at all
            if self._size is not None:
                self._size += len(packed)
        self._known.add(name)
        return name

    def get(self, name: str) -> bytes:
        """An object's content. Raises `WorkspaceBroken` where it is not here."""
        try:
            data = zlib.decompress(self._place(name).read_bytes())
        except (OSError, zlib.error) as error:
            raise WorkspaceBroken(
                f"A version of the run's files is not here any more ({name[:10]}): was its folder in the workspaces "
                "removed? The run can't go on without it; start it again."
            ) from error
        return data[data.index(b"\0") + 1 :]

    def size_of(self, name: str) -> int:
        """How many bytes an object has, without unpacking it."""
        return self._head(name)[1]

    def kind_of(self, name: str) -> str:
        """Whether it is a `blob`, a `tree` or a `commit`; nothing where it is not here."""
        return self._head(name)[0]

    def _head(self, name: str) -> tuple[str, int]:
        try:
            with self._place(name).open("rb") as file:
                head = zlib.decompressobj().decompress(file.read(200), 64)
            kind, size = head[: head.index(b"\0")].split(b" ")
            return kind.decode(), int(size)
        except (OSError, ValueError, zlib.error):
            return "", 0

    def _place(self, name: str) -> Path:
        return self._objects / name[:2] / name[2:]

    def blob(self, content: bytes) -> str:
        """Keep a file's content."""
        return self.put("blob", content)

    def room(self, quota: Quota) -> None:
        """Raises `QuotaExceeded` when all versions together have become too much."""
        if self._size is None:
            self._size = sum(file.stat().st_size for file in self._objects.glob("??/*"))
        if self._size > HISTORY * quota.bytes:
            raise QuotaExceeded(
                f"All versions of the workspace together may take {HISTORY * quota.bytes:,} bytes; they take more. "
                "Nothing can be changed any more."
            )

    # Trees

    def tree(self, tree: Tree) -> str:
        """Keep a version's files; the id of its top folder."""
        folders: dict[bytes, dict[bytes, Entry]] = {b"": {}}
        for path, entry in tree.items():
            parent, _, name = path.rpartition(b"/")
            folders.setdefault(parent, {})[name] = entry
            while parent and parent.rpartition(b"/")[0] not in folders:
                parent = parent.rpartition(b"/")[0]
                folders[parent] = {}
        for folder in sorted(folders.keys() - {b""}, key=lambda path: -path.count(b"/")):
            parent, _, last = folder.rpartition(b"/")
            folders[parent][last] = Entry(FOLDER, self.put("tree", _packed(folders[folder])))
        return self.put("tree", _packed(folders[b""]))

    def files(self, tree: str) -> Tree:
        """The files of a kept version, by the id of its top folder."""
        found: Tree = {}
        waiting = [(b"", tree)]
        while waiting:
            folder, name = waiting.pop()
            for path, entry in _unpacked(self.get(name)):
                if entry.mode == FOLDER and entry != EMPTY_FOLDER:
                    waiting.append((folder + path + b"/", entry.id))
                else:
                    found[folder + path] = entry
        return found

    def between(self, before: str, after: str) -> tuple[Tree, Tree]:
        """What differs between two trees: of each, the files that the other has not or has otherwise."""
        was: Tree = {}
        now: Tree = {}
        waiting: list[tuple[bytes, str, str]] = [(b"", before, after)]
        while waiting:
            folder, one, other = waiting.pop()
            mine, theirs = (dict(_unpacked(self.get(name))) if name else {} for name in (one, other))
            for name in mine.keys() | theirs.keys():
                a, b = mine.get(name), theirs.get(name)
                if a == b:
                    continue
                inside = [entry.id if entry and entry.mode == FOLDER else "" for entry in (a, b)]
                if any(inside):
                    waiting.append((folder + name + b"/", inside[0], inside[1]))
                if a and not inside[0]:
                    was[folder + name] = a
                if b and not inside[1]:
                    now[folder + name] = b
        return was, now

    # Commits and names

    def commit(self, tree: str, parents: Sequence[str], message: str) -> str:
        """Keep a version with what it came from."""
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
        return self.put(
            "commit", "\n".join([*lines, f"author {AUTHOR}", f"committer {AUTHOR}", "", message, ""]).encode()
        )

    def tree_of(self, commit: str) -> str:
        """The top folder of a commit."""
        return self.get(commit)[5:45].decode()

    def parents_of(self, commit: str) -> list[str]:
        """The commits that a commit came from."""
        head = self.get(commit).split(b"\n\n", 1)[0].decode("utf-8", "replace")
        return [line[7:] for line in head.split("\n") if line.startswith("parent ")]

    def ref(self, name: str) -> str:
        """The commit of that name, or nothing."""
        try:
            return (self.folder / name).read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            return ""

    def set_ref(self, name: str, commit: str) -> None:
        """Give a commit a name."""
        place = self.folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        temporary = place.with_name(f"{place.name}.lock")
        temporary.write_text(f"{commit}\n")
        os.replace(temporary, place)

    def refs(self, prefix: str) -> dict[str, str]:
        """The names below a prefix, without it, each with its commit."""
        top = self.folder / prefix
        found = {}
        for here, _, files in os.walk(top):
            for file in files:
                if not file.endswith(".lock"):
                    name = Path(here, file).relative_to(top).as_posix()
                    found[name] = self.ref(f"{prefix}{name}")
        return dict(sorted(found.items()))


def _packed(entries: dict[bytes, Entry]) -> bytes:
    """A folder as Git writes it: in order of the names, where a folder's ends with a slash."""
    rows = sorted((name + b"/" if entry.mode == FOLDER else name, name, entry) for name, entry in entries.items())
    return b"".join(b"%o %b\0%b" % (entry.mode, name, bytes.fromhex(entry.id)) for _, name, entry in rows)


def _unpacked(data: bytes) -> Iterator[tuple[bytes, Entry]]:
    place = 0
    while place < len(data):
        space, end = data.index(b" ", place), data.index(b"\0", place)
        yield data[space + 1 : end], Entry(int(data[place:space], 8), data[end + 1 : end + 21].hex())
        place = end + 21
