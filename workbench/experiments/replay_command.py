"""`workbench replay`: a run done again from its journal alone."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import click

from workbench.engine.errors import InvalidDocument, WorkbenchError

if TYPE_CHECKING:
    from workbench.experiments.models import Run
    from workbench.experiments.replaying import NewPlan, RunReplay

SHOWN = 40
"""Lines of a difference that are printed."""


@click.command()
@click.argument("run", type=click.IntRange(min=1))
@click.option(
    "--topology",
    metavar="FILE|NAME[@COMMIT]",
    help="Replay by this topology: where would the run have gone another way?",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, and nothing else.")
def replay(run: int, topology: str | None, as_json: bool) -> None:
    """Do RUN again from its journal alone: no model is asked, no tool is called.

    Exit code 0: it went as recorded, to the same prediction; 1: the topology is not valid; 3: it would be another run.
    """
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workbench.settings")
    django.setup()
    try:
        report = replay_report(run, topology)
    except InvalidDocument as error:
        report = {"problems": [problem._asdict() for problem in error.problems]}
    click.echo(json.dumps(report, indent=2) if as_json else readable(report), err="problems" in report and not as_json)
    sys.exit(1 if "problems" in report else 0 if report["same"] else 3)


def replay_report(number: int, topology: str | None) -> dict[str, Any]:
    """What `--json` prints. Raises `InvalidDocument`, `WorkbenchError`."""
    from workbench.experiments.replaying import run_replay

    run = run_named(number)
    return report(run_replay(run, None if topology is None else new_plan(run, topology)))


def run_named(number: int) -> Run:
    """The run of that number. Raises `WorkbenchError`."""
    from django.db import DatabaseError

    from workbench.experiments.models import Run

    try:
        found = Run.objects.select_related("configuration", "experiment", "instance", "plan").filter(pk=number).first()
    except DatabaseError as error:
        raise WorkbenchError(f"The database can’t be read ({error}). Is this the home of a workbench?") from error
    if found is None:
        raise WorkbenchError(f"There is no run {number}. The page Runs lists them.")
    return found


def new_plan(run: Run, topology: str) -> NewPlan:
    """The plan of a file, if there is one of that name, else of a topology of the workbench."""
    from workbench.experiments.replaying import NewPlan, plan_of_text, plan_of_version
    from workbench.topologies.commands import document_bytes

    if topology == "-" or os.path.exists(topology):
        return NewPlan(plan_of_text(run, document_bytes(topology)))
    return plan_of_version(run, topology)


def report(done: RunReplay) -> dict[str, Any]:
    """A replay as JSON."""
    replayed = done.replayed
    return {
        "run_id": done.run.pk,
        "same": done.same,
        "same_prediction": done.same_prediction,
        "status": replayed.status,
        "output": replayed.output,
        "outputs": replayed.outputs,
        "visits_taken": len(replayed.taken),
        "calls_recorded": done.calls,
        "visits_open": [{"node": place.full_node, "visit": place.visit} for place in replayed.open],
        "differences": [
            {
                "kind": found.kind,
                "node": found.place.full_node if found.place else None,
                "visit": found.place.visit if found.place else None,
                "unit": found.unit,
                "call": found.call,
                "text": found.text,
                "recorded": found.recorded,
                "now": found.now,
            }
            for found in replayed.differences
        ],
    }


def readable(report: dict[str, Any]) -> str:
    """The report for people."""
    if "problems" in report:
        lines = [f"{it['severity']}: {it['path']} {it['message']} {it['hint']}".rstrip() for it in report["problems"]]
        return "\n".join(lines)
    if report["same"] and not report["same_prediction"]:
        return f"run {report['run_id']}: as far as it has come, every visit is as recorded; nobody was asked."
    if report["same"]:
        took = f"{report['visits_taken']:,} visits and {report['calls_recorded']:,} calls taken from its journal"
        return f"run {report['run_id']}: the same prediction, byte for byte; {took}, nobody was asked."
    if not report["differences"]:
        return f"run {report['run_id']}: every visit is as recorded, but the prediction that is kept is another."
    first = report["differences"][0]
    return "\n".join([f"run {report['run_id']} would go another way: {first['text']}", *sides(first)])


def sides(first: dict[str, Any]) -> list[str]:
    """Both sides of a difference: `-` is recorded, `+` would be now."""
    from workbench.engine.differences import Difference
    from workbench.experiments.replaying import difference_lines

    lines = [line for _, line in difference_lines(Difference("result", None, "", first["recorded"], first["now"]))]
    return lines[:SHOWN] + ([f"… {len(lines) - SHOWN} more lines"] if len(lines) > SHOWN else [])
