"""`workbench import`: a document of another system as a topology, with all that changed on the way."""

from __future__ import annotations

import json
import sys

import click

from workbench.engine.documents import canonical_json
from workbench.engine.errors import has_errors
from workbench.topologies.commands import document_bytes, local_catalogue


@click.command("import")
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help='Print {"topology", "notes", "problems"} as JSON.')
def import_(file: str, as_json: bool) -> None:
    """Print the topology in FILE (- reads standard input), which may be DevAll YAML, OpenDraco JSON or our own.

    Without --json the topology goes to standard output, notes and problems to standard error.
    Exit code 0: no errors, perhaps notes and warnings; 1: errors; 2: the file can't be read.
    """
    from workbench.topologies.commands import problem_line
    from workbench.topologies.importing import document_checked

    checked, imported = document_checked(file, document_bytes(file), local_catalogue())
    if as_json:
        problems = [problem._asdict() for problem in checked.problems]
        found = {"topology": imported.topology, "notes": imported.notes, "problems": problems}
        click.echo(json.dumps(found, indent=2))
    else:
        said = [*(f"note: {note}" for note in imported.notes), *map(problem_line, checked.problems)]
        click.echo("\n".join(said) if said else "Nothing was changed.", err=True)
        if imported.topology is not None and not has_errors(checked.problems):
            click.echo(canonical_json(imported.topology), nl=False)
    sys.exit(1 if has_errors(checked.problems) else 0)
