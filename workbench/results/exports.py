"""The results table for other programs: one row per configuration, every column documented, unknown left empty."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

from workbench.experiments.models import Experiment
from workbench.results.table import ResultRow, ResultTable

Column = tuple[str, str, Callable[[ResultRow, ResultTable], Any]]

COLUMNS: list[Column] = [
    ("configuration_id", "The configuration's number in the database.", lambda row, _: row.configuration.pk),
    ("configuration", "Its label.", lambda row, _: row.configuration.label),
    ("topology", "The topology's name.", lambda row, _: row.configuration.topology),
    ("commit", "The topology's version: a commit of the Git repository.", lambda row, _: row.configuration.commit),
    ("metric", "What is measured, with how repetitions became one value.", lambda _, table: metric_name(table)),
    ("value", "The mean over instances; a pass rate is a share between 0 and 1.", lambda row, _: row.outcome.value),
    ("low", "Lower end of the 95 % interval.", lambda row, _: row.outcome.low),
    ("high", "Upper end of the 95 % interval.", lambda row, _: row.outcome.high),
    ("interval", "How the interval was made.", lambda row, _: row.outcome.interval),
    ("instances", "Instances that the value rests on.", lambda row, _: row.outcome.n),
    ("instances_all", "Instances of the experiment.", lambda row, _: row.outcome.instances),
    (
        "instances_repetitions_differ",
        "Instances whose repetitions got different values; empty without repetitions.",
        lambda row, _: row.spread.differing if row.spread else None,
    ),
    ("runs", "Runs of the configuration.", lambda row, _: row.spent.runs),
    ("runs_ended", "Of these, runs that have ended.", lambda row, _: row.spent.ended),
    ("runs_scored", "Of these, runs with a score.", lambda row, _: row.tally.scored),
    ("runs_passed", "Of these, runs that passed.", lambda row, _: row.tally.passed if row.tally.judged else None),
    ("not_scored", "Why the others have no score: kind=number, separated by blanks.", lambda row, _: excluded(row)),
    ("model_calls", "Calls of language models, failed ones too.", lambda row, _: row.spent.calls),
    ("input_tokens", "Sum of what calls told.", lambda row, _: row.spent.input_tokens),
    ("output_tokens", "Sum of what calls told.", lambda row, _: row.spent.output_tokens),
    ("calls_without_tokens", "Calls that told no tokens.", lambda row, _: row.spent.unknown_calls),
    ("cost_usd", "Sum of the priced calls, in US dollars.", lambda row, _: cost(row)),
    ("calls_without_price", "Calls whose price is unknown.", lambda row, _: row.spent.unpriced_calls),
    (
        "machine_usd_estimated",
        "What your own machines took, by the rates of the prices file; no part of cost_usd.",
        lambda row, _: None if row.spent.machine_usd is None else format(row.spent.machine_usd.normalize(), "f"),
    ),
    ("machine_wh_estimated", "The same in watt hours.", lambda row, _: row.spent.machine_wh),
    ("calls_cut", "Calls whose prompt the server seems to have cut.", lambda row, _: row.spent.truncated_calls),
    ("model_seconds", "Seconds that models took without loading, added up.", lambda row, _: row.spent.model_seconds),
    ("run_seconds", "Working seconds of the runs, added up.", lambda row, _: row.spent.seconds),
    ("failures", "Runs that did not succeed: kind=number, separated by blanks.", lambda row, _: failures(row)),
    (
        "on_pareto_front",
        "Whether none is at least as good and as cheap (by the chosen cost).",
        lambda row, _: row.on_front,
    ),
]


def metric_name(table: ResultTable) -> str | None:
    return table.metric.name if table.metric else None


def excluded(row: ResultRow) -> str:
    return " ".join(f"{one.kind}={one.number}" for one in row.tally.exclusions)


def failures(row: ResultRow) -> str:
    return " ".join(f"{one.status}{f':{one.code}' if one.code else ''}={one.number}" for one in row.failures)


def cost(row: ResultRow) -> str | None:
    """Exact, as text: money is no binary fraction."""
    money = row.spent.money if row.spent.money is not None else row.spent.cost_usd
    return None if money is None else format(money.normalize(), "f")


def table_rows(table: ResultTable) -> list[dict[str, Any]]:
    """A dict per configuration, in the order of the columns."""
    return [{name: get(row, table) for name, _, get in COLUMNS} for row in table.rows]


def table_csv(table: ResultTable) -> str:
    """The table as CSV. Text that a spreadsheet would take for a formula gets an apostrophe."""
    out = io.StringIO()
    writer = csv.DictWriter(out, [name for name, _, _ in COLUMNS])
    writer.writeheader()
    writer.writerows({key: harmless(value) for key, value in row.items()} for row in table_rows(table))
    return out.getvalue()


def harmless(value: Any) -> Any:
    """A label may begin with `=`; opened in a spreadsheet it must stay text."""
    return f"'{value}" if isinstance(value, str) and value[:1] in tuple("=+-@\t\r") else value


def table_json(experiment: Experiment, table: ResultTable) -> str:
    """The table as JSON, with what it is the table of and what its columns mean."""
    evaluation = table.evaluation
    return json.dumps(
        {
            "format": "workbench.results/1",
            "experiment": {"id": experiment.pk, "name": experiment.name, "question": experiment.question},
            "dataset": str(experiment.dataset_version),
            "evaluation": {
                "id": evaluation.pk,
                "evaluator": evaluation.evaluator,
                "version": evaluation.evaluator_version,
                "options": evaluation.options,
            }
            if evaluation
            else None,
            "choice": table.choice._asdict(),
            "summary": table.summary,
            "columns": {name: meaning for name, meaning, _ in COLUMNS},
            "rows": table_rows(table),
        },
        ensure_ascii=False,
        indent=2,
    )
