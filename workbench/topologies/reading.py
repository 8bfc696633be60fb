"""Reads the Git repository of topologies: what is there now, what was there in any commit, who changed what when."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from workbench.topologies.gitcommand import GitCommand, StoreError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
COMMIT = re.compile(r"[0-9a-f]{40}")
NOTHING = "0" * 40
LARGEST = 5 * 1024 * 1024


class StoredTopology(NamedTuple):
    """The text of a topology as one commit holds it."""

    name: str
    commit: str
    blob: str
    text: str


class Version(NamedTuple):
    """A commit that changed a topology. `blob` is empty where it deleted it, `before` where it made it."""

    commit: str
    blob: str
    before: str
    author: str
    date: datetime
    message: str


class Entry(NamedTuple):
    """A file at the top of the repository; `problem` says why it can't be used as a topology."""

    name: str
    blob: str
    problem: str = ""


class Reader:
    """The repository at one place, for reading."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.git = GitCommand(root)

    def exists(self) -> bool:
        return self.git.folder.is_dir()

    def head(self) -> str:
        """The newest commit, or nothing in an empty repository."""
        if not self.exists():
            return ""
        found = self.git.run("rev-list", "--max-count=1", "--ignore-missing", "HEAD") if self._born() else b""
        return found.decode().strip()

    def entries(self) -> list[Entry]:
        """Every file at the top of the newest commit, foreign ones with the reason why they can't be used."""
        if not self.exists() or not self._born():
            return []
        lines = self.git.run("ls-tree", "-z", "-l", "HEAD").decode("utf-8", "replace").split("\0")
        entries, seen = [], dict[str, str]()
        for line in filter(None, lines):
            about, _, file = line.partition("\t")
            mode, kind, blob, size = about.split()
            problem = _foreign(file, mode, kind, size)
            twin = seen.setdefault(file.casefold(), file)
            if not problem and twin != file:
                problem = f"Its name differs from {twin} only in upper and lower case."
            entries.append(Entry(file if problem else file.removesuffix(".json"), blob, problem))
        return entries

    def blob(self, name: str, commit: str = "HEAD") -> str:
        """The blob of a topology in a commit, or nothing where that has no such file."""
        if not self.exists() or (commit == "HEAD" and not self._born()):
            return ""
        answer = self.git.run("cat-file", "--batch-check", given=f"{commit}:{file_name(name)}\n".encode())
        blob, kind, size = [*answer.decode().split(), "", ""][:3]
        return blob if kind == "blob" and int(size) <= LARGEST else ""

    def read(self, name: str, commit: str | None = None) -> StoredTopology | None:
        """The topology as the given commit holds it (without one: as it is now), or None."""
        if commit is not None and not COMMIT.fullmatch(commit):
            return None
        blob = self.blob(name, commit or "HEAD")
        if not blob:
            return None
        return StoredTopology(name, commit or self.changed_in(name), blob, self.texts([blob])[0])

    def texts(self, blobs: list[str]) -> list[str]:
        """The texts of blobs, all in one go."""
        answer = self.git.run("cat-file", "--batch", given="".join(f"{blob}\n" for blob in blobs).encode())
        texts, place = [], 0
        for _ in blobs:
            line = answer.index(b"\n", place)
            about = answer[place:line].split()
            if about[-1] == b"missing":
                raise StoreError("The repository of topologies has lost a version. Run `git fsck` there.")
            size = int(about[2])
            texts.append(answer[line + 1 : line + 1 + size].decode("utf-8", "replace"))
            place = line + 2 + size
        return texts

    def changed_in(self, name: str) -> str:
        """The newest commit that changed a topology."""
        versions = self.history(name, limit=1)
        return versions[0].commit if versions else ""

    def history(self, name: str, *, skip: int = 0, limit: int = 1_000_000, at: str = "HEAD") -> list[Version]:
        """The commits that changed a topology, newest first, seen from a commit."""
        if not self.exists() or not self._born():
            return []
        output = self.git.run(
            *("log", "--first-parent", "-m", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff", "-z"),
            *(f"--skip={skip}", f"--max-count={limit}", "--encoding=UTF-8", "--format=%H%x00%an%x00%at%x00%B"),
            *(at, "--", file_name(name)),
        )
        fields = output.decode("utf-8", "replace").split("\0")
        # Six fields a commit: four of the format, then the raw line (`:modes before after letter`) and its path.
        return [_version(fields[place : place + 6]) for place in range(0, len(fields) - 5, 6)]

    def difference(self, before: str, after: str) -> str:
        """What changed from one blob to another, as a unified diff without its header."""
        output = self.git.run(
            "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--text", "--patience", before, after
        )
        text = output.decode("utf-8", "replace")
        return text[text.find("\n@@") + 1 :] if "\n@@" in text else ""

    def _born(self) -> bool:
        """Whether the current branch has a commit."""
        answer = self.git.run("cat-file", "--batch-check", given=b"HEAD\n")
        return not answer.endswith(b" missing\n")


def file_name(name: str) -> str:
    """The file of a topology. Raises `StoreError` for what can't be a name."""
    if not NAME.fullmatch(name):
        raise StoreError(
            f"{name[:100]!r} can't be a topology's name: use letters, digits, dots, hyphens and underscores, "
            "with a letter or digit first, 100 at most."
        )
    return f"{name}.json"


def _foreign(file: str, mode: str, kind: str, size: str) -> str:
    """Why a file of the repository can't be used as a topology, or nothing."""
    if mode == "120000":
        return "It is a symbolic link, which is never followed."
    if kind == "commit":
        return "It is a repository inside the repository, which is never opened."
    if kind == "tree":
        return "It is a folder; only files at the top are topologies."
    if not file.endswith(".json"):
        return "It is not a .json file."
    if not NAME.fullmatch(file.removesuffix(".json")):
        return "Its name has characters that a topology's name can't have."
    if int(size) > LARGEST:
        return f"It is larger than {LARGEST // 1024 // 1024} MB."
    return ""


def _version(fields: list[str]) -> Version:
    commit, author, date, message, raw, _ = fields
    _, _, before, after, _ = raw.strip().split()
    return Version(
        commit.strip(), after.replace(NOTHING, ""), before.replace(NOTHING, ""), author,
        datetime.fromtimestamp(int(date or 0), UTC), message.strip(),
    )  # fmt: skip
