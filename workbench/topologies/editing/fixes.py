"""One-click fixes: for problems whose cure is mechanical, the commands that cure them. None is ever done unasked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from workbench.engine.documents import pointer
from workbench.engine.errors import Problem
from workbench.engine.spec import TOPOLOGY_FORMAT
from workbench.topologies.drawing.outline import links_back, read_outline
from workbench.topologies.editing.changes import Command
from workbench.topologies.editing.fields import MISSING, pointer_steps, value_at
from workbench.topologies.editing.locating import Place
from workbench.topologies.editing.renaming import _CODE, free_id
from workbench.topologies.editing.state import State, edges_of, names_of, nodes_of

Json = Any
OFFERED = 3
_MEANT = re.compile(r"Did you mean '([^']*)'\?")
_QUOTED = re.compile(r"'([^']*)'")
USUAL_MODEL = "embedded/smollm2:135m"


class Fix(NamedTuple):
    """What a button does and says."""

    label: str
    commands: list[Command]


class Case(NamedTuple):
    """A problem in its document."""

    problem: Problem
    place: Place
    state: State

    @property
    def document(self) -> dict[str, Json]:
        return self.state.document

    @property
    def value(self) -> Json:
        return value_at(self.document, pointer_steps(self.problem.path))

    @property
    def own(self) -> bool:
        """Whether it is about this topology's own nodes and edges, not those of one nested in it."""
        return not self.place.field.startswith("/topology/")

    def set(self, value: Json = MISSING, field: str | None = None) -> Command:
        """Write a value at the problem's place, or at another field of the same node or edge; without one take it away."""
        at = {key: part for key, part in (("node", self.place.node), ("edge", self.place.edge)) if part is not None}
        path = {"path": self.place.field if field is None else field}
        return {"do": "set", **at, **path, **({"unset": True} if value is MISSING else {"value": value})}


Maker = Callable[[Case], Iterator[Fix]]


def fixes_of(problem: Problem, place: Place, state: State) -> list[Fix]:
    """What can be done with one click."""
    case = Case(problem, place, state)
    maker = MAKERS.get(problem.code)
    found = [*_meant(case), *(maker(case) if maker is not None and case.own else ())]
    return found[:OFFERED]


def _meant(case: Case) -> Iterator[Fix]:
    """The name that was probably meant."""
    found = _MEANT.search(case.problem.message)
    if found is None or case.problem.code in ("unknown_key", "unknown_name", "bad_argument"):
        return
    value = case.value
    if isinstance(value, str):
        meant = found[1]
        if case.problem.code == "unknown_provider":
            meant += value[value.find("/") :]
        elif case.problem.code == "unknown_agent":
            meant += "".join(value.partition("@")[1:])
        yield Fix(f"Change it to {meant}", [case.set(meant)])


def _unknown_key(case: Case) -> Iterator[Fix]:
    found = _MEANT.search(case.problem.message)
    above, _, _ = case.place.field.rpartition("/")
    if found is not None:
        new = above + pointer(found[1])
        if value_at(case.document, pointer_steps(case.problem.path.rpartition("/")[0] + pointer(found[1]))) is MISSING:
            yield Fix(f"Rename it to {found[1]}", [case.set(case.value, new), case.set()])
    yield Fix("Remove it", [case.set()])


def _remove(case: Case) -> Iterator[Fix]:
    yield Fix("Remove it", [case.set()])


def _unknown_name(case: Case) -> Iterator[Fix]:
    """A name in a prompt: the one that was meant, or a new variable."""
    found, text = _MEANT.search(case.problem.message), case.value
    quoted = _QUOTED.search(case.problem.message)
    if quoted is None or not isinstance(text, str):
        return
    wrong = (_QUOTED.findall(case.problem.message.partition("Did you mean")[0]) or [""])[-1]
    if found is not None:
        code = _CODE.sub(lambda part: re.sub(rf"(?<![\w-]){re.escape(wrong)}(?![\w-])", found[1], part[0]), text)
        if code != text:
            yield Fix(f"Change {wrong} to {found[1]}", [case.set(code)])
    if case.problem.hint.startswith('Add it to "vars"'):
        name = wrong.removeprefix("vars.")
        yield Fix(f"Add the variable {name}", [{"do": "set", "path": pointer("vars", name), "value": ""}])


def _edge_to_nowhere(case: Case) -> Iterator[Fix]:
    if isinstance(case.value, str) and re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,63}", case.value):
        yield Fix(f"Add the node {case.value}", [{"do": "add_node", "type": "agent", "id": case.value}])
    yield from _edge_delete(case)


def _edge_delete(case: Case) -> Iterator[Fix]:
    yield Fix("Delete this edge", [{"do": "delete", "edges": [case.place.edge]}])


def _edge_acts(case: Case) -> Iterator[Fix]:
    yield Fix("Let it start its target", [case.set(field="/trigger")])
    yield Fix("Let it carry the message", [case.set(field="/carry")])
    yield from _edge_delete(case)


def _edge_maps(case: Case) -> Iterator[Fix]:
    yield Fix("Let it trigger and carry", [case.set(field="/trigger"), case.set(field="/carry")])
    yield Fix("Take the map away", [case.set(field="/map"), case.set(field="/reduce")])


def _edge_triggers(case: Case) -> Iterator[Fix]:
    yield Fix("Let it start its target", [case.set(field="/trigger")])
    yield Fix("Take the condition away", [case.set(field="/when")])


def _edge_turn(case: Case) -> Iterator[Fix]:
    edge = edges_of(case.document)[case.state.keys.index(str(case.place.edge))]
    yield Fix("Turn it round", [{"do": "reconnect", "edge": case.place.edge, "from": edge["to"], "to": edge["from"]}])
    yield Fix("Let it start its target", [case.set(field="/trigger")])


def _edge_condition(case: Case) -> Iterator[Fix]:
    yield Fix("Let it fire at most 3 times", [case.set(3, "/max")])
    yield from _edge_delete(case)


def _reduce(case: Case) -> Iterator[Fix]:
    yield Fix("Add a map", [case.set({}, "/map")])
    yield Fix("Take reduce away", [case.set(field="/reduce")])


def _no_start(case: Case) -> Iterator[Fix]:
    yield from _marks(case, "start", "to", "from", "Start")


def _no_end(case: Case) -> Iterator[Fix]:
    yield from _marks(case, "end", "from", "to", "End")


def _marks(case: Case, key: str, side: str, other: str, word: str) -> Iterator[Fix]:
    """The nodes that nothing leads to (or from), which is where one would start (or end)."""
    taken = {
        edge.get(side) for edge in edges_of(case.document)
        if isinstance(edge, dict) and edge.get("trigger") is not False and edge.get(side) != edge.get(other)
    }  # fmt: skip
    nodes = list(nodes_of(case.document))
    free = [name for name in nodes if name not in taken] or nodes[:: -1 if key == "end" else 1]
    for name in free[:OFFERED]:
        yield Fix(f"{word} at {name}", [{"do": "mark", "node": name, key: True}])


def _unreachable(case: Case) -> Iterator[Fix]:
    name = case.place.node
    before = [other for other in _neighbours(case, str(name)) if other != name]
    if before:
        yield Fix(f"Draw an edge from {before[0]}", [{"do": "connect", "from": before[0], "to": name}])
    yield Fix("Let the run start there too", [{"do": "mark", "node": name, "start": True}])
    if case.problem.code == "unreachable_end":
        yield Fix("Let it be no end", [{"do": "mark", "node": name, "end": False}])
    else:
        yield Fix(f"Delete {name}", [{"do": "delete", "nodes": [name]}])


def _neighbours(case: Case, name: str) -> list[str]:
    """The nodes that stand before a node in the document and are no end, the nearest first; then a start."""
    nodes = list(nodes_of(case.document))
    before = nodes[: nodes.index(name)][::-1] if name in nodes else []
    ends = names_of(case.document, "end")
    return [other for other in before if other not in ends] or before or names_of(case.document, "start")


def _no_path(case: Case) -> Iterator[Fix]:
    name = case.place.node
    for end in names_of(case.document, "end")[:1]:
        yield Fix(f"Draw an edge to {end}", [{"do": "connect", "from": name, "to": end}])
    yield Fix("Let the run end there too", [{"do": "mark", "node": name, "end": True}])
    yield Fix(f"Delete {name}", [{"do": "delete", "nodes": [name]}])


def _endless(case: Case) -> Iterator[Fix]:
    outline, keys = read_outline(case.document), case.state.keys
    cycle = set(_QUOTED.findall(case.problem.message)) | {case.place.node}
    for link in outline.links:
        if link.number in links_back(outline) and link.trigger and link.source in cycle and link.target in cycle:
            back = {"do": "set", "edge": keys[link.number], "path": "/max", "value": 5}
            yield Fix(f"Go back from {link.source} to {link.target} at most 5 times", [back])


def _join(case: Case) -> Iterator[Fix]:
    yield Fix("Wait for what can still come (settled)", [case.set(field="/join")])


def _never(case: Case) -> Iterator[Fix]:
    """The hint holds the edge that is missing."""
    found = re.search(r"\{.*\}", case.problem.hint)
    edge = json.loads(found[0]) if found else {}
    if {"from", "to"} <= edge.keys():
        fields = {key: value for key, value in edge.items() if key not in ("from", "to")}
        label = f"Add a data edge from {edge['from']} to {edge['to']}"
        yield Fix(label, [{"do": "connect", "from": edge["from"], "to": edge["to"], "fields": fields}])


def _maybe(case: Case) -> Iterator[Fix]:
    text, found = case.value, re.search(r"reads 'nodes\.([^']*)'", case.problem.message)
    if not isinstance(text, str) or found is None:
        return
    simple = re.compile(rf"\{{\{{\s*(nodes\.{re.escape(found[1])}(?:\.\w+)*)\s*\}}\}}")
    new = simple.sub(r'{{ \1 | default("") }}', text)
    if new != text:
        yield Fix("Nothing where it has not run", [case.set(new)])


def _empty_inbox(case: Case) -> Iterator[Fix]:
    for key, edge in zip(case.state.keys, edges_of(case.document), strict=True):
        if isinstance(edge, dict) and edge.get("to") == case.place.node and edge.get("carry") is False:
            carry: Command = {"do": "set", "edge": key, "path": "/carry", "unset": True}
            yield Fix(f"Let {edge.get('from')} carry its message", [carry])


def _limit(case: Case) -> Iterator[Fix]:
    found = re.search(r"makes (\d+) model calls", case.problem.message)
    if found:
        yield Fix(f"Raise it to {found[1]}", [case.set(int(found[1]))])


def _missing_key(case: Case) -> Iterator[Fix]:
    usual: dict[str, Json] = {"/format": TOPOLOGY_FORMAT, "/start": [], "/end": [], "/nodes": {}}
    if case.problem.path in usual:
        yield Fix(f"Add {case.problem.path[1:]}", [case.set(usual[case.problem.path])])
    elif case.place.node is not None and case.place.field == "/type":
        yield Fix("Make it an agent", [case.set("agent")])


def _format(case: Case) -> Iterator[Fix]:
    yield Fix(f"Write {TOPOLOGY_FORMAT}", [case.set(TOPOLOGY_FORMAT)])


def _name_differs(case: Case) -> Iterator[Fix]:
    found = _QUOTED.findall(case.problem.message)
    if found:
        yield Fix(f"Call it {found[-1]}", [case.set(found[-1])])


def _bad_id(case: Case) -> Iterator[Fix]:
    old = str(case.place.node)
    new = free_id(old, nodes_of(case.document))
    commands: list[Command] = [{"do": "rename", "node": old, "to": new}]
    node = nodes_of(case.document).get(old)
    if isinstance(node, dict) and not node.get("label"):
        commands.append({"do": "set", "node": new, "path": "/label", "value": old})
    yield Fix(f"Call it {new}, with the old id as label", commands)


def _parallel(case: Case) -> Iterator[Fix]:
    first, second, *_ = [*_QUOTED.findall(case.problem.message), "", ""]
    if first in nodes_of(case.document) and second in nodes_of(case.document):
        yield Fix(f"Let {second} wait for {first}", [{"do": "connect", "from": first, "to": second}])
        merge = {"do": "set", "path": "/workspace", "value": {"merge": "three_way"}}
        yield Fix("Join what both write, line by line", [merge])


def _no_prompt(case: Case) -> Iterator[Fix]:
    starts = case.place.node in names_of(case.document, "start")
    text = "{{ instance.problem }}" if starts else "{{ inbox }}"
    yield Fix(f"Write {text}", [case.set(text, "/prompt")])


def _no_model(case: Case) -> Iterator[Fix]:
    used = [node.get("model") for node in nodes_of(case.document).values() if isinstance(node, dict)]
    model = next((model for model in used if isinstance(model, str)), USUAL_MODEL)
    yield Fix(f"Use {model} everywhere", [{"do": "set", "path": "/defaults/model", "value": model}])


def _unknown_target(case: Case) -> Iterator[Fix]:
    if isinstance(case.value, str) and case.value in nodes_of(case.document):
        yield Fix(f"Draw an edge to {case.value}", [{"do": "connect", "from": case.place.node, "to": case.value}])


def _unpriced(case: Case) -> Iterator[Fix]:
    yield Fix("Take the money limit away", [case.set()])


MAKERS: Mapping[str, Maker] = {
    "all_in_cycle": _join, "all_of_exclusive": _join, "first_enters_cycle": _join, "bad_argument": _unknown_key,
    "bad_id": _bad_id, "data_never_arrives": _edge_turn, "duplicate_end": _remove, "duplicate_start": _remove,
    "edge_to_nowhere": _edge_to_nowhere, "edge_without_effect": _edge_acts, "empty_inbox": _empty_inbox,
    "endless_cycle": _endless, "identical_edges": _edge_delete, "limit_too_small": _limit,
    "loop_runs_once": _edge_condition, "map_without_units": _edge_maps, "may_have_no_value": _maybe,
    "missing_key": _missing_key, "name_differs": _name_differs, "never_has_value": _never, "no_end": _no_end,
    "no_model": _no_model, "no_path_to_end": _no_path, "no_prompt": _no_prompt, "no_start": _no_start,
    "not_yet_supported": _remove, "otherwise_on_data_edge": _edge_triggers, "parallel_writers": _parallel,
    "reduce_without_map": _reduce, "reserved_id": _bad_id, "rules_unused": _remove, "unknown_end": _remove,
    "unknown_format": _format, "unknown_key": _unknown_key, "unknown_name": _unknown_name, "unknown_start": _remove,
    "unknown_target": _unknown_target, "unknown_tool": _remove, "unpriced_model": _unpriced,
    "unreachable": _unreachable, "unreachable_end": _unreachable,
}  # fmt: skip
