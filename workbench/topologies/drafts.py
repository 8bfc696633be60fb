"""Drafts of topologies in the database: every change a step that can be undone, none over somebody else's, and none in
Git until it is committed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from django.db import IntegrityError, transaction
from django.utils import timezone

from workbench.engine.documents import canonical_json
from workbench.engine.errors import WorkbenchError
from workbench.topologies.changes import change_words
from workbench.topologies.editing.changes import Changed
from workbench.topologies.editing.commands import apply
from workbench.topologies.editing.merging import states_merged
from workbench.topologies.editing.placing import placed
from workbench.topologies.editing.state import (
    CommandRefused,
    State,
    edges_of,
    keys_carried,
    nodes_of,
    pack,
    state_of,
    unpack,
)
from workbench.topologies.editing.texts import state_from_text, text_read
from workbench.topologies.gitcommand import StoreError
from workbench.topologies.models import DraftStep, Topology, TopologyDraft
from workbench.topologies.reading import StoredTopology
from workbench.topologies.selectors import stored_topology
from workbench.topologies.services import topology_save

Json = Any
KEPT_STEPS = 620  # 200 changes, all undone, all done again
PRUNED_EVERY = 20
TYPING_S = 20  # a pause longer than this begins a new step


class DraftConflict(WorkbenchError):
    """The draft was changed in another tab since. Holds what it says now, and what a merge would make of the change."""

    code = "conflict"

    def __init__(self, draft: TopologyDraft, theirs: State, words: str, merged: State | None, lost: list[str]) -> None:
        self.draft, self.theirs, self.words, self.merged, self.lost = draft, theirs, words, merged, lost
        super().__init__(f"{draft.name} was changed in another tab or window. Nothing was overwritten.")


class Outcome(NamedTuple):
    """A draft after a change, and what it said before."""

    draft: TopologyDraft
    step: DraftStep
    before: State
    changed: Changed
    whole: bool = False
    """Whether more changed than the person's own change, so that everything must be shown anew."""


def draft_open(name: str, author: str) -> TopologyDraft:
    """The draft of a person; where nothing was changed in it yet, as the newest commit says. Raises `StoreError` for a
    topology that does not exist and of which there is no draft."""
    draft = TopologyDraft.objects.filter(name=name, author=author).first()
    if draft is not None and (draft.changed or draft_newer(draft) is None):
        return draft  # without a look into the repository: this is asked with every change
    stored = stored_topology(name)
    if draft is None:
        return _draft_make(stored, author)
    if draft.base_blob != stored.blob:
        _rebased(draft, stored)
    return draft


def _draft_make(stored: StoredTopology, author: str) -> TopologyDraft:
    packed = pack(_stored_state(stored))
    fields = {"base_commit": stored.commit, "base_blob": stored.blob, "base": packed}
    try:
        with transaction.atomic():
            draft = TopologyDraft.objects.create(name=stored.name, author=author, **fields)
            DraftStep.objects.create(draft=draft, version=1, state=packed, label="")
    except IntegrityError:  # another tab was first
        return TopologyDraft.objects.get(name=stored.name, author=author)
    return draft


def _stored_state(stored: StoredTopology, base: State | None = None) -> State:
    """What a commit holds; a text that is no JSON is an unreadable text over an empty document."""
    document, _ = text_read(stored.text, "json")
    if document is None:
        return state_from_text(State({}, ()), stored.text, "json")
    if base is None:
        return placed(state_of(document))
    return placed(State(document, keys_carried(base, edges_of(document)), None, base.places))


def _rebased(draft: TopologyDraft, stored: StoredTopology) -> None:
    """Let an untouched draft say what the newest commit says."""
    state = _stored_state(stored, unpack(bytes(draft.base)))
    step = _step(draft)
    _write(draft, step.version, Changed(state, f"Take over the commit {stored.commit[:10]}"), undone_to=step.version)
    _base_set(draft, stored, state)


def _base_set(draft: TopologyDraft, stored: StoredTopology, state: State) -> None:
    draft.base_commit, draft.base_blob, draft.base = stored.commit, stored.blob, pack(state)
    draft.changed = False
    fields = {key: getattr(draft, key) for key in ("base_commit", "base_blob", "base", "changed")}
    TopologyDraft.objects.filter(pk=draft.pk).update(**fields)


def _step(draft: TopologyDraft, version: int | None = None) -> DraftStep:
    return DraftStep.objects.get(draft=draft, version=draft.version if version is None else version)


def draft_step(draft: TopologyDraft) -> DraftStep:
    """The draft as it stands."""
    return _step(draft)


def step_state(step: DraftStep) -> State:
    """What a step says."""
    return unpack(bytes(step.state))


def step_labels(step: DraftStep) -> tuple[str | None, str | None]:
    """What undo and redo would take back and do again, in words; None where there is nothing."""
    wanted = [version for version in (step.undone_to, step.redone_to) if version is not None]
    there = dict(step.draft.steps.filter(version__in=wanted).values_list("version", "label"))
    undo = step.label or "the last change" if step.undone_to in there else None
    return undo, there.get(step.redone_to or 0)


class Asked(NamedTuple):
    """A change as somebody asks for it: the version they saw, and what is to be done."""

    version: int
    commands: Sequence[Json]
    label: str = ""
    typing: bool = False
    merge: bool = False


def draft_change(draft: TopologyDraft, asked: Asked) -> Outcome:
    """Do what is asked, as one step. Raises `CommandRefused`, or `DraftConflict` where the draft is another since then."""
    step = _step(draft)
    before = step_state(step)
    if asked.version != draft.version:
        return _merged_change(draft, step, before, asked)
    changed = apply(before, asked.commands, asked.label)
    joins = _joins(asked)
    joined = bool(joins) and step.joins == joins and (timezone.now() - step.at).total_seconds() < TYPING_S
    undone_to = step.undone_to if joined else step.version
    written = _write(draft, step.version, changed, undone_to=undone_to, joins=joins)
    if written is None:
        draft.refresh_from_db()
        return draft_change(draft, asked)
    return Outcome(draft, written, before, changed)


def _joins(asked: Asked) -> str:
    """Where somebody types on, as one word."""
    if not asked.typing or len(asked.commands) != 1 or not isinstance(asked.commands[0], dict):
        return ""
    command = asked.commands[0]
    return "|".join(str(command.get(key, "")) for key in ("do", "node", "edge", "path"))[:300]


def _merged_change(draft: TopologyDraft, step: DraftStep, theirs: State, asked: Asked) -> Outcome:
    """A change of an older version: on top of the newest where that is wanted, else a conflict that offers it."""
    old = DraftStep.objects.filter(draft=draft, version=asked.version).first()
    merged, lost, label = None, list[str](), asked.label
    words = ""
    if old is not None and theirs.broken is None:
        base = step_state(old)
        words = change_words(canonical_json(base.document), canonical_json(theirs.document))
        mine = apply(base, asked.commands, asked.label)
        if mine.state.broken is None:
            merged, lost = states_merged(base, mine.state, theirs)
            label = mine.label
    if merged is None or not asked.merge:
        raise DraftConflict(draft, theirs, words, merged, lost)
    changed = Changed(merged, label)
    written = _write(draft, step.version, changed, undone_to=step.version)
    if written is None:
        draft.refresh_from_db()
        return draft_change(draft, asked)
    return Outcome(draft, written, theirs, changed, whole=True)


def draft_undo(draft: TopologyDraft, version: int) -> Outcome:
    """Take the last change back."""
    return _turned(draft, version, back=True)


def draft_redo(draft: TopologyDraft, version: int) -> Outcome:
    """Do again what was taken back last."""
    return _turned(draft, version, back=False)


def _turned(draft: TopologyDraft, version: int, *, back: bool) -> Outcome:
    """Undo and redo are steps too: the state of an earlier version comes back as a new one."""
    step = _step(draft)
    before = step_state(step)
    if version != draft.version:
        raise DraftConflict(draft, before, "", None, [])
    wanted = step.undone_to if back else step.redone_to
    target = DraftStep.objects.filter(draft=draft, version=wanted).first() if wanted is not None else None
    if target is None:
        raise CommandRefused(f"There is nothing {'more to undo' if back else 'to do again'}.")
    undone_to = target.undone_to if back else step.version
    redone_to = step.version if back else target.redone_to
    words = f"Undo: {step.label}" if back else f"Redo: {target.label}"
    state = step_state(target)
    changed = Changed(state, target.label)
    written = _write(draft, step.version, changed, undone_to=undone_to, redone_to=redone_to)
    if written is None:
        draft.refresh_from_db()
        raise DraftConflict(draft, step_state(_step(draft)), "", None, [])
    return Outcome(draft, written, before, changed._replace(label=words))


def _write(
    draft: TopologyDraft,
    version: int,
    changed: Changed,
    *,
    undone_to: int | None,
    redone_to: int | None = None,
    joins: str = "",
) -> DraftStep | None:
    """The next version, if the draft is still at the one given; None where another tab was faster."""
    data, differs = pack(changed.state), _differs(draft, changed.state)
    with transaction.atomic():
        next_version = version + 1
        taken = TopologyDraft.objects.filter(pk=draft.pk, version=version).update(
            version=next_version, changed=differs, updated_at=timezone.now()
        )
        if not taken:
            return None
        step = DraftStep.objects.create(
            draft=draft, version=next_version, state=data, label=changed.label[:200], joins=joins,
            undone_to=undone_to, redone_to=redone_to,
        )  # fmt: skip
        if next_version % PRUNED_EVERY == 0:
            _prune(draft, next_version)
    draft.version, draft.changed = next_version, differs
    return step


def _prune(draft: TopologyDraft, version: int) -> None:
    """Steps that were typed over go first, so that they do not use up what can be undone; then the oldest."""
    rows = list(
        draft.steps.filter(version__lt=version - PRUNED_EVERY).values_list("version", "joins").order_by("version")
    )
    wanted = {number for pair in draft.steps.values_list("undone_to", "redone_to") for number in pair}
    over = [
        number
        for (number, joins), (after, next_joins) in pairwise(rows)
        if joins and joins == next_joins and after == number + 1 and number not in wanted
    ]
    draft.steps.filter(version__in=over).delete()
    kept = list(draft.steps.values_list("version", flat=True).order_by("-version")[: KEPT_STEPS + 1])
    if len(kept) > KEPT_STEPS:
        draft.steps.filter(version__lte=kept[-1]).delete()


def _differs(draft: TopologyDraft, state: State) -> bool:
    base = unpack(bytes(draft.base))
    if state.broken != base.broken or state.document != base.document:
        return True
    return list(nodes_of(state.document)) != list(nodes_of(base.document))


# What becomes of a draft


def draft_commit(draft: TopologyDraft, version: int, message: str, author: str) -> Topology:
    """Commit what the draft says. Raises `InvalidDocument`, `Conflict` (somebody committed since), `DraftConflict`."""
    step = _step(draft)
    state = step_state(step)
    if version != draft.version:
        raise DraftConflict(draft, state, "", None, [])
    if state.broken is not None:
        raise CommandRefused(f"The text can't be read, so it can't be committed. {state.broken.message}")
    expected = draft.base_commit if Topology.objects.filter(name=draft.name, deleted_at=None).exists() else ""
    text = canonical_json(state.document)
    topology = topology_save(draft.name, text, message, author, expected)
    _base_set(draft, stored_topology(draft.name), state)
    return topology


def draft_newer(draft: TopologyDraft) -> Topology | None:
    """The topology, where somebody committed it since the draft began."""
    topology = Topology.objects.filter(name=draft.name, deleted_at=None).first()
    return topology if topology is not None and topology.blob != draft.base_blob else None


def draft_catch_up(draft: TopologyDraft, version: int, *, theirs_win: bool = False) -> tuple[Outcome, list[str]]:
    """Put the draft's changes on top of the newest commit, as a step that can be undone. Returns the places too that both
    changed: mine stands there, or with `theirs_win` theirs."""
    step = _step(draft)
    mine = step_state(step)
    if version != draft.version:
        raise DraftConflict(draft, mine, "", None, [])
    if mine.broken is not None:
        raise CommandRefused("The text can't be read. Mend it or drop it first, then merge.")
    stored = stored_topology(draft.name)
    base = unpack(bytes(draft.base))
    theirs = _stored_state(stored, base)
    merged = states_merged(base, theirs, mine) if theirs_win else states_merged(base, mine, theirs)
    changed = Changed(merged.state, f"Merge the commit {stored.commit[:10]}")
    written = _write(draft, step.version, changed, undone_to=step.version)
    if written is None:
        draft.refresh_from_db()
        raise DraftConflict(draft, step_state(_step(draft)), "", None, [])
    _base_set(draft, stored, theirs)
    TopologyDraft.objects.filter(pk=draft.pk).update(changed=_differs(draft, merged.state))
    draft.changed = _differs(draft, merged.state)
    return Outcome(draft, written, mine, changed, whole=True), merged.lost


def draft_discard(draft: TopologyDraft, version: int) -> Outcome:
    """Go back to what is committed; a step like any other, so it can be undone."""
    state = step_state(_step(draft))
    if version != draft.version:
        raise DraftConflict(draft, state, "", None, [])
    try:
        committed = _stored_state(stored_topology(draft.name), unpack(bytes(draft.base)))
    except StoreError:
        committed = unpack(bytes(draft.base))
    changed = Changed(committed, "Go back to what is committed")
    written = _write(draft, draft.version, changed, undone_to=draft.version)
    if written is None:
        draft.refresh_from_db()
        raise DraftConflict(draft, step_state(_step(draft)), "", None, [])
    return Outcome(draft, written, state, changed, whole=True)
