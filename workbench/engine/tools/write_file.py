"""The tool `write_file`."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import Field

from workbench.engine.errors import ToolError
from workbench.engine.tools import Arguments, Tool
from workbench.engine.tools._jail import failed, inside, quoted

FILE_BYTES = 1_000_000


class WriteFileArguments(Arguments):
    path: str = Field(description="The file, relative to the workspace. Missing folders are made.")
    content: str = Field(description="The whole new content of the file.")


class WriteFile(Tool):
    """Write a text file of the workspace: make it, or replace all of its content."""

    Arguments = WriteFileArguments

    def run(self, arguments: WriteFileArguments, workspace: Path) -> str:
        real = inside(workspace, arguments.path)
        content = arguments.content.encode("utf-8", errors="replace")
        if len(content) > FILE_BYTES:
            raise ToolError(f"The content has {len(content):,} bytes; a file may have {FILE_BYTES:,}. Write less.")
        if real.is_dir():
            raise ToolError(f"{quoted(arguments.path)} is a folder. Give the path of a file in it.")
        known = real.exists()
        if known and not real.is_file():
            raise ToolError(f"{quoted(arguments.path)} is no ordinary file.")
        try:
            real.parent.mkdir(parents=True, exist_ok=True)
            _write(real, content)
        except OSError as error:
            raise failed("written", arguments.path, error) from error
        done = "Replaced" if known else "Made"
        return f"{done} {arguments.path}: {len(arguments.content.splitlines()):,} lines, {len(content):,} bytes."


def _write(real: Path, content: bytes) -> None:
    flags = (
        os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
    )  # a link put there meanwhile is refused
    with open(os.open(real, flags, 0o644), "wb") as file:
        file.write(content)
