"""`workbench check`: what is wrong with a topology or an agent, before anything is run."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click
import platformdirs

from workbench.engine.documents import MAX_BYTES, read_json
from workbench.engine.errors import Problem, WorkbenchError, has_errors

if TYPE_CHECKING:
    from workbench.engine.nodes import Catalogue


@click.command()
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="Print the problems as JSON.")
def check(file: str, as_json: bool) -> None:
    """Say what is wrong with the topology or agent in FILE (- reads standard input).

    Exit code 0: no errors, perhaps warnings; 1: errors; 2: the file can't be read.
    """
    problems, notes = document_problems(document_bytes(file), file)
    if as_json:
        click.echo(json.dumps([problem._asdict() for problem in problems], ensure_ascii=False, indent=2))
    else:
        said = [*(f"note: {note}" for note in notes), *map(problem_line, problems), _summary(problems)]
        click.echo("\n".join(said))
    sys.exit(1 if has_errors(problems) else 0)


def document_bytes(file: str) -> bytes:
    """What stands in a file, or comes on standard input; of too large a document only as much as shows that it is."""
    try:
        if file == "-":
            return _textual(sys.stdin.buffer, "Standard input")
        with open(file, "rb") as opened:
            return _textual(opened, file)
    except FileNotFoundError as error:
        raise WorkbenchError(f"There is no file {file!r}.") from error
    except IsADirectoryError as error:
        raise WorkbenchError(f"{file!r} is a folder; name a file in it.") from error
    except (OSError, ValueError) as error:
        raise WorkbenchError(f"{file!r} can't be read: {getattr(error, 'strerror', None) or error}.") from error


def _textual(opened: IO[bytes], name: str) -> bytes:
    data = opened.read(MAX_BYTES + 1)
    if b"\0" in data[:8000] and data[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        try:
            data.decode()
        except UnicodeDecodeError as error:
            raise WorkbenchError(f"{name!r} is a binary file; a topology is JSON, in UTF-8.") from error
    return data


def document_problems(data: bytes, file: str = "") -> tuple[list[Problem], list[str]]:
    """Everything wrong with a topology (of any format that can be imported) or an agent, and the notes of the import."""
    from workbench.engine.validation import check_agent
    from workbench.topologies.importing import document_checked

    document = read_json(data).data
    kind = document.get("format") if isinstance(document, dict) else None
    if isinstance(kind, str) and kind.startswith("workbench.agent/"):
        return check_agent(data).problems, []
    checked, imported = document_checked(file, data, local_catalogue())
    return checked.problems, imported.notes


def local_catalogue() -> Catalogue:
    """The agents and topologies of this person's workbench if it has been set up, else those that ship."""
    from workbench.topologies.shipped import ShippedLibrary

    home = os.environ.get("WORKBENCH_HOME") or platformdirs.user_data_path("workbench")
    if os.environ.get("DATABASE_URL") or (Path(home).expanduser() / "workbench.sqlite3").is_file():
        return _database_catalogue() or ShippedLibrary()
    return ShippedLibrary()


def _database_catalogue() -> Catalogue | None:
    import django
    from django.db import DatabaseError

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workbench.settings")
    django.setup()
    from workbench.topologies.library import Library

    catalogue = Library()
    try:
        return catalogue if catalogue.names() else None
    except DatabaseError:
        return None  # it was never migrated


def problem_line(problem: Problem) -> str:
    where = f"{problem.path}: " if problem.path else ""
    return f"{problem.severity}: {where}{problem.message}" + (f" {problem.hint}" if problem.hint else "")


def _summary(problems: list[Problem]) -> str:
    if not problems:
        return "No problems."
    errors = sum(problem.severity == "error" for problem in problems)
    warnings = len(problems) - errors
    said = [_count(errors, "error"), _count(warnings, "warning")]
    return f"{', '.join(part for part in said if part)}."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}" if number else ""
