"""Replays: a run done again from its journal alone, by its own plan or by another version of its topology."""

from __future__ import annotations

from difflib import unified_diff
from typing import Any, NamedTuple

from workbench.engine.differences import Difference
from workbench.engine.errors import InvalidDocument, WorkbenchError
from workbench.engine.planning import RunPlan, plan_topology
from workbench.engine.recorded import Place
from workbench.engine.replay import Replayed, replay
from workbench.engine.validation import check_topology
from workbench.experiments.journal import INHERITED, batched, events_read
from workbench.experiments.models import Run
from workbench.experiments.stored import run_input, stored_plan
from workbench.experiments.text import storable, visible
from workbench.topologies.library import Library
from workbench.topologies.selectors import stored_topology

CHUNK = 500


class NoJournal(WorkbenchError):
    """A run whose journal no longer holds what a replay needs, or never did."""

    code = "no_journal"


class NewPlan(NamedTuple):
    """Another plan for a run, and the version of the topology that it is of (empty for a file)."""

    plan: RunPlan
    commit: str = ""
    blob: str = ""


class RunReplay(NamedTuple):
    """What a replay of a run came to, beside what is kept of the run. `ended`: its journal holds its end, so that there is
    a prediction to compare; not so where it still goes on, or was stopped while it waited or after its worker had died."""

    run: Run
    replayed: Replayed
    same_prediction: bool
    calls: int
    ended: bool

    @property
    def same(self) -> bool:
        """Whether it went as recorded, to the same prediction where there is one."""
        return self.replayed.same and (self.same_prediction or not self.ended)

    @property
    def first(self) -> Difference | None:
        """The first place where it would be another run."""
        return self.replayed.differences[0] if self.replayed.differences else None


class Recorded(NamedTuple):
    """The journal of a run. `given`: the visits that it has from its parent, as a fork."""

    events: list[Any]
    given: frozenset[Place]


def run_recorded(run: Run) -> Recorded:
    """All events of a run, in order. Raises `NoJournal`."""
    if run.pruned_at is not None:
        raise NoJournal(
            f"The journal of run {run.pk} was pruned: what its calls asked and answered is not kept any more."
        )
    events, given = list[Any](), set[Place]()
    rows = run.events.order_by("sequence").values_list("attempt", "data")
    for chunk in batched(rows.iterator(chunk_size=CHUNK), CHUNK):
        read = events_read([data for _, data in chunk])
        events += read
        ends = (event for event, (attempt, _) in zip(read, chunk, strict=True) if attempt == INHERITED)
        given |= {Place.of(event) for event in ends if event.kind == "visit_ended"}
    if not events:
        raise NoJournal(f"Run {run.pk} has not begun: there is nothing to take from it.")
    return Recorded(events, frozenset(given))


def run_replay(run: Run, new: NewPlan | None = None) -> RunReplay:
    """Replay a run by its own plan, or by another. Raises `NoJournal`."""
    plan, recorded = stored_plan(run.plan_id), run_recorded(run)
    replayed = replay(
        plan if new is None else new.plan,
        run_input(run),
        recorded.events,
        recorded_plan=plan,
        run_id=str(run.pk),
        repetition=run.repetition,
        trusted=lambda place: place in recorded.given,
    )
    calls = sum(event.kind in ("model_called", "tool_called") for event in recorded.events)
    kinds = (event.kind for event in reversed(recorded.events))
    ended = next((kind for kind in kinds if kind in ("run_started", "run_ended")), "") == "run_ended"
    return RunReplay(run, replayed, same_prediction(run, replayed), calls, ended)


def same_prediction(run: Run, replayed: Replayed) -> bool:
    """Whether what came out is what is kept of the run, byte for byte."""
    outputs = {node: storable(text) for node, text in replayed.outputs.items()}
    output = None if replayed.output is None else storable(replayed.output)
    return (output, outputs, replayed.status) == (run.output, run.outputs, run.status)


SIGNS = {"+": "add", "-": "remove", "@": "place"}
MOST_LINES = 400


def difference_lines(found: Difference) -> list[tuple[str, str]]:
    """Both sides of a difference, line by line: kind and text."""
    was, now = found.recorded.splitlines(), found.now.splitlines()
    lines = list(unified_diff(was, now, "recorded", "now", lineterm="", n=3))[2:]
    shown = [(SIGNS.get(line[:1], "same"), visible(line)) for line in lines[:MOST_LINES]]
    left = len(lines) - MOST_LINES
    return [*shown, ("place", f"… {left:,} more lines")] if left > 0 else shown


def plan_of_version(run: Run, reference: str) -> NewPlan:
    """The plan of `name` (its newest version) or `name@commit`, with what the run's configuration changes in it. Raises
    `InvalidDocument`, or another `WorkbenchError` where there is no such topology."""
    name, _, commit = reference.strip().partition("@")
    stored = stored_topology(name or run.plan.topology, commit or None)
    return NewPlan(plan_of_text(run, stored.text), stored.commit, stored.blob)


def plan_of_text(run: Run, text: str | bytes) -> RunPlan:
    """The plan of a topology's text for this run. Raises `InvalidDocument`."""
    catalogue = Library()
    checked = check_topology(text, catalogue)
    if checked.spec is None:
        raise InvalidDocument(checked.problems)
    configuration, experiment, recorded = run.configuration, run.experiment, stored_plan(run.plan_id)
    spec, models = checked.spec, recorded.models()
    if spec.defaults.model is None and len(models) == 1:  # it was named on the command line, or by a script
        spec = spec.model_copy(update={"defaults": spec.defaults.model_copy(update={"model": next(iter(models))})})
    plan = plan_topology(
        spec,
        catalogue,
        overrides=configuration.overrides if configuration else {},
        limits=experiment.limits if experiment else {},
    )
    asked = recorded.windows()
    return plan.with_windows({model: max(windows) for model, windows in asked.items() if windows != {0}})
