"""The command line: `workbench COMMAND`. Each command lives in the app it belongs to and is imported when called."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from typing import cast

import click

COMMANDS = {
    "up": "workbench.supervisor.command:up",
    "doctor": "workbench.catalog.commands:doctor",
    "check": "workbench.topologies.commands:check",
    "import": "workbench.topologies.importing_command:import_",
    "run": "workbench.experiments.commands:run",
    "replay": "workbench.experiments.replay_command:replay",
    "fork": "workbench.experiments.fork_command:fork",
    "experiment": "workbench.results.commands:experiment",
    "dataset": "workbench.datasets.commands:dataset",
    "score": "workbench.evaluations.commands:score",
    "export": "workbench.results.export_command:export",
    "prune": "workbench.experiments.prune_command:prune",
    "schema": "workbench.experiments.schema_command:schema",
    "bench": "workbench.bench.command:bench",
}


DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS)


class LazyGroup(click.Group):
    """Imports a command's module when that command is asked for, so that `--help` and small commands stay quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        return cast(click.Command, getattr(importlib.import_module(module), attribute))


@click.group(cls=LazyGroup)
@click.version_option(package_name="workbench", message="workbench %(version)s")
def workbench() -> None:
    """Model topologies of agents, run them, judge them, compare outcome against cost."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workbench.settings")


def main() -> None:
    """The entry point: expected failures are a sentence and exit code 2, never a traceback."""
    from django.core.exceptions import ImproperlyConfigured

    from workbench.engine.errors import WorkbenchError

    try:
        workbench()
    except (WorkbenchError, ImproperlyConfigured) as error:
        click.echo(f"workbench: {error}", err=True)
        sys.exit(2)
    except OSError as error:
        if error.errno not in DISK_ERRORS:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left in the buffer would fail once more at the exit
        click.echo(f"workbench: Nothing more can be written ({error.strerror}). Free some space.", err=True)
        sys.exit(2)
    finally:
        database_leave()


def database_leave() -> None:
    """Say goodbye to a database server, if the command can have talked to one."""
    registry = sys.modules.get("django.apps")
    if registry is not None and registry.apps.ready:
        sys.modules["django.db"].connections.close_all()
