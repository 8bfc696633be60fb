"""A DevAll graph, outermost or nested, as a topology."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from workbench.engine.documents import pointer
from workbench.engine.formats._devall_edges import EDGE_KEYS, edge_document
from workbench.engine.formats._devall_nodes import NODE_KEYS, node_document
from workbench.engine.formats._ids import free_id, label, own_ids
from workbench.engine.formats._reading import Part, Reading, as_name

Json = Any

GRAPH_KEYS = (
    "id description initial_instruction log_level is_majority_voting nodes edges memory start end organization args "
    "vars"
).split()
LEFT_OUT = {
    "initial_instruction": "The initial instruction is shown by DevAll's launcher only; it was left out.",
    "memory": "Stores of memory were left out: they can't be expressed here yet.",
    "organization": '"organization" has no meaning in DevAll either; it was left out.',
    "args": '"args" is only shown by DevAll; it was left out.',
    "log_level": '"log_level" has no meaning here: every event of a run is kept.',
}


class Made(NamedTuple):
    """A topology, and where everything in it came from."""

    topology: dict[str, Json]
    foreign_ids: dict[str, str]
    places: dict[str, str]


class ForeignNode(NamedTuple):
    """A node as the file has it."""

    id: str
    type: str
    part: Part


def graph_topology(graph: Part, reading: Reading) -> Made:
    """The graph in the own format; whatever is wrong or left out is told to `reading`."""
    for key, sentence in LEFT_OUT.items():
        if graph.get(key):
            reading.note(sentence)
    if graph.has("vars"):
        reading.error("misplaced_vars", graph.at("vars"), "Vars stand at the top of the file, beside the graph.")
    nodes = _nodes(graph, reading)
    ids = own_ids(node.id for node in nodes)
    topology: dict[str, Json] = {
        "format": "workbench.topology/1",
        "name": as_name(graph.text("id"), reading),
        "description": graph.text("description"),
        "start": [],
        "end": [],
        "nodes": {},
        "edges": [],
    }
    if not topology["description"]:
        del topology["description"]

    def nested(config: Part, what: str) -> dict[str, Json]:
        return graph_topology(config.part("config", GRAPH_KEYS, what), reading).topology

    places: dict[str, str] = {"/start": graph.at("start"), "/end": graph.at("end")}
    for node in nodes:
        converted = node_document(node.part, node.type, node.id, reading, nested)
        topology["nodes"][ids[node.id]] = {**converted, **label(node.id, ids[node.id])}
        places[pointer("nodes", ids[node.id])] = node.part.path
    if graph.flag("is_majority_voting", False):
        _majority(graph, topology, ids, reading)
    else:
        _edges(graph, topology, ids, {node.id: node.type for node in nodes}, places, reading)
        topology["start"] = _chosen(graph, "start", ids, reading)
        topology["end"] = _chosen(graph, "end", ids, reading) or _only_sink(graph, topology, reading)
    return Made(topology, {own: foreign for foreign, own in ids.items()}, places)


def _nodes(graph: Part, reading: Reading) -> list[ForeignNode]:
    found: dict[str, ForeignNode] = {}
    for position, item in enumerate(graph.items("nodes")):
        part = reading.part(item, graph.at("nodes", position), NODE_KEYS, "A node")
        name = part.text("id", required=True) or f"node {position + 1}"
        if name in found:
            reading.error("duplicate_id", part.at("id"), f"The id {name!r} stands at another node already.")
            continue
        found[name] = ForeignNode(name, part.text("type", required=True), part)
    if not found:
        reading.error("missing_key", graph.at("nodes"), "The graph has no nodes.")
    return list(found.values())


def _edges(
    graph: Part,
    topology: dict[str, Json],
    ids: dict[str, str],
    types: dict[str, str],
    places: dict[str, str],
    reading: Reading,
) -> None:
    seen: set[str] = set()
    for position, item in enumerate(graph.items("edges")):
        part = reading.part(item, graph.at("edges", position), EDGE_KEYS, "An edge")
        source, target = (_node_id(part, key, ids, reading) for key in ("from", "to"))
        converted = edge_document(part, types.get(source or "", ""), reading)
        if source is None or target is None:
            continue
        edge = {"from": ids[source], "to": ids[target], **converted.document}
        text = json.dumps(edge, sort_keys=True)
        if text in seen:
            reading.note("A duplicate edge was merged with the first of its kind.", f"edge {source} → {target}")
            continue
        seen.add(text)
        places[f"/edges/{len(topology['edges'])}"] = part.path
        topology["edges"].append(edge)
        if converted.tests_failure:
            topology["nodes"][ids[source]]["on_error"] = "continue"


def _node_id(part: Part, key: str, ids: dict[str, str], reading: Reading) -> str | None:
    name = part.text(key, required=True)
    if name in ids:
        return name
    if name:
        message = f"There is no node {name!r}.{reading.nearest(name, ids)}"
        reading.error("edge_to_nowhere", part.at(key), message)
    return None


def _chosen(graph: Part, key: str, ids: dict[str, str], reading: Reading) -> list[str]:
    """The own ids that `start` or `end` names."""
    found: list[str] = []
    for name in graph.texts(key, one=True):
        if name not in ids:
            message = f"There is no node {name!r}.{reading.nearest(name, ids)}"
            reading.error(f"unknown_{key}", graph.at(key), message)
        elif ids[name] in found:
            reading.note(f"{name!r} stood twice in {key!r} and was taken once.")
        else:
            found.append(ids[name])
    return found


def _only_sink(graph: Part, topology: dict[str, Json], reading: Reading) -> list[str]:
    if graph.get("end"):
        return []
    sources = {edge["from"] for edge in topology["edges"] if edge["from"] != edge["to"]}
    sinks = [name for name in topology["nodes"] if name not in sources]
    if len(sinks) == 1:
        reading.note("The graph names no end; its only node without a way out was taken.", sinks[0])
        return sinks
    return []  # the check of the topology says that there is no end


def _majority(graph: Part, topology: dict[str, Json], ids: dict[str, str], reading: Reading) -> None:
    """Every node runs once with the task, and their answers are voted on."""
    for key in ("edges", "end"):
        if graph.get(key):
            reading.note(f'With majority voting DevAll runs every node once: "{key}" was left out.')
    names = list(topology["nodes"])
    vote = free_id("vote", set(names), {})
    topology["nodes"][vote] = {"type": "vote", "by": "majority", "normalise": False}
    topology["start"], topology["end"] = names, [vote]
    topology["edges"] = [{"from": name, "to": vote} for name in names]
    reading.note(f"Majority voting became a node {vote!r} that all others lead to: exactly equal texts count together.")
