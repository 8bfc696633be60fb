"""`workbench dataset import | list | show`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from workbench.datasets.rows import MAX_BYTES, InvalidLines
from workbench.engine.errors import InvalidDocument, WorkbenchError
from workbench.home import setting_up

SHOWN = 20
"""So many bad lines are named; the rest is counted."""


@click.group()
def dataset() -> None:
    """Import, list and look at datasets."""
    database_ready()


def database_ready() -> None:
    """Django, and a database with its tables: the first command on an empty home makes them."""
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command
    from django.db import DatabaseError, connection
    from django.db.migrations.executor import MigrationExecutor

    try:
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            with setting_up(settings.WORKBENCH_HOME):
                call_command("migrate", verbosity=0, interactive=False)
    except DatabaseError as error:
        said = str(error).partition("\n")[0]
        raise WorkbenchError(f"The database can't be used: {said}. `workbench doctor` says what to do.") from error


@dataset.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", default="", help="The dataset's name; the file's name where absent.")
@click.option("--title", default="", help="A title for people.")
def dataset_import(file: Path, name: str, title: str) -> None:
    """Import FILE (.jsonl or .csv) as the dataset's next version: all of it, or nothing."""
    from workbench.datasets.reading import instances_read
    from workbench.datasets.services import dataset_name, version_add

    try:
        name = dataset_name(name or file.stem)
        version, created = version_add(name, instances_read(file_bytes(file), file.name), title=title, source=file.name)
    except InvalidDocument as error:
        complain(error)
        sys.exit(2)
    if created:
        click.echo(f"{version}: {version.count:,} instance{'' if version.count == 1 else 's'}.")
    else:
        click.echo(f"{version} holds exactly this already: there is no new version.")


@dataset.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def dataset_list(as_json: bool) -> None:
    """Every dataset with its newest version."""
    from workbench.datasets.selectors import datasets_listed

    rows = [
        {"name": each.name, "title": each.title, "version": each.number, "instances": each.instances}
        for each in datasets_listed()
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
    elif not rows:
        click.echo("There is no dataset yet. Import one: workbench dataset import FILE --name NAME")
    else:
        click.echo("\n".join(list_lines(rows)))


@dataset.command("show")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every instance.")
def dataset_show(name: str, as_json: bool) -> None:
    """The dataset NAME, or one version of it: NAME@2."""
    from workbench.datasets.selectors import dataset_version

    version = dataset_version(name)
    if as_json:
        click.echo(json.dumps(version_json(version), indent=2, ensure_ascii=False))
        return
    click.echo(f"{version}  {version.dataset.title}".rstrip())
    click.echo(f"{version.count:,} instances, hash {version.hash[:12]}, from {version.source or 'unknown'}")
    for instance in version.instances.all()[:10]:
        click.echo(f"  {instance.key}  {' '.join(instance.problem.split())[:80]}")
    if version.count > 10:
        click.echo(f"  … and {version.count - 10:,} more")


def list_lines(rows: list[dict[str, Any]]) -> list[str]:
    """The table for people."""
    width = max(len(row["name"]) for row in rows)
    return [
        f"{row['name']:<{width}}  version {row['version'] or '–':>3}  {row['instances'] or 0:>7,} instances"
        f"  {row['title']}".rstrip()
        for row in rows
    ]


def version_json(version: Any) -> dict[str, Any]:
    """A version with its instances, in the fields that an import takes."""
    return {
        "name": version.dataset.name,
        "version": version.number,
        "title": version.dataset.title,
        "hash": version.hash,
        "count": version.count,
        "source": version.source,
        "instances": [
            {
                "id": each.key,
                "problem": each.problem,
                "files": each.files,
                "reference": each.references,
                "metadata": each.metadata,
                "split": each.split,
            }
            for each in version.instances.all()
        ],
    }


def file_bytes(path: Path) -> bytes:
    """What the file holds, read no further than the limit."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise WorkbenchError(f"{path} can't be read: {(error.strerror or str(error)).lower()}.") from error


def complain(error: InvalidDocument) -> None:
    """The first bad lines, one below the other, and how many there are."""
    for problem in error.problems[:SHOWN]:
        click.echo(f"workbench: {problem.message} {problem.hint}".rstrip(), err=True)
    total = error.total if isinstance(error, InvalidLines) else len(error.problems)
    if total > SHOWN:
        click.echo(f"workbench: … and {total - SHOWN:,} more.", err=True)
    click.echo("workbench: nothing was imported.", err=True)
