"""Where a problem stands: at which node, edge and field, and in which line."""

from __future__ import annotations

from typing import NamedTuple

from workbench.engine.documents import pointer
from workbench.engine.errors import Problem
from workbench.topologies.editing.fields import pointer_steps
from workbench.topologies.editing.state import State, nodes_of


class Place(NamedTuple):
    """A part of the document, and the place inside it."""

    node: str | None
    edge: str | None
    field: str


def place_of(problem: Problem, state: State) -> Place:
    """The node or edge that a problem is about; neither: the topology itself."""
    steps = pointer_steps(problem.path) if problem.path.startswith("/") else []
    if len(steps) > 1 and steps[0] == "nodes" and steps[1] in nodes_of(state.document):
        return Place(steps[1], None, pointer(*steps[2:]))
    if len(steps) > 1 and steps[0] == "edges" and steps[1].isdecimal() and int(steps[1]) < len(state.keys):
        return Place(None, state.keys[int(steps[1])], pointer(*steps[2:]))
    return Place(None, None, problem.path)
