"""What an export says of runs, scores and events: the columns of each, with what they mean. Unknown is null, never 0."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

from workbench.experiments.journal import event_json
from workbench.experiments.models import Run

Column = tuple[str, str, Callable[[Any], Any]]


def moment(value: datetime | None) -> str | None:
    """ISO 8601, UTC."""
    return None if value is None else value.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def money(value: Decimal | None) -> str | None:
    """Exact, as text: money is no binary fraction."""
    return None if value is None else format(value.normalize(), "f")


def whole_event(row: Any) -> str:
    """The event as JSON text, with all of its parts."""
    return event_json(row.data)


def of(name: str) -> Callable[[Any], Any]:
    """The field of that name, as it is stored."""
    return lambda row: getattr(row, name)


def run_columns() -> list[Column]:
    """One row per run, whatever became of it. Tables are joined on `run_id`."""
    return [
        ("run_id", "The run's number in the database.", of("pk")),
        ("configuration_id", "The configuration's number in the database.", of("configuration_id")),
        ("configuration", "Its label.", lambda run: run.configuration.label),
        ("topology", "The topology's name.", lambda run: run.plan.topology),
        ("commit", "The topology's version: a commit of the Git repository.", lambda run: run.plan.commit),
        ("plan_hash", "SHA-256 of the plan that was run.", lambda run: run.plan.hash),
        ("instance", "The instance's id in its dataset.", lambda run: run.instance.key),
        ("repetition", "From 1.", of("repetition")),
        ("parent_run_id", "The run that this one is a fork of; null where it is none.", of("parent_id")),
        ("fork_node", "The node of the visit at which a fork left its parent.", of("fork_node")),
        ("fork_visit", "The number of that visit; 0 where the run is no fork.", of("fork_visit")),
        ("status", "One of " + ", ".join(Run.Status.values) + ".", of("status")),
        ("code", "The kind of failure; empty where there is none.", of("code")),
        ("reason", "The failure as a sentence.", of("reason")),
        ("output", "The prediction; null where there is none.", of("output")),
        ("partial", "Whether the prediction was cut short.", of("partial")),
        ("outputs", "The last output of each end node: an object, in CSV as JSON text.", of("outputs")),
        ("attempts", "How often a worker began or went on with it.", of("attempt")),
        ("queued_at", "When it was last put into the queue (ISO 8601, UTC).", lambda run: moment(run.queued_at)),
        ("started_at", "When its first attempt began.", lambda run: moment(run.started_at)),
        ("ended_at", "When it ended.", lambda run: moment(run.ended_at)),
        ("visits", "Visits of nodes that ended.", of("visits")),
        ("model_calls", "Calls of language models, failed ones too.", of("model_calls")),
        ("tool_calls", "Calls of tools.", of("tool_calls")),
        ("input_tokens", "Sum of what calls told; null where none told.", of("input_tokens")),
        ("output_tokens", "Sum of what calls told; null where none told.", of("output_tokens")),
        ("calls_without_tokens", "Calls that told no tokens.", of("unknown_usage_calls")),
        ("cost_usd", "Exact sum of the priced calls, as text; null where none has a price.", run_cost),
        ("calls_without_price", "Calls whose price is unknown.", of("unpriced_calls")),
        ("calls_cut", "Calls whose prompt the server seems to have cut.", of("truncated_calls")),
        ("compute_seconds", "Seconds of computing that servers told.", of("compute_seconds")),
        ("machine_usd_estimated", "Of your own machines, no part of cost_usd.", lambda run: money(run.machine_usd)),
        ("machine_wh_estimated", "The same in watt hours.", of("machine_wh")),
        ("model_seconds", "Seconds that models took without loading, added up.", of("model_seconds")),
        ("seconds", "Working seconds over all attempts.", of("seconds")),
    ]


def run_cost(run: Run) -> str | None:
    """What the priced calls cost."""
    return money(run.cost_usd)


def score_columns() -> list[Column]:
    """One row per run and evaluation."""
    return [
        ("evaluation_id", "The evaluation's number in the database.", of("evaluation_id")),
        ("evaluator", "The evaluator's name.", lambda score: score.evaluation.evaluator),
        ("evaluator_version", "The version it had then.", lambda score: score.evaluation.evaluator_version),
        ("run_id", "The run that was judged.", of("run_id")),
        ("configuration_id", "Its configuration.", lambda score: score.run.configuration_id),
        ("instance", "Its instance.", lambda score: score.run.instance.key),
        ("repetition", "Its repetition.", lambda score: score.run.repetition),
        ("value", "The score; null where the run was not scored, and `details` says why.", of("value")),
        ("passed", "Whether it passed; null where the evaluator does not say.", of("passed")),
        ("details", "What else the evaluator told: an object, in CSV as JSON text.", of("details")),
    ]


def event_columns() -> list[Column]:
    """One row per event, in the order of each run's journal."""
    return [
        ("run_id", "The run it happened in.", of("run_id")),
        ("sequence", "Its place in the run's journal, from 1.", of("sequence")),
        ("attempt", "The attempt that wrote it; 0 is what a fork has from its parent.", of("attempt")),
        ("kind", "Its kind, as in `event`.", of("kind")),
        ("node", "The node; empty where it is about the whole run.", of("node")),
        ("visit", "The node's visit, from 1; 0 where it is about the whole run.", of("visit")),
        ("at", "Seconds since the epoch.", of("at")),
        ("status", "Of calls and ended visits.", of("status")),
        ("seconds", "How long it took.", of("seconds")),
        ("input_tokens", "Of a model call; null where unknown.", of("input_tokens")),
        ("output_tokens", "Of a model call; null where unknown.", of("output_tokens")),
        ("event", "The whole event (workbench.event/1): an object, in CSV as JSON text.", whole_event),
    ]
