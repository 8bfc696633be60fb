"""Trying a draft: one run of it by the workers, like any other, that belongs to no experiment and so to no result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from django.db import transaction

from workbench.engine.errors import InvalidDocument, WorkbenchError
from workbench.engine.planning import RunPlan, plan_topology
from workbench.engine.validation import check_document
from workbench.experiments import run_selectors, tickets
from workbench.experiments.journal import events_read
from workbench.experiments.models import Run
from workbench.experiments.single import instance_named
from workbench.experiments.starting import plan_store
from workbench.experiments.text import storable
from workbench.topologies.drafts import draft_step, step_state
from workbench.topologies.library import Library
from workbench.topologies.models import TopologyDraft

Json = Any
SHOWN = 8
VISITS = 100
LONGEST = 20_000


class Given(NamedTuple):
    """What the trial starts from: an instance `dataset/id`, or a typed problem; `model` overrides the draft's models."""

    instance: str = ""
    text: str = ""
    model: str = ""


def trial_start(draft: TopologyDraft, given: Given) -> Run:
    """Queue a run of the draft as it stands. Raises `InvalidDocument`, `WorkbenchError`, `QueueAway`."""
    if not given.instance and not given.text.strip():
        raise WorkbenchError("Say what is to be solved: choose an instance, or type something.")
    plan = trial_plan(draft, given.model)
    instance = instance_named(given.instance) if given.instance else None
    tickets.queue_check()
    with transaction.atomic():
        run = Run.objects.create(
            plan=plan_store(plan), instance=instance, input="" if instance else storable(given.text)
        )
        transaction.on_commit(lambda: tickets.send_or_log([(tickets.RUN, (run.pk,))]))
    return run


def trial_plan(draft: TopologyDraft, model: str = "") -> RunPlan:
    """The plan of the draft as it stands."""
    state, library = step_state(draft_step(draft)), Library()
    if state.broken is not None:
        raise WorkbenchError(f"The text of the draft can't be read. {state.broken.message}")
    checked = check_document(state.document, library)
    if checked.spec is None:
        raise InvalidDocument(checked.problems)
    return plan_topology(checked.spec, library, overrides={"model": model} if model else {})


def trials_listed(name: str) -> list[Run]:
    """The newest runs of a topology that belong to no experiment."""
    return list(Run.objects.filter(plan__topology=name, experiment=None).order_by("-pk")[:SHOWN])


def trial_lights(run: Run, keys: list[str]) -> dict[str, Json]:
    """How each node stands and how often each edge fired, as the canvas lights them up. `keys` name the edges."""
    nodes = run_selectors.run_nodes(run)
    states = run_selectors.node_states(run, nodes)
    fired: Mapping[int, int] = run_selectors.run_edges(run)
    return {
        "nodes": {name: state._asdict() for name, state in states.items()},
        "edges": {keys[number]: count for number, count in fired.items() if number < len(keys)},
    }


class Said(NamedTuple):
    """A visit that ended, with what came of it."""

    node: str
    visit: int
    status: str
    text: str
    seconds: float


def trial_said(run: Run) -> list[Said]:
    """The visits that have ended, in order, each with its output; very long ones are cut."""
    rows = run.events.filter(kind="visit_ended").order_by("sequence").values_list("data", flat=True)[:VISITS]
    found = []
    for ended in events_read(list(rows)):
        text = ended.reason or "\n\n".join(message.text for message in ended.messages)
        shown = text[:LONGEST] + (" …" if len(text) > LONGEST else "")
        found.append(Said(ended.node, ended.visit, ended.status, shown, ended.seconds))
    return found
