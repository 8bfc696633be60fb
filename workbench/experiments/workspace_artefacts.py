"""How a file of a run is shown. Nothing in it is trusted: what is not known to be harmless is shown as text, or named."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from itertools import islice
from typing import IO, Any, NamedTuple, cast

IMAGES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".svg": "image/svg+xml",
}
TABLES = {".csv": ",", ".tsv": "\t"}
PAGES = (".html", ".htm")
ARCHIVES = (".zip", ".whl", ".jar", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
SHOWN_BYTES = 20_000_000
ROWS, COLUMNS, CELL, MEMBERS = 200, 50, 300, 1_000
UNPACKED = 50_000_000
"""So much of a packed archive is unpacked to see what is in it: a small one may hold a disk full of nothing."""


UNREADABLE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    OSError,
    ValueError,
    NotImplementedError,
)
"""What archives that are broken, or made to be, end in."""


class Sheet(NamedTuple):
    """The first rows of a table."""

    head: list[str]
    rows: list[list[str]]
    more_rows: bool
    more_columns: int


class Member(NamedTuple):
    """Something in an archive."""

    name: str
    size: int
    kind: str


class Listing(NamedTuple):
    """What is in an archive, as far as it can be said."""

    members: list[Member]
    more: bool
    fault: str = ""


def kind_of(name: str, size: int, is_link: bool) -> str:
    """How it is shown: link, large, image, table, page, archive, or text (which may turn out to be binary)."""
    low = name.lower()
    if is_link:
        return "link"
    if size > SHOWN_BYTES:
        return "large"
    if _ends(low, tuple(IMAGES)):
        return "image"
    if _ends(low, tuple(TABLES)):
        return "table"
    if _ends(low, PAGES):
        return "page"
    return "archive" if _ends(low, ARCHIVES) else "text"


def _ends(name: str, ends: tuple[str, ...]) -> bool:
    return name.endswith(ends)


def image_type(name: str) -> str:
    """The media type of a picture, or nothing."""
    return next((kind for end, kind in IMAGES.items() if name.lower().endswith(end)), "")


def is_binary(content: bytes) -> bool:
    """Whether it is no text."""
    return b"\0" in content[:8000]


def sheet_of(name: str, content: bytes) -> Sheet:
    """The first rows of a CSV file."""
    text = content.decode("utf-8-sig", "replace").replace("\0", "\ufffd")
    separator = next(sign for end, sign in TABLES.items() if name.lower().endswith(end))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        rows = list(islice(reader, ROWS + 2))
    except csv.Error:
        rows = [[line] for line in text.splitlines()[: ROWS + 2]]
    width = max(map(len, rows), default=0)
    cut = [[_cell(value) for value in row[:COLUMNS]] for row in rows]
    return Sheet(cut[0] if cut else [], cut[1 : ROWS + 1], len(rows) > ROWS + 1, max(0, width - COLUMNS))


def _cell(value: str) -> str:
    return value if len(value) <= CELL else f"{value[:CELL]}…"


class _Bounded(io.RawIOBase):
    """So much of a stream and no more."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._left = stream, UNPACKED

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(min(size if size >= 0 else 65536, 65536 if size < 0 else size))
        self._left -= len(data)
        if self._left < 0:
            raise EOFError
        return data


def listing_of(name: str, content: bytes) -> Listing:
    """What is in an archive, by its own word; nothing is unpacked to disk."""
    found: list[Member] = []
    try:
        for member in islice(_members(name.lower(), content), MEMBERS + 1):
            found.append(member)
    except EOFError:
        return Listing(found[:MEMBERS], True)
    except UNREADABLE as error:
        return Listing(found[:MEMBERS], False, f"It can't be read to its end: {error}.")
    return Listing(found[:MEMBERS], len(found) > MEMBERS)


def _members(name: str, content: bytes) -> Any:
    stream = io.BytesIO(content)
    if name.endswith((".zip", ".whl", ".jar")):
        with zipfile.ZipFile(stream) as archive:
            for info in archive.infolist():
                yield Member(info.filename, info.file_size, "folder" if info.is_dir() else "file")
        return
    plain = _plain(stream, content[:6])
    with tarfile.open(fileobj=_Bounded(plain), mode="r|") as packed:
        for member in packed:
            kind = (
                "folder"
                if member.isdir()
                else "file"
                if member.isfile()
                else "link"
                if member.issym() or member.islnk()
                else "special"
            )
            yield Member(member.name, member.size, kind)


def _plain(stream: IO[bytes], begins: bytes) -> IO[bytes]:
    """The stream unpacked, as its first bytes say."""
    if begins.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], gzip.GzipFile(fileobj=stream))
    if begins.startswith(b"BZh"):
        return cast(IO[bytes], bz2.BZ2File(stream))
    return cast(IO[bytes], lzma.LZMAFile(stream)) if begins == b"\xfd7zXZ\0" else stream
