"""The versions of a run's files: real Git objects, written and read here, by no Git that ever sees the folder itself.

Code that nobody vouches for writes that folder. Its attributes, hooks, filters, links, repositories of its own and odd
names are plain data to us: the folder is walked without following a link, and the repository lies where tools and
sandboxes can't reach it.

`trees` walks, fills and clears folders; `store` is the repository; `merging` joins versions; `diffs` shows what differs.
"""

from __future__ import annotations

from typing import NamedTuple

from workbench.engine.errors import ToolError

FILE, PROGRAM, LINK, FOLDER = 0o100644, 0o100755, 0o120000, 0o040000


class Entry(NamedTuple):
    """What stands under a path: its kind and the id of its content. A `FOLDER` is an empty one."""

    mode: int
    id: str


Tree = dict[bytes, Entry]
"""All files of a version, by path from the top. Names are bytes: code may choose any."""


class Quota(NamedTuple):
    """What the files of one run may take: all of them together, and their number (folders and links count too)."""

    bytes: int = 200_000_000
    files: int = 20_000


class QuotaExceeded(ToolError):
    """The files of a run take more than they may; what the call wrote is undone."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="workspace_quota")
