"""`workbench schema`: the shapes of what the workbench writes, for other programs."""

from __future__ import annotations

import json

import click


@click.group()
def schema() -> None:
    """JSON Schemas of the workbench's formats."""


@schema.command()
def event() -> None:
    """The events of a run's journal (workbench.event/1), as `workbench export --events` writes them."""
    from workbench.engine.events import event_schema

    click.echo(json.dumps(event_schema(), indent=2))
