"""What the editor's page is told of a draft, as JSON: all of it, or what a change did."""

from __future__ import annotations

from typing import Any

from workbench.catalog.selectors import newest_versions
from workbench.topologies.drafts import DraftConflict, Outcome, draft_step, step_labels, step_state
from workbench.topologies.editing.answers import (
    Found,
    change_json,
    problem_lines,
    state_json,
    state_problems,
)
from workbench.topologies.editing.shown import types_shown
from workbench.topologies.editing.state import State
from workbench.topologies.models import DraftStep, TopologyDraft

Json = Any


def draft_json(
    draft: TopologyDraft, *, problems: list[Found] | None = None, state: State | None = None
) -> dict[str, Json]:
    """The whole draft."""
    step = draft_step(draft)
    state = state or step_state(step)
    found = state_problems(state, draft.name) if problems is None else problems
    return {
        **_head(draft, step),
        "document": state.document,
        **state_json(state, found),
        "types": types_shown(),
        "agents": agents_json(),
    }


def agents_json() -> list[dict[str, str]]:
    """The catalogue, for palettes."""
    return [
        {"name": version.agent.name, "title": str(version.spec.get("title") or ""), "role": version.agent.role}
        for version in newest_versions()
    ]


def outcome_json(outcome: Outcome) -> dict[str, Json]:
    """What a change did; the whole draft where more changed than that."""
    draft, state = outcome.draft, outcome.changed.state
    problems = state_problems(state, draft.name)
    if outcome.whole:
        return draft_json(draft, problems=problems, state=state) | {"label": outcome.changed.label}
    return {
        **_head(draft, outcome.step),
        **state_json(state, problems),
        **change_json(outcome.before, outcome.changed),
    }


def marks_json(outcome: Outcome, text: str, syntax: str) -> list[dict[str, Json]]:
    """The problems by the lines of a text as somebody typed it."""
    problems = state_problems(outcome.changed.state, outcome.draft.name)
    lines = problem_lines(problems, text.replace("\r\n", "\n"), syntax)
    return [
        {"line": line, "severity": found.problem.severity, "message": found.problem.message}
        for found, line in zip(problems, lines, strict=True)
        if line is not None
    ]


def _head(draft: TopologyDraft, step: DraftStep) -> dict[str, Json]:
    undo, redo = step_labels(step)
    committed = {"commit": draft.base_commit, "same": not draft.changed}
    return {"draft": draft.pk, "version": step.version, "undo": undo, "redo": redo, "committed": committed}


def conflict_json(conflict: DraftConflict, commands: list[Json]) -> dict[str, Json]:
    """Both sides of a conflict, and whether they can be merged."""
    return {
        "error": "conflict",
        "message": str(conflict),
        "theirs": draft_json(conflict.draft, state=conflict.theirs),
        "changed": conflict.words,
        "mine": commands,
        "merge": conflict.merged is not None,
        "lost": conflict.lost,
    }


def difference_lines(difference: str) -> list[tuple[str, str]]:
    """The lines of a difference, each with what it is: added, removed, a place, or the same."""
    kinds = {"+": "add", "-": "remove", "@": "place"}
    return [(kinds.get(line[:1], "same"), line) for line in difference.splitlines()[:3000]]
