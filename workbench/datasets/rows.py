"""Rows out of a file, JSON Lines or CSV, every fault a sentence with its line. Without Django."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, NamedTuple

from workbench.engine.documents import read_json
from workbench.engine.errors import InvalidDocument, Problem

MAX_BYTES = 50 * 1024 * 1024
NAMED = 100
"""So many problems are named one by one; the rest is counted."""

# One setting for the whole process; the module's own (131,072 characters) is less than a long problem has.
csv.field_size_limit(MAX_BYTES)


class Row(NamedTuple):
    """What stands in one line (CSV: the record that begins there), or what is wrong with it."""

    line: int
    data: dict[str, Any]
    problems: tuple[Problem, ...] = ()


class InvalidLines(InvalidDocument):
    """A file that can't be used: the first hundred problems, each with its line, and how many there are in all."""

    def __init__(self, problems: list[Problem], total: int | None = None) -> None:
        self.total = len(problems) if total is None else total
        super().__init__(problems[:NAMED])
        more = f" (and {self.total - 1:,} more)" if self.total > 1 else ""
        self.args = (f"{problems[0].message}{more}",)

    @property
    def unnamed(self) -> int:
        """How many problems there are beside the named ones."""
        return self.total - len(self.problems)


def line_problem(line: int, field: str, reason: str, hint: str = "", *, code: str = "line") -> Problem:
    """A problem that names its line and its field. `reason` is a sentence that begins in lower case."""
    where = f"Line {line:,}, {field}" if field else f"Line {line:,}"
    return Problem("error", code, f"/{line}/{field}" if field else f"/{line}", f"{where}: {reason}", hint)


def file_rows(data: bytes, filename: str) -> Iterator[Row]:
    """The rows of a `.jsonl` or `.csv` file. Raises `InvalidLines` where the file as a whole can't be read."""
    kind = PurePath(filename).suffix.lower()
    if kind in (".jsonl", ".ndjson"):
        return json_rows(text_of(data))
    if kind == ".csv":
        return csv_rows(text_of(data))
    raise refused(f"{filename or 'The file'} is neither .jsonl nor .csv.", "JSON Lines: one JSON object on each line.")


def refused(message: str, hint: str = "") -> InvalidLines:
    """The refusal of a whole file."""
    return InvalidLines([Problem("error", "file", "", message, hint)])


def text_of(data: bytes) -> str:
    """The file's text, without a byte order mark. Raises `InvalidLines` for its size, its encoding, or NUL in it."""
    if len(data) > MAX_BYTES:
        raise refused(f"The file has {len(data) / 1024**2:.1f} MB; 50 MB is the most that is read.")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise refused("The file is UTF-16, not UTF-8.", "Save it as UTF-8.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        reason = f"byte 0x{data[error.start]:02x} is not UTF-8."
        raise InvalidLines([line_problem(line, "", reason, "Save the file as UTF-8.", code="file")]) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InvalidLines([line_problem(line, "", "there is a NUL character.", "Take it out.", code="file")])
    return text


def json_rows(text: str) -> Iterator[Row]:
    """One row for each line that is not blank. Lines end at `\\n` only: U+2028 and its like belong to the text."""
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip(" \t\r"):
            continue
        data, problems = read_json(line)
        faults = tuple(json_problem(number, "", problem) for problem in problems if problem.severity == "error")
        if not faults and not isinstance(data, dict):
            faults = (line_problem(number, "", "it must be a JSON object, written {…}."),)
        yield Row(number, {} if faults else data, faults)


def json_problem(line: int, field: str, problem: Problem) -> Problem:
    """A fault of the JSON reader, told of a line of a file."""
    reason = problem.message.replace("(line 1, column", "(column").replace("The document", "It", 1)
    place = problem.path.removeprefix("/").split("/")[0]
    if reason.split(" ")[0] in ("A", "The", "This", "It"):  # not NaN and Infinity
        reason = reason[0].lower() + reason[1:]
    return line_problem(line, field or place, reason, problem.hint, code=problem.code)


def csv_rows(text: str) -> Iterator[Row]:
    """One row for each record after the header. Raises `InvalidLines` for the header, or quotes that don't close."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    line = 1
    header: list[str] | None = None
    try:
        for record in reader:
            if header is None and any(record):
                header = checked_header([name.strip() for name in record], line)
            elif header is not None and any(record):
                yield csv_row(header, record, line)
            line = reader.line_num + 1
    except csv.Error as error:
        reason = re.sub(r"^unexpected end of data$", "a quoted field is never closed", str(error))
        raise InvalidLines([line_problem(line, "", f"this is not CSV: {reason}.", code="file")]) from error


def checked_header(names: list[str], line: int) -> list[str]:
    """The column names, each once."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if len(names) == 1 and (";" in names[0] or "\t" in names[0]):
        raise refused("The columns are not separated by commas.", "Save the file as CSV with commas.")
    if twice:
        raise InvalidLines([line_problem(line, "", f"the column {twice[0]!r} stands twice.", code="file")])
    return names


def csv_row(header: list[str], record: list[str], line: int) -> Row:
    """A record under its header. An empty cell is no value."""
    if len(record) != len(header):
        reason = f"it has {len(record)} cells, the header has {len(header)}."
        return Row(line, {}, (line_problem(line, "", reason, "Quote cells that hold commas or line breaks."),))
    return Row(line, {name: cell for name, cell in zip(header, record, strict=True) if cell != ""})
