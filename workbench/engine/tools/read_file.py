"""The tool `read_file`."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from pydantic import Field

from workbench.engine.errors import ToolError
from workbench.engine.tools import Arguments, Tool
from workbench.engine.tools._jail import failed, inside, missing, quoted, shown

LINES, CHARACTERS, LINE_CHARACTERS = 200, 20_000, 1_000
FILE_BYTES = 20_000_000


class ReadFileArguments(Arguments):
    path: str = Field(description="The file, relative to the workspace.")
    start: int = Field(1, ge=1, description="The first line to read.")
    lines: int = Field(LINES, ge=1, le=LINES, description="How many lines to read.")


class ReadFile(Tool):
    """Read a text file of the workspace. Each line comes with its number; long files come in parts."""

    Arguments = ReadFileArguments
    writes = False

    def run(self, arguments: ReadFileArguments, workspace: Path) -> str:
        real = inside(workspace, arguments.path)
        if real.is_dir():
            raise ToolError(f"{quoted(arguments.path)} is a folder. Use list_files to see what is in it.")
        if not real.is_file():
            raise missing(workspace, arguments.path, real)
        try:
            if real.stat().st_size > FILE_BYTES:
                raise ToolError(f"{quoted(arguments.path)} is larger than {FILE_BYTES:,} bytes, too large to read.")
            text = real.read_bytes().decode("utf-8", errors="replace")
        except OSError as error:
            raise failed("read", arguments.path, error) from error
        return _part(arguments, text)


def _part(arguments: ReadFileArguments, text: str) -> str:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if not lines:
        return f"{arguments.path} is empty."
    if arguments.start > len(lines):
        raise ToolError(f"{quoted(arguments.path)} has {len(lines):,} lines; there is no line {arguments.start:,}.")
    first = arguments.start - 1
    picked: list[str] = []
    for number, line in enumerate(islice(lines, first, first + arguments.lines), arguments.start):
        picked.append(f"{number:>6}\t{_line(line)}")
        if sum(map(len, picked)) > CHARACTERS:
            break
    after = first + len(picked)
    if after < len(lines):
        picked.append(f"({len(lines) - after:,} more lines. To go on, call read_file with start={after + 1}.)")
    return shown("\n".join(picked))


def _line(line: str) -> str:
    line = line.removesuffix("\r")
    if len(line) <= LINE_CHARACTERS:
        return line
    return f"{line[:LINE_CHARACTERS]} (line cut here; it has {len(line):,} characters)"
