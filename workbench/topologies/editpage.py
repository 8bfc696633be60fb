"""What the parts of the editor's page show: the list, the text, the panel of what is chosen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django.http import QueryDict

from workbench.engine.tools import TOOLS
from workbench.topologies.editing.answers import Found, problem_lines
from workbench.topologies.editing.forms import Field
from workbench.topologies.editing.panels import edge_fields, node_fields, top_fields
from workbench.topologies.editing.patches import edges_by_key
from workbench.topologies.editing.shown import state_shown, types_shown
from workbench.topologies.editing.state import CommandRefused, State, edges_of, names_of, nodes_of
from workbench.topologies.editing.texts import SYNTAXES, document_text
from workbench.topologies.modelpicker import model_choices
from workbench.topologies.models import Topology
from workbench.topologies.studio import agents_json

Json = Any
Context = dict[str, Any]
VIEWS = ("canvas", "list", "text")
ROWS = 100


class Chosen(NamedTuple):
    """Which view is in front, and what the panel shows."""

    view: str
    node: str = ""
    edge: str = ""
    top: bool = False


def chosen_of(asked: QueryDict, state: State) -> Chosen:
    """What the address says; what is gone is not chosen."""
    view = asked.get("view", "")
    view = view if view in VIEWS else ("text" if state.broken is not None else "canvas")
    node, edge = asked.get("node", ""), asked.get("edge", "")
    if node in nodes_of(state.document):
        return Chosen(view, node=node)
    if edge in state.keys:
        return Chosen(view, edge=edge)
    return Chosen(view, top=True)


def list_context(state: State, problems: Sequence[Found], chosen: Chosen, asked: QueryDict) -> Context:
    """Nodes and edges as rows, so many of each on a page; without a number the page of what is chosen."""
    shown = state_shown(state)
    nodes, edges = list(nodes_of(state.document)), edges_by_key(state)
    rows = nodes.index(chosen.node) if chosen.node else 0
    rows = state.keys.index(chosen.edge) if chosen.edge else rows
    number = asked.get("rows", "")
    pages = max(-(-max(len(nodes), len(edges)) // ROWS), 1)
    page = min(max(int(number), 1) if number.isdecimal() and len(number) < 6 else rows // ROWS + 1, pages)
    here = slice((page - 1) * ROWS, page * ROWS)
    return {
        "nodes": [
            _row(place, len(nodes)) | {"id": name} | shown["nodes"][name] | _counted(problems, node=name)
            for place, name in list(enumerate(nodes))[here]
        ],
        "edges": [
            _row(place, len(edges))
            | {"key": key, "source": _end(edge, "from"), "target": _end(edge, "to")}
            | shown["edges"][key]
            | _counted(problems, edge=key)
            for place, (key, edge) in list(enumerate(edges.items()))[here]
        ],
        "names": nodes,
        "page": page,
        "pages": range(1, pages + 1),
        "rows": ROWS,
        "types": types_shown(),
        "agents": agents_json(),
    }


def _row(place: int, number: int) -> Context:
    return {"place": place, "before": place - 1, "after": place + 1, "last": place == number - 1}


def _end(edge: Json, key: str) -> str:
    return str(edge.get(key, "")) if isinstance(edge, Mapping) else ""


def _counted(problems: Sequence[Found], *, node: str | None = None, edge: str | None = None) -> Context:
    own = [found for found in problems if (found.place.node, found.place.edge) == (node, edge)]
    severities = [found.problem.severity for found in own]
    return {"errors": severities.count("error"), "warnings": severities.count("warning")}


def text_context(state: State, problems: Sequence[Found], syntax: str) -> Context:
    """The text, and for each problem its line in it."""
    broken = state.broken
    syntax = broken.syntax if broken is not None else syntax if syntax in SYNTAXES else "json"
    text = broken.text if broken is not None else document_text(state.document, syntax)
    lines = problem_lines(list(problems), text, syntax)
    marked = sorted(
        (
            {"line": line, "severity": found.problem.severity, "message": found.problem.message}
            for found, line in zip(problems, lines, strict=True)
            if line is not None
        ),
        key=lambda mark: mark["line"],
    )
    return {"text": text, "syntax": syntax, "syntaxes": SYNTAXES, "marks": marked, "broken": broken}


def panel_context(name: str, state: State, problems: Sequence[Found], chosen: Chosen, asked: QueryDict) -> Context:
    """The form of what is chosen, with the problems of each field."""
    shown = state_shown(state)
    context: Context = {"name": name, "lists": _lists(state)}
    if chosen.node:
        fields = node_fields(state, chosen.node)
        mine = [found for found in problems if found.place.node == chosen.node]
        context |= {
            "kind": "node", "id": chosen.node, "said": shown["nodes"][chosen.node],
            "start": chosen.node in names_of(state.document, "start"),
            "end": chosen.node in names_of(state.document, "end"), "ways": _ways(state, chosen.node, shown),
            "names": prompt_names(state, chosen.node),
        }  # fmt: skip
    elif chosen.edge:
        try:
            fields = edge_fields(state, chosen.edge)
        except CommandRefused:
            fields = []
        mine = [found for found in problems if found.place.edge == chosen.edge]
        edge = edges_by_key(state)[chosen.edge]
        context |= {"kind": "edge", "id": chosen.edge, "said": shown["edges"][chosen.edge]}
        context |= {
            "source": _end(edge, "from"),
            "target": _end(edge, "to"),
            "number": state.keys.index(chosen.edge) + 1,
        }
    else:
        fields = top_fields(state)
        mine = [found for found in problems if not found.place.node and not found.place.edge]
        context |= {"kind": "top", "id": "", "said": {}}
    at, rest = problems_at(fields, mine)
    main, more = _grouped(fields, context["kind"])
    return context | {"fields": fields, "main": main, "more": more, "at": at, "rest": rest}


MAIN = {
    "node": ("/join", "/on_error", "/retries"),
    "edge": ("/carry", "/keep", "/clear", "/transform", "/map", "/reduce"),
    "top": ("/limits", "/vars", "/workspace"),
}


def _grouped(fields: Sequence[Field], kind: str) -> tuple[list[Field], list[Field]]:
    """The fields that one sees at once, and those that one unfolds."""
    main = [field for field in fields if field.path not in MAIN[kind]]
    return main, [field for field in fields if field.path in MAIN[kind]]


def problems_at(fields: Sequence[Field], problems: Sequence[Found]) -> tuple[dict[str, list[Found]], list[Found]]:
    """Each problem at the innermost field that it concerns; the others stand above the form."""
    paths = set(_paths(fields))
    at: dict[str, list[Found]] = {}
    rest = []
    for found in problems:
        path = found.place.field
        while path and path not in paths:
            path = path.rpartition("/")[0]
        if path:
            at.setdefault(path, []).append(found)
        else:
            rest.append(found)
    return at, rest


def _paths(fields: Sequence[Field]) -> Iterator[str]:
    for field in fields:
        yield field.path
        yield from _paths(field.fields)


def prompt_names(state: State, node: str) -> list[str]:
    """The names that a prompt of a node may use: those of a run, the topology's variables, the nodes before it."""
    variables = state.document.get("vars")
    edges = [edge for edge in edges_of(state.document) if isinstance(edge, Mapping) and edge.get("to") == node]
    before = [edge["from"] for edge in edges if isinstance(edge.get("from"), str)]
    nodes = dict.fromkeys([*before, *nodes_of(state.document)])
    return [
        *("instance.problem", "instance.id", "inbox", "visit"),
        *(f"vars.{name}" for name in (variables if isinstance(variables, Mapping) else ())),
        *(f"nodes.{name}.output" if name.isidentifier() else f'nodes["{name}"].output' for name in list(nodes)[:40]),
    ]


def _ways(state: State, node: str, shown: Context) -> Context:
    """The edges into a node and out of it."""
    edges = [(key, edge) for key, edge in edges_by_key(state).items() if isinstance(edge, Mapping)]
    return {
        "incoming": [
            {"key": key, "node": str(edge.get("from")), **shown["edges"][key]}
            for key, edge in edges if edge.get("to") == node
        ],
        "outgoing": [
            {"key": key, "node": str(edge.get("to")), **shown["edges"][key]}
            for key, edge in edges if edge.get("from") == node
        ],
    }  # fmt: skip


def _lists(state: State) -> Context:
    """The names that fields are completed from."""
    return {
        "nodes": list(nodes_of(state.document)),
        "models": model_choices(),
        "agents": agents_json(),
        "tools": TOOLS.names(),
        "topologies": list(Topology.objects.filter(deleted_at=None).values_list("name", flat=True)),
    }
