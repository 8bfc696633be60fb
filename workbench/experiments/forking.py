"""Forks: runs that leave another at one of its visits, with a change. Looked at before the click, made, begun.

A fork is a row like any other run, with its parent and the visit. What it takes is written into its journal when it is
first prepared, as attempt 0: it has cost nothing, and is never counted as spent.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import connection, transaction
from pydantic import ValidationError

from workbench.engine.forking import Again, CannotFork, Change, Fork, changed_plan, fork
from workbench.engine.recorded import Place
from workbench.engine.workspaces import workspace_fork
from workbench.experiments import tickets
from workbench.experiments.journal import INHERITED, event_row
from workbench.experiments.models import Plan, Run
from workbench.experiments.payloads import MOST, packed
from workbench.experiments.replaying import NewPlan, plan_of_version, run_recorded
from workbench.experiments.starting import plan_store
from workbench.experiments.stored import run_input, stored_plan
from workbench.experiments.totals import Totals
from workbench.experiments.workspace import workspace_of
from workbench.experiments.writer import INSERT, Held, Payloads, payloads_write


class Wish(NamedTuple):
    """What somebody wants of a fork: where it leaves, what is changed there, by which version of the topology it goes on
    (`name@commit`; empty: by the parent's own)."""

    place: Place
    change: Change = Change()
    topology: str = ""

    def stored(self) -> dict[str, Any]:
        """As the row keeps it: only what was said."""
        found = self.change.model_dump(mode="json", exclude_defaults=True)
        return found | ({"topology": self.topology} if self.topology else {})


class ForkLook(NamedTuple):
    """A fork before it is made: its plan, and what it would take and make again."""

    parent: Run
    wish: Wish
    new: NewPlan
    fork: Fork
    again: Totals
    taken: Totals

    @property
    def visits_again(self) -> Sequence[Again]:
        """The visits whose recorded calls are not taken."""
        return self.fork.again


def fork_plan(parent: Run, wish: Wish) -> NewPlan:
    """By which plan a fork of the run goes on. Raises `CannotFork`, `InvalidDocument`."""
    own = NewPlan(stored_plan(parent.plan_id), parent.plan.commit, parent.plan.blob)
    new = plan_of_version(parent, wish.topology) if wish.topology else own
    return new._replace(plan=changed_plan(new.plan, wish.place, wish.change))


def fork_look(parent: Run, wish: Wish, new: NewPlan | None = None) -> ForkLook:
    """What a fork of the run would be, by its plan if that is known. Raises `CannotFork`, `NoJournal`, `InvalidDocument`."""
    if not parent.has_ended:
        raise CannotFork(f"Run {parent.pk} still goes on. Stop it, or wait for its end.")
    parent_plan = stored_plan(parent.plan_id)
    new = new or fork_plan(parent, wish)
    plan, recorded = new.plan, run_recorded(parent)
    made = fork(
        plan,
        parent_plan,
        run_input(parent),
        recorded.events,
        wish.place,
        wish.change,
        parent_id=str(parent.pk),
        repetition=parent.repetition,
    )
    again = totals(call for one in made.again for call in one.calls)
    return ForkLook(parent, wish, new, made, again, totals(made.events))


def totals(events: Any) -> Totals:
    """What events add up to."""
    found = Totals()
    for event in events:
        found.add(event)
    return found


def money(found: Totals) -> Decimal | None:
    """What calls cost; unknown as soon as one has no price."""
    return None if found.unpriced_calls else found.cost_usd or Decimal(0)


def run_fork(parent: Run, wish: Wish) -> Run:
    """Make a fork and queue it. Raises what `fork_look` raises, and `QueueAway`."""
    look = fork_look(parent, wish)
    tickets.queue_check()
    with transaction.atomic():
        made = fork_row(parent, wish, plan=new_plan_store(look.new))
        made.save()
        transaction.on_commit(lambda: tickets.send_or_log([(tickets.RUN, (made.pk,))]))
    return made


def fork_row(parent: Run, wish: Wish, **fields: Any) -> Run:
    """The row of a fork, not saved; `fields` are its plan and what else it has of its own."""
    return Run(
        instance=parent.instance,
        input=parent.input,
        repetition=parent.repetition,
        parent=parent,
        fork_node=wish.place.full_node,
        fork_visit=wish.place.visit,
        fork=wish.stored(),
        **fields,
    )


def new_plan_store(new: NewPlan) -> Plan:
    """The plan of forks, stored."""
    return plan_store(new.plan, new.commit, new.blob)


def wish_of(run: Run) -> Wish:
    """What a fork's row says. Raises `CannotFork` where it says nothing that can be read."""
    try:
        change = Change.model_validate({key: value for key, value in run.fork.items() if key != "topology"})
    except ValidationError as error:
        raise CannotFork(f"What was changed in fork {run.pk} can't be read: {error.errors()[0]['msg']}.") from error
    return Wish(Place.read(run.fork_node, run.fork_visit), change, run.fork.get("topology", ""))


def fork_inherit(run: Run) -> None:
    """Once, before a fork begins: what it takes from its parent goes into its journal and its workspace."""
    parent = run.parent
    if not run.fork_node or run.events.exists():
        return
    if parent is None:
        raise CannotFork("The run that this is a fork of was deleted before it began.")
    wish, plan = wish_of(run), stored_plan(run.plan_id)
    recorded = run_recorded(parent)
    made = fork(
        plan,
        stored_plan(parent.plan_id),
        run_input(run),
        recorded.events,
        wish.place,
        wish.change,
        parent_id=str(parent.pk),
        repetition=parent.repetition,
    )
    workspace_fork(workspace_of(parent), workspace_of(run))
    with transaction.atomic():
        events_inherit(run, made.events)


def events_inherit(run: Run, events: Sequence[Any]) -> None:
    """Write what a fork takes. What is large is there already, for its parent."""
    held, rows, payloads = Held(run.pk, INHERITED, ""), [], Payloads()
    for number, event in enumerate(events, 1):
        row = event_row(event, held, number)
        if len(row[-1]) > MOST:
            data, parts = packed(row[-1])
            row = (*row[:-1], data)
            payloads |= {(held, name): text for name, text in parts.items()}
        rows.append(row)
    with connection.cursor() as cursor:
        if payloads:
            payloads_write(cursor, payloads)
        if rows:
            cursor.executemany(INSERT, rows)


def forks_of(run: Run) -> list[Run]:
    """The forks of a run, those of forked experiments too, newest first."""
    return list(run.forks.select_related("experiment").order_by("-pk")[:50])
