"""Reads graphs of ChatDev 2.0 "DevAll". Their meaning here is `TOPOLOGY.md`'s: a loop finishes its iteration before it is
left, parallel edges are judged one by one, a limit is never a success."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.engine.formats import Format, Imported
from workbench.engine.formats._devall_graph import GRAPH_KEYS, graph_topology
from workbench.engine.formats._devall_vars import Variables
from workbench.engine.formats._reading import Reading, top_keys
from workbench.engine.formats._yaml import read_yaml

ROOT_KEYS = ("version", "vars", "graph")


class DevAll(Format):
    """Graphs of ChatDev 2.0 "DevAll" (YAML): semantic edges, loops, maps, subgraphs, majority voting."""

    def recognises(self, filename: str, text: str) -> bool:
        keys = top_keys(text)
        return "graph" in keys and "format" not in keys

    def read(self, text: str) -> Imported:
        data, problems = read_yaml(text)
        if data is None:
            return Imported(None, [], problems)
        reading = Reading(problems)
        root = reading.part(data, "", ROOT_KEYS, "A DevAll file")
        if not root.has("graph"):
            root.missing("graph")
            return Imported(None, reading.notes, reading.problems)
        graph = _graph(root.data, reading)
        made = graph_topology(reading.part(graph, "/graph", GRAPH_KEYS, "The graph"), reading)
        made.topology["limits"] = {"visits_per_node": 100}
        reading.note("A loop of DevAll ends after 100 rounds: here each node may run 100 times (visits_per_node).")
        return Imported(made.topology, reading.notes, reading.problems, made.foreign_ids, made.places)


def _graph(root: Mapping[str, Any], reading: Reading) -> Any:
    """The graph with the file's variables filled in."""
    given = root.get("vars")
    if given is not None and not isinstance(given, Mapping):
        reading.error("bad_value", "/vars", "The vars are names with their values.")
        given = None
    variables = Variables(given or {}, reading)
    graph = variables.filled(root["graph"], "/graph")
    if unused := variables.unused():
        reading.note(f"Variables that nothing in the graph uses were left out: {', '.join(unused)}.")
    return graph
