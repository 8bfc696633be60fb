"""Writes an experiment into files for other programs: JSON Lines and CSV side by side, and what the columns mean."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from workbench.engine.errors import WorkbenchError
from workbench.evaluations.models import Evaluation, RunScore
from workbench.experiments.models import Experiment, Run, RunEvent
from workbench.results.export_columns import Column, event_columns, moment, run_columns, score_columns
from workbench.results.exports import harmless

FORMAT = "workbench.export/1"
CHUNK = 500


class CannotWrite(WorkbenchError):
    """The files can't be written."""

    code = "cannot_write"


class Table(NamedTuple):
    """What one pair of files holds. Rows come from the database in chunks: an experiment need not fit into memory."""

    name: str
    columns: list[Column]
    rows: Iterable[Any]


def experiment_export(experiment: Experiment, folder: Path, *, events: bool = False) -> dict[str, int]:
    """Write all files; the number of rows of each table. Each file is whole or not there. Raises `CannotWrite`."""
    tables = experiment_tables(experiment, events=events)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        counts = {table.name: table_write(table, folder) for table in tables}
        with whole(folder / "experiment.json") as file:
            json.dump(experiment_facts(experiment, tables, counts), file, ensure_ascii=False, indent=2)
    except OSError as error:
        raise CannotWrite(
            f"The export can’t be written to {folder} ({(error.strerror or str(error)).lower()})."
        ) from error
    return counts


def experiment_tables(experiment: Experiment, *, events: bool) -> list[Table]:
    """Runs and scores, and on request events."""
    runs = Run.objects.filter(experiment=experiment).select_related("configuration", "plan", "instance").order_by("pk")
    scores = RunScore.objects.filter(evaluation__experiment=experiment).order_by("evaluation_id", "run_id")
    tables = [
        Table("runs", run_columns(), runs.iterator(CHUNK)),
        Table("scores", score_columns(), scores.select_related("evaluation", "run__instance").iterator(CHUNK)),
    ]
    if events:
        told = RunEvent.objects.filter(run__experiment=experiment).order_by("run_id", "sequence")
        tables.append(Table("events", event_columns(), told.iterator(CHUNK)))
    return tables


def table_write(table: Table, folder: Path) -> int:
    """Both files of a table; the number of its rows."""
    count = 0
    with ExitStack() as stack:
        lines = stack.enter_context(whole(folder / f"{table.name}.jsonl"))
        cells = csv.writer(stack.enter_context(whole(folder / f"{table.name}.csv")))
        cells.writerow([name for name, _, _ in table.columns])
        for count, row in enumerate(table.rows, 1):  # noqa: B007 (the count is the answer)
            values = [get(row) for _, _, get in table.columns]
            lines.write(json_line(table, values) + "\n")
            cells.writerow([cell(value) for value in values])
    return count


def json_line(table: Table, values: list[Any]) -> str:
    """A row as an object. An event is JSON already, in ASCII, and goes in as it stands."""
    pairs = zip((name for name, _, _ in table.columns), values, strict=True)
    members = (
        f"{json.dumps(name)}: {value if name == 'event' else json.dumps(value, ensure_ascii=False)}"
        for name, value in pairs
    )
    return "{" + ", ".join(members) + "}"


def cell(value: Any) -> Any:
    """A value of CSV: objects as JSON text; text that a spreadsheet would take for a formula gets an apostrophe."""
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return "true" if value else "false"
    return harmless(value)


@contextmanager
def whole(path: Path) -> Iterator[TextIO]:
    """A text file that takes its place once all of it is written."""
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("w", encoding="utf-8", newline="") as file:
            yield file
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def experiment_facts(experiment: Experiment, tables: list[Table], counts: dict[str, int]) -> dict[str, Any]:
    """What the tables are the tables of, and what their columns mean."""
    return {
        "format": FORMAT,
        "workbench": metadata.version("workbench"),
        "experiment": {
            "id": experiment.pk,
            "name": experiment.name,
            "question": experiment.question,
            "status": experiment.status,
            "dataset": str(experiment.dataset_version),
            "dataset_hash": experiment.dataset_version.hash,
            "instances": experiment.instance_keys,
            "repetitions": experiment.repetitions,
            "limits": experiment.limits,
            "started_at": moment(experiment.started_at),
            "ended_at": moment(experiment.ended_at),
        },
        "configurations": [
            {
                "id": one.pk,
                "label": one.label,
                "topology": one.topology,
                "commit": one.commit,
                "overrides": one.overrides,
                "plan": one.plan and one.plan.data,
            }
            for one in experiment.configurations.select_related("plan")
        ],
        "evaluations": [evaluation_facts(one) for one in experiment.evaluations.order_by("pk")],
        "tables": {
            table.name: {
                "rows": counts[table.name],
                "columns": {name: meaning for name, meaning, _ in table.columns},
            }
            for table in tables
        },
    }


def evaluation_facts(evaluation: Evaluation) -> dict[str, Any]:
    """Which evaluator judged, and what it summarised."""
    return {
        "id": evaluation.pk,
        "evaluator": evaluation.evaluator,
        "version": evaluation.evaluator_version,
        "options": evaluation.options,
        "include_partial": evaluation.include_partial,
        "status": evaluation.status,
        "metrics": evaluation.metrics,
    }
