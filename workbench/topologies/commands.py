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
    from workbench.engine.dryrun import DryRun
    from workbench.engine.nodes import Catalogue


@click.command()
@click.argument("file")
@click.option("--dry-run", "dry", is_flag=True, help="Drive every branch with made-up outputs: which edges can fire?")
@click.option("--json", "as_json", is_flag=True, help="Print the problems as JSON; of a dry run also its edges.")
def check(file: str, dry: bool, as_json: bool) -> None:
    """Say what is wrong with the topology or agent in FILE (- reads standard input).

    A dry run executes nothing: models, tools and code are answered for.

    Exit code 0: no errors, perhaps warnings; 1: errors; 2: the file can't be read.
    """
    data = document_bytes(file)
    problems, notes = document_problems(data, file)
    report = None
    if dry and not has_errors(problems):
        report, unfired = document_dry_run(data, file)
        problems = [*problems, *unfired]
    if as_json:
        shown = [problem._asdict() for problem in problems]
        found = (report.as_json() if report else {"edges": [], "runs": 0, "visits": 0}) | {"problems": shown}
        click.echo(json.dumps(found if dry else shown, ensure_ascii=False, indent=2))
    else:
        said = [*(f"note: {note}" for note in notes), *map(problem_line, problems), _summary(problems)]
        click.echo("\n".join([*said, *([_dry_summary(report)] if report else [])]))
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


def document_dry_run(data: bytes, file: str = "") -> tuple[DryRun, list[Problem]]:
    """Which edges of a topology without errors can fire, and a warning for each that never did."""
    from workbench.engine.dryrun import dry_run
    from workbench.engine.planning import plan_topology
    from workbench.topologies.importing import document_checked, original_problem

    catalogue = local_catalogue()
    checked, imported = document_checked(file, data, catalogue)
    if checked.spec is None or not hasattr(checked.spec, "nodes"):
        raise WorkbenchError("Only a topology can be run dry; an agent has no edges.")
    report = dry_run(plan_topology(checked.spec, catalogue))
    return report, [original_problem(problem, imported) for problem in report.problems()]


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


def _dry_summary(report: DryRun) -> str:
    every = report.every_edge()
    fired = sum(edge.fired for edge in every)
    edges = _count(len(every), "edge") or "no edges"
    runs, visits = _count(report.runs, "run"), _count(report.visits, "visit") or "no visits"
    return f"Dry run: {fired} of {edges} fired, in {runs} with {visits}."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}" if number else ""
