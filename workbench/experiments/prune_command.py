"""`workbench prune`: room for new runs."""

from __future__ import annotations

import json
import os
import re
from datetime import timedelta

import click

from workbench.engine.errors import WorkbenchError

UNITS = {"h": 1, "d": 24, "w": 24 * 7}


@click.command()
@click.option(
    "--older-than", default="90d", show_default=True, metavar="AGE", help="Of runs that ended before: 30d, 12h."
)
@click.option("--dry-run", "dry", is_flag=True, help="Only say what would be deleted.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def prune(older_than: str, dry: bool, as_json: bool) -> None:
    """Delete what takes room of old runs: workspaces, the bodies of calls, long texts. Never predictions, scores, totals.

    A pruned run can't be replayed or forked any more.
    """
    import django

    age = age_of(older_than)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workbench.settings")
    django.setup()
    from django.db import DatabaseError
    from django.utils import timezone

    from workbench.experiments import pruning

    before = timezone.now() - age
    try:
        found = pruning.prunable(before)
        done = None if dry else pruning.prune(before)
    except DatabaseError as error:
        raise WorkbenchError(f"The database can’t be read ({error}). Is this the home of a workbench?") from error
    if as_json:
        click.echo(
            json.dumps(found._asdict() | {"deleted": not dry} | ({} if done is None else {"events": done.events}))
        )
        return
    says = "would be pruned" if dry else "were pruned"
    click.echo(
        f"{found.runs:,} runs {says}: {size(found.event_bytes)} of events (their sums stay), "
        f"{found.payloads:,} payloads of {size(found.payload_bytes)}, "
        f"{found.workspaces:,} workspaces of {size(found.workspace_bytes)}."
    )


def age_of(text: str) -> timedelta:
    """`90d` as a duration. Raises `WorkbenchError`."""
    found = re.fullmatch(r"(\d{1,6})([hdw])", text.strip())
    if found is None:
        raise WorkbenchError(f"--older-than {text!r} is no age: write 12h, 90d or 8w.")
    return timedelta(hours=int(found[1]) * UNITS[found[2]])


def size(number: float) -> str:
    """Bytes for people."""
    for unit in ("bytes", "KB", "MB"):
        if number < 1000:
            return f"{number:,.0f} {unit}" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"
