"""What the editor is told of a draft: all of it, or what a change did. Plain JSON, the same for canvas, list and text."""

from __future__ import annotations

from typing import Any, NamedTuple

from workbench.engine.errors import Problem
from workbench.engine.validation import check_document
from workbench.topologies.editing.changes import Changed
from workbench.topologies.editing.fixes import Fix, fixes_of
from workbench.topologies.editing.lines import line_in, line_of, pointer_lines
from workbench.topologies.editing.locating import Place, place_of
from workbench.topologies.editing.patches import state_patch
from workbench.topologies.editing.shown import state_shown
from workbench.topologies.editing.state import State, edges_of
from workbench.topologies.library import Library

Json = Any
MOST_SHOWN = 300


class Found(NamedTuple):
    """A problem with its place, in words too, and what can be done about it."""

    problem: Problem
    place: Place
    fixes: list[Fix]
    where: str = "topology"

    def as_json(self) -> dict[str, Json]:
        fixes = [fix._asdict() for fix in self.fixes]
        return {**self.problem._asdict(), **self.place._asdict(), "fixes": fixes}


def state_problems(state: State, name: str, *, library: Library | None = None) -> list[Found]:
    """Everything wrong with a draft: the same check as everywhere, with places and fixes."""
    if state.broken is not None:
        problem = Problem("error", "unreadable", "", state.broken.message, "Mend the text, or drop it.")
        drop = Fix("Drop this text", [{"do": "drop_text"}])
        return [Found(problem, Place(None, None, ""), [drop])]
    checked = check_document(state.document, library or Library())
    problems = checked.problems
    if checked.spec is not None and checked.spec.name != name:
        message = f"The document calls itself {checked.spec.name!r}, but this topology is {name!r}."
        problems = [Problem("error", "name_differs", "/name", message, f'Write "name": "{name}".'), *problems]
    found = []
    for problem in problems[:MOST_SHOWN]:
        place = place_of(problem, state)
        found.append(Found(problem, place, fixes_of(problem, place, state), _where(place, state)))
    return found


def _where(place: Place, state: State) -> str:
    """The part of the topology that a problem is about, as people call it."""
    if place.edge is None:
        return place.node or "topology"
    edge = edges_of(state.document)[state.keys.index(place.edge)]
    return f"{edge.get('from')} → {edge.get('to')}" if isinstance(edge, dict) else "edge"


def problem_lines(problems: list[Found], text: str, syntax: str) -> list[int | None]:
    """For each problem the line of a text that it stands in."""
    lines = pointer_lines(text, syntax) if problems else {}
    return [line_in(found.problem.message) or line_of(found.problem.path, lines) for found in problems]


def counts_of(problems: list[Found]) -> dict[str, int]:
    """How many errors and warnings."""
    errors = sum(found.problem.severity == "error" for found in problems)
    return {"errors": errors, "warnings": len(problems) - errors}


def state_json(state: State, problems: list[Found]) -> dict[str, Json]:
    """The parts of an answer that follow from the state alone."""
    return {
        "keys": list(state.keys),
        "broken": state.broken._asdict() if state.broken else None,
        "shown": state_shown(state),
        "problems": [found.as_json() for found in problems],
        "counts": counts_of(problems),
    }


def change_json(before: State, changed: Changed) -> dict[str, Json]:
    """What a change did."""
    made = {"nodes": changed.nodes, "edges": changed.edges}
    select = {key: list(names or ()) for key, names in made.items()} if changed.nodes is not None else None
    if changed.nodes is None and changed.edges is not None:
        select = {"nodes": [], "edges": list(changed.edges)}
    found = {"patch": state_patch(before, changed.state), "renamed": dict(changed.renamed), "label": changed.label}
    return found if select is None else {**found, "select": select}
