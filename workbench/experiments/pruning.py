"""Retention: what takes room of old runs is let go of; who they were, what they answered and what they took stays.

Of a pruned run its workspace goes, the bodies that were sent and received, and every long text of its events. Scores,
totals, the prediction and the columns that pages add up are never touched. It can't be replayed or forked any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Sum
from django.db.models.functions import Length
from django.utils import timezone

from workbench.engine.workspaces import beside, repository_of, workspace_remove
from workbench.experiments import lifecycle
from workbench.experiments.journal import event_text, events_read
from workbench.experiments.models import Payload, PayloadUse, Run, RunEvent
from workbench.experiments.payloads import MOST, PART
from workbench.experiments.workspace import workspace_of

BATCH = 200


class Prunable(NamedTuple):
    """What is to be let go of: how many runs, the bytes of their events, of payloads that nobody else needs, of their
    workspaces."""

    runs: int
    event_bytes: int
    payloads: int
    payload_bytes: int
    workspaces: int
    workspace_bytes: int


class Pruned(NamedTuple):
    """What was let go of."""

    runs: int
    events: int
    payloads: int


def runs_old(before: datetime) -> Any:
    """Runs that ended before, and hold something that can go; not while a fork still has to take from them."""
    waiting = Run.objects.filter(parent=OuterRef("pk"), status__in=Run.OPEN)
    ended = Run.objects.filter(status__in=Run.ENDED, ended_at__lt=before, pruned_at=None)
    return ended.exclude(Exists(waiting)).order_by("pk")


def prunable(before: datetime) -> Prunable:
    """What pruning would let go of; nothing is changed."""
    runs = runs_old(before)
    folders = [workspace_of(run) for run in runs.only("pk").iterator(BATCH)]
    sizes = [size for folder in folders if (size := folder_bytes(folder)) is not None]
    kept = PayloadUse.objects.filter(payload=OuterRef("pk")).exclude(run__in=runs)
    payloads = Payload.objects.filter(~Exists(kept))
    events = RunEvent.objects.filter(run__in=runs).aggregate(bytes=Sum(Length("data")))["bytes"] or 0
    stored = payloads.annotate(stored=Length("data")).aggregate(bytes=Sum("stored"))["bytes"] or 0
    return Prunable(len(folders), events, payloads.count(), stored, len(sizes), sum(sizes))


def folder_bytes(folder: Path) -> int | None:
    """What a workspace takes, with all versions of its files; None where there is none."""
    places = [place for place in (folder, repository_of(folder), beside(folder)) if place.exists()]
    if not places:
        return None
    files = (file for place in places for file in place.rglob("*") if file.is_file() and not file.is_symlink())
    return sum(file.stat().st_size for file in files)


def prune(before: datetime) -> Pruned:
    """Let go of it, run by run: what is interrupted goes on the next time."""
    runs = events = 0
    for run in list(runs_old(before).only("pk")):
        shorter = run_prune(run, before)
        if shorter is not None:
            events, runs = events + shorter, runs + 1
    return Pruned(runs, events, payloads_sweep())


def run_prune(run: Run, before: datetime) -> int | None:
    """One run; how many of its events got shorter. None where somebody goes on with it, or forks it, by now."""
    with transaction.atomic():
        if not lifecycle.runs_locked(runs_old(before).filter(pk=run.pk)):
            return None
        workspace_remove(workspace_of(run))
        shorter = list(events_shortened(run))
        RunEvent.objects.bulk_update(shorter, ["data"], batch_size=BATCH)
        PayloadUse.objects.filter(run=run).delete()
        Run.objects.filter(pk=run.pk).update(pruned_at=timezone.now())
    return len(shorter)


def events_shortened(run: Run) -> Iterator[RunEvent]:
    """The events of a run that hold more than they need to."""
    rows = list(run.events.order_by("sequence").only("pk", "data"))
    for first in range(0, len(rows), BATCH):
        some = rows[first : first + BATCH]
        for row, event in zip(some, events_read([row.data for row in some]), strict=True):
            text = event_text(shortened(event))
            if text != row.data:
                row.data = text
                yield row


def shortened(event: Any) -> Any:
    """The event without bodies, its long texts cut; one that is still long keeps only what all of its kind have."""
    bodies: dict[str, Any] = {"request": {}, "reply": None} if event.kind == "model_called" else {}
    said = {name: cut(value) for name, value in event.model_dump(mode="json").items() if name not in bodies}
    made = type(event).model_validate(said | bodies)
    if len(event_text(made)) <= MOST:
        return made
    needed = {name for name, field in type(event).model_fields.items() if field.is_required()}
    kept = needed | {"kind", "path", "status", "seconds", "unit", "fired", "code", "input_tokens", "output_tokens"}
    return type(event).model_validate({name: value for name, value in said.items() if name in kept})


def cut(value: Any) -> Any:
    """Long texts anywhere in a value, shortened; each says how long it was."""
    if isinstance(value, str):
        return value if len(value) < PART else f"{value[:200]}… [{len(value):,} characters, pruned]"
    if isinstance(value, list):
        return [cut(item) for item in value]
    return {key: cut(item) for key, item in value.items()} if isinstance(value, dict) else value


def payloads_sweep() -> int:
    """Payloads that no run needs any more, those of deleted runs too."""
    used = PayloadUse.objects.filter(payload=OuterRef("pk"))
    unused = Payload.objects.filter(~Exists(used)).order_by("pk").values_list("pk", flat=True)
    gone = 0
    while names := list(unused[:BATCH]):
        try:
            gone += Payload.objects.filter(pk__in=names).delete()[0]
        except IntegrityError:  # a run has come to need one of them
            continue
    return gone
