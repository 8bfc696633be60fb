"""Instances out of a JSON Lines or CSV file: all of them, or every line that is wrong with its reason."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from workbench.datasets.rows import NAMED, InvalidLines, Row, file_rows, json_problem, line_problem, refused
from workbench.engine.documents import read_json
from workbench.engine.errors import Problem
from workbench.engine.plugins import nearest

FIELDS = ["id", "problem", "files", "reference", "metadata", "split"]
MAX_INSTANCES = 100_000
MAX_TEXT = 1_000_000
MAX_ID = 200
MAX_SPLIT = 50
MAX_PATH = 300

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class InstanceData(NamedTuple):
    """One problem as it is kept; `files` maps a safe relative path to its text."""

    id: str
    problem: str
    files: dict[str, str]
    references: list[str]
    metadata: dict[str, Any]
    split: str


class FieldRefused(ValueError):
    """What is wrong with one field, as a sentence that begins in lower case."""

    def __init__(self, field: str, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.field, self.hint = field, hint


def instances_read(data: bytes, filename: str) -> list[InstanceData]:
    """All instances of the file. Raises `InvalidLines` naming every bad line; then none of them may be used."""
    problems: list[Problem] = []
    total = 0
    first_lines: dict[str, int] = {}
    instances: list[InstanceData] = []
    is_csv = PurePath(filename).suffix.lower() == ".csv"
    for row in file_rows(data, filename):
        instance, found = instance_of(row, is_csv=is_csv)
        if instance is not None:
            before = first_lines.setdefault(instance.id, row.line)
            if before != row.line:
                found = [line_problem(row.line, "id", f"{instance.id!r} stands in line {before:,} already.")]
            instances.append(instance)
        problems += found[: max(0, NAMED - len(problems))]
        total += len(found)
        if len(first_lines) > MAX_INSTANCES:
            raise refused(f"The file has more than {MAX_INSTANCES:,} instances, the most that a data set can have.")
    if total:
        raise InvalidLines(problems, total)
    if not instances:
        raise refused("The file holds no instance.", 'Each needs an "id" and a "problem".')
    return instances


def instances_hash(instances: Sequence[InstanceData]) -> str:
    """What a version is known by: SHA-256 over its instances in order, one canonical JSON line each."""
    digest = hashlib.sha256()
    for instance in instances:
        line = json.dumps(instance, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()


def instance_of(row: Row, *, is_csv: bool) -> tuple[InstanceData | None, list[Problem]]:
    """The row's instance, or everything that is wrong with the row."""
    problems = [*row.problems]
    if problems:
        return None, problems
    cells, faults = csv_cells(row) if is_csv else (row.data, [])
    problems += faults
    for name in cells:
        if name not in FIELDS:
            reason = f"there is no such field.{nearest(name, FIELDS)}"
            problems.append(line_problem(row.line, repr(name), reason, f"Fields: {', '.join(FIELDS)}."))
    values: dict[str, Any] = {}
    for name, check in CHECKS.items():
        try:
            values[name] = check(cells.get(name))
        except FieldRefused as error:
            if not any(fault.path == f"/{row.line}/{name}" for fault in faults):
                problems.append(line_problem(row.line, error.field, str(error), error.hint))
    if problems:
        return None, problems
    values["references"] = values.pop("reference")
    return InstanceData(**values), []


def csv_cells(row: Row) -> tuple[dict[str, Any], list[Problem]]:
    """The cells with JSON in them read: `files` and `metadata` always, `reference` where it is a list of texts."""
    cells, problems = dict(row.data), []
    for name in ("files", "metadata"):
        if name in cells:
            result = read_json(cells[name])
            problems += [json_problem(row.line, name, one) for one in result.problems if one.severity == "error"]
            cells[name] = result.data
    if cells.get("reference", "").startswith("["):
        references = read_json(cells["reference"]).data
        if isinstance(references, list) and all(isinstance(text, str) for text in references):
            cells["reference"] = references
    return cells, problems


def check_id(value: Any) -> str:
    """1 to 200 characters on one line that can stand in an address."""
    text = check_text("id", value)
    if not text:
        raise FieldRefused("id", "it is empty.")
    if len(text) > MAX_ID:
        raise FieldRefused("id", f"it has {len(text):,} characters; {MAX_ID} is the most.")
    if text != text.strip() or _CONTROL.search(text):
        raise FieldRefused("id", "it begins or ends with white space, or holds a control character.")
    if any(part in ("", ".", "..") for part in text.split("/")):
        raise FieldRefused("id", "between slashes there must be something other than '.' and '..'.")
    return text


def check_problem(value: Any) -> str:
    """Text that says something."""
    text = check_text("problem", value)
    if not text.strip():
        raise FieldRefused("problem", "it is empty.")
    return text


def check_text(field: str, value: Any) -> str:
    """Text of at most a million characters."""
    if value is None:
        raise FieldRefused(field, "it is missing.")
    if not isinstance(value, str):
        hint = "Put it in quotes." if isinstance(value, int | float) and not isinstance(value, bool) else ""
        raise FieldRefused(field, f"it must be text, not {kind_of(value)}.", hint)
    if len(value) > MAX_TEXT:
        raise FieldRefused(field, f"it has {len(value):,} characters; {MAX_TEXT:,} is the most.")
    return value


def check_references(value: Any) -> list[str]:
    """A text, or a list of texts: any of them is a right answer."""
    if value is None:
        return []
    if not isinstance(value, list):
        return [check_text("reference", value)]
    for number, text in enumerate(value, start=1):
        if not isinstance(text, str):
            raise FieldRefused("reference", f"entry {number} must be text, not {kind_of(text)}.")
    return [check_text("reference", text) for text in value]


def check_metadata(value: Any) -> dict[str, Any]:
    """Any JSON object."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise FieldRefused("metadata", f"it must be an object, not {kind_of(value)}.")
    return dict(value)


def check_split(value: Any) -> str:
    """A short name, such as `test`."""
    text = "" if value is None else check_text("split", value)
    if len(text) > MAX_SPLIT or text != text.strip() or _CONTROL.search(text):
        raise FieldRefused("split", f"it must be a name of at most {MAX_SPLIT} characters on one line.")
    return text


def check_files(value: Any) -> dict[str, str]:
    """An object of texts, under paths that stay inside a run's workspace."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise FieldRefused("files", f"it must be an object of path → text, not {kind_of(value)}.")
    for path, text in value.items():
        fault = path_fault(path)
        if fault:
            raise FieldRefused("files", f"the path {path!r} {fault}", "Use relative paths, such as src/app.py.")
        if not isinstance(text, str):
            raise FieldRefused("files", f"{path!r} must hold text, not {kind_of(text)}.")
        if len(text) > MAX_TEXT:
            raise FieldRefused("files", f"{path!r} has {len(text):,} characters; {MAX_TEXT:,} is the most.")
    folders = {parent for path in value for parent in parents(path)}
    both = sorted(folders & value.keys())
    if both:
        raise FieldRefused("files", f"{both[0]!r} is a file and a folder at once.")
    return dict(value)


def path_fault(path: str) -> str:
    """Why a file of that path can't be put into a workspace, or nothing."""
    parts = path.split("/")
    if path.startswith("/") or re.match(r"[A-Za-z]:", path):
        return "is absolute."
    if any(part in ("", ".", "..") for part in parts):
        return "has an empty part, '.' or '..' in it."
    if "\\" in path or _CONTROL.search(path):
        return "holds a backslash or a control character."
    if any(part.lower() == ".git" for part in parts):
        return "leads into a Git repository."
    if len(path) > MAX_PATH or any(len(part.encode()) > 255 for part in parts):
        return f"is longer than {MAX_PATH} characters, or a part of it than 255 bytes."
    return ""


def parents(path: str) -> Iterator[str]:
    """The folders that a file's path needs."""
    parts = path.split("/")
    return ("/".join(parts[:end]) for end in range(1, len(parts)))


def kind_of(value: Any) -> str:
    """What JSON calls the value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    return {int: "a number", float: "a number", str: "text", list: "a list"}.get(type(value), "an object")


CHECKS = {
    "id": check_id,
    "problem": check_problem,
    "files": check_files,
    "reference": check_references,
    "metadata": check_metadata,
    "split": check_split,
}
