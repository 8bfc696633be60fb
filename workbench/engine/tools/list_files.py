"""The tool `list_files`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from pydantic import Field

from workbench.engine.errors import ToolError
from workbench.engine.tools import Arguments, Tool
from workbench.engine.tools._jail import inside, missing, quoted, shown

SHOWN, COUNTED = 200, 10_000


class ListFilesArguments(Arguments):
    path: str = Field(".", description="The folder, relative to the workspace.")


class ListFiles(Tool):
    """List the files of a folder of the workspace and of the folders in it, in order of their names."""

    Arguments = ListFilesArguments
    writes = False

    def run(self, arguments: ListFilesArguments, workspace: Path) -> str:
        real = inside(workspace, arguments.path)
        if real.is_file():
            raise ToolError(f"{quoted(arguments.path)} is a file. Use read_file to see what is in it.")
        if not real.is_dir():
            raise missing(workspace, arguments.path, real)
        found = list(islice(_files(real, workspace.resolve()), COUNTED))
        if not found:
            return f"{arguments.path} holds no files."
        lines = found[:SHOWN]
        if len(found) > SHOWN:
            more = f"more than {COUNTED - SHOWN:,}" if len(found) == COUNTED else f"{len(found) - SHOWN:,}"
            lines.append(f"({more} more files. To see them, call list_files with the path of one folder.)")
        return shown("\n".join(lines))


def _files(folder: Path, root: Path) -> Iterator[str]:
    """Paths from the workspace's root, depth first, files before folders, links named but not followed."""
    for here, folders, files in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if name.lower() != ".git")
        links = [name for name in folders if (Path(here) / name).is_symlink()]
        for name in sorted([*files, *links]):
            if name.lower() != ".git":
                path = (Path(here) / name).relative_to(root).as_posix()
                yield path.encode("utf-8", errors="replace").decode()  # a name need not be UTF-8
