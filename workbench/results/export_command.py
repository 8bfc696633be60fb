"""`workbench export`: an experiment as files for other programs."""

from __future__ import annotations

import os
from pathlib import Path

import click


@click.command()
@click.argument("experiment", type=click.IntRange(min=1))
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder to write to; `experiment-NUMBER` by default.",
)
@click.option("--events", is_flag=True, help="Everything that happened in the runs, too: prompts, replies, tools.")
def export(experiment: int, out: Path | None, events: bool) -> None:
    """Write runs and scores of the EXPERIMENT with that number as JSON Lines and CSV.

    What the columns mean stands in experiment.json beside them. Unknown is null, in CSV empty.
    """
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workbench.settings")
    django.setup()
    from django.db import DatabaseError

    from workbench.engine.errors import WorkbenchError
    from workbench.experiments.models import Experiment
    from workbench.results.export_files import experiment_export

    folder = out or Path(f"experiment-{experiment}")
    try:
        found = Experiment.objects.select_related("dataset_version__dataset").filter(pk=experiment).first()
        if found is None:
            raise WorkbenchError(f"There is no experiment {experiment}. The page Experiments lists them.")
        counts = experiment_export(found, folder, events=events)
    except DatabaseError as error:
        raise WorkbenchError(f"The database can’t be read ({error}). Is this the home of a workbench?") from error
    click.echo(f"{folder}: " + ", ".join(f"{number:,} {name}" for name, number in counts.items()))
