"""`workbench experiment run`: start an experiment from a file on a running workbench, watch it, print what came out."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from workbench.engine.errors import InvalidDocument, Problem, WorkbenchError, has_errors

if TYPE_CHECKING:
    from workbench.experiments.models import Experiment

POLL_S = 0.5
HINT_AFTER_S = 15.0
UNFINISHED = 3


@click.group()
def experiment() -> None:
    """Experiments: configurations × instances × repetitions under one question."""


@experiment.command()
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, and nothing else.")
@click.option("--no-wait", is_flag=True, help="Start it, print its number, and leave.")
def run(file: str, as_json: bool, no_wait: bool) -> None:
    """Run the experiment that FILE describes (- reads standard input). It needs a running `workbench up`.

    Exit code 0: it ran to its end; 1: the file is not valid; 2: nothing succeeded, or it could not be started;
    3: it was stopped, or is left to go on by itself.
    """
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workbench.settings")
    django.setup()
    try:
        started = experiment_begin(file)
        if not no_wait:
            watch(started, quiet=as_json)
        report = experiment_report(started)
    except InvalidDocument as error:
        report = {"status": "invalid", "problems": [problem._asdict() for problem in error.problems]}
    except WorkbenchError as error:
        if not as_json:
            raise
        report = {"status": "failed", "reason": str(error)}
    click.echo(
        json.dumps(report, indent=2, default=str) if as_json else readable(report),
        err="problems" in report and not as_json,
    )
    sys.exit(exit_code(report, no_wait))


def exit_code(report: dict[str, Any], no_wait: bool) -> int:
    """What the shell is told."""
    if report["status"] in ("invalid", "failed"):
        return 1 if report["status"] == "invalid" else 2
    if no_wait:
        return 0
    if report["status"] != "finished":
        return UNFINISHED
    judged = all(one["status"] == "finished" for one in report["evaluations"])
    return 0 if report["runs"].get("succeeded") and judged else 2


def experiment_begin(file: str) -> Experiment:
    """Read, check and start; a file that can't run leaves nothing behind."""
    from django.db import transaction

    from workbench.datasets.selectors import UnknownDataset, dataset_version
    from workbench.experiments.drafting import Draft
    from workbench.experiments.services import experiment_create, experiment_start
    from workbench.experiments.spec import experiment_read
    from workbench.experiments.tickets import queue_check
    from workbench.topologies.commands import document_bytes

    spec = experiment_read(document_bytes(file))
    queue_check()
    try:
        dataset_version(spec.dataset)
    except UnknownDataset as error:
        raise InvalidDocument([Problem("error", "unknown_dataset", "/dataset", str(error))]) from error
    with transaction.atomic():
        made = experiment_create(spec, author="command line")
        problems = Draft(made).problems
        if has_errors(problems):
            raise InvalidDocument(problems)
    experiment_start(made)
    return made


def watch(started: Experiment, *, quiet: bool) -> None:
    """Wait for runs and evaluations, saying how far they are; Ctrl-C leaves them to go on."""
    began, said = time.monotonic(), ""
    try:
        while not is_over(started):
            line = progress_line(started, time.monotonic() - began)
            if line != said and not quiet:
                click.echo(line, err=True)
                said = line
            time.sleep(POLL_S)
    except KeyboardInterrupt:
        click.echo(f"It goes on without you: experiment {started.pk}.", err=True)


def is_over(started: Experiment) -> bool:
    """Whether all has ended, the evaluations that it asked for too."""
    started.refresh_from_db()
    if started.status == "stopped":
        return True
    if started.status != "finished":
        return False
    evaluations = started.evaluations.filter(created_at__gte=started.ended_at)
    ended = evaluations.filter(status__in=("finished", "failed")).count()
    return ended >= len(started.evaluators)


def progress_line(started: Experiment, seconds: float) -> str:
    """How far it is, in a line."""
    from workbench.experiments.progress import experiment_progress, together

    whole = together(experiment_progress(started))
    if whole.ended == whole.total:
        return f"experiment {started.pk}: all {whole.total} runs have ended; judging"
    if whole.counts["queued"] == whole.total and seconds > HINT_AFTER_S:
        return f"experiment {started.pk}: no worker has taken a run yet. Is `workbench up` running?"
    counts = ", ".join(f"{it.number} {it.word.lower()}" for it in whole.statuses)
    return f"experiment {started.pk}: {counts}"


def experiment_report(started: Experiment) -> dict[str, Any]:
    """What `--json` prints."""
    from workbench.experiments.progress import experiment_progress, together

    started.refresh_from_db()
    whole = together(experiment_progress(started))
    return {
        "experiment_id": started.pk,
        "name": started.name,
        "status": started.status,
        "runs": {status: number for status, number in whole.counts.items() if number},
        "evaluations": [evaluation_report(started, one) for one in started.evaluations.order_by("pk")],
    }


def evaluation_report(started: Experiment, evaluation: Any) -> dict[str, Any]:
    """One evaluation with a row for each configuration."""
    from workbench.results.exports import table_rows
    from workbench.results.table import Choice, result_table

    rows = table_rows(result_table(started, evaluation, Choice())) if evaluation.status == "finished" else []
    return {"evaluator": evaluation.evaluator, "status": evaluation.status, "reason": evaluation.reason, "rows": rows}


def readable(report: dict[str, Any]) -> str:
    """The report for people."""
    if "problems" in report:
        return "\n".join(f"{it['severity']}: {it['message']} {it['hint']}".rstrip() for it in report["problems"])
    counts = ", ".join(f"{number} {status}" for status, number in report["runs"].items())
    lines = [f"experiment {report['experiment_id']} ({report['status']}): {counts}"]
    for evaluation in report["evaluations"]:
        lines += ["", *evaluation_lines(evaluation)]
    return "\n".join(lines)


def evaluation_lines(evaluation: dict[str, Any]) -> list[str]:
    """A table of one evaluation."""
    if evaluation["status"] != "finished":
        return [f"{evaluation['evaluator']}: {evaluation['status']}. {evaluation['reason']}".rstrip()]
    head = (
        "configuration",
        evaluation["rows"][0]["metric"] or "metric",
        "95 % interval",
        "n",
        "tokens in",
        "out",
        "cost",
    )
    rows = [head, *map(row_cells, evaluation["rows"])]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def row_cells(row: dict[str, Any]) -> tuple[str, ...]:
    """A configuration's line."""
    interval = "–" if row["low"] is None else f"{row['low']:.3f} to {row['high']:.3f}"
    cost = "unknown" if row["calls_without_price"] or row["cost_usd"] is None else f"${row['cost_usd']}"
    return (
        row["configuration"], number(row["value"]), interval, str(row["instances"]),
        number(row["input_tokens"]), number(row["output_tokens"]), cost,
    )  # fmt: skip


def number(value: Any) -> str:
    """A number with the digits that matter; unknown is a word."""
    if value is None:
        return "unknown"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"
