from __future__ import annotations

from typing import Any

from workbench.engine.documents import pointer, read_json
from workbench.engine.formats import Format, Imported
from workbench.engine.formats._ids import label, own_ids
from workbench.engine.formats._opendraco_agents import agent_node, graph_of
from workbench.engine.formats._reading import Part, Reading, as_name, top_keys

Json = Any

TOP_KEYS = "id description entry end edges agents state".split()


class OpenDraco(Format):
    """OpenDraco's agent graphs (JSON): agents inline, routers by structured choice, joins that wait."""

    def recognises(self, filename: str, text: str) -> bool:
        keys = top_keys(text) if text.lstrip("\ufeff \t\r\n").startswith("{") else set()
        return "agents" in keys and "format" not in keys and bool(keys & {"entry", "end", "edges"})

    def read(self, text: str) -> Imported:
        read = read_json(text)
        if read.data is None:
            return Imported(None, [], read.problems)
        reading = Reading(read.problems)
        root = reading.part(read.data, "", TOP_KEYS, "An OpenDraco topology")
        if root.has("state"):
            reading.note('"state" is left behind by OpenDraco\'s editor and has no meaning; it was left out.')
        agents = root.get("agents")
        if not isinstance(agents, dict) or not agents:
            reading.error("bad_value", "/agents", "The agents are blocks under the ids of their nodes; there are none.")
            return Imported(None, reading.notes, reading.problems)
        ids = own_ids(agents)
        places = {"/start": "/entry", "/end": "/end"}
        edges = _edges(root, ids, places, reading)
        entry = _named(root, "entry", ids, reading)
        graph = graph_of(ids, edges, frozenset(entry))
        topology: dict[str, Json] = {
            "format": "workbench.topology/1",
            "name": as_name(root.text("id"), reading),
            "start": [ids[name] for name in entry],
            "end": [ids[name] for name in _named(root, "end", ids, reading)],
            "nodes": {},
            "edges": [{"from": ids[source], "to": ids[target]} for source, target in edges],
        }
        if description := root.text("description"):
            topology["description"] = description
        for name, block in agents.items():
            topology["nodes"][ids[name]] = {**agent_node(block, name, graph, reading), **label(name, ids[name])}
            places[pointer("nodes", ids[name])] = pointer("agents", name)
        _general_notes(reading)
        return Imported(topology, reading.notes, reading.problems, {own: name for name, own in ids.items()}, places)


def _general_notes(reading: Reading) -> None:
    reading.note("A node that several edges lead to waits for all that can still come, and runs once.")
    reading.note("OpenDraco's limit of steps depends on how it is started: the usual limits of a run hold here.")


def _edges(root: Part, ids: dict[str, str], places: dict[str, str], reading: Reading) -> list[tuple[str, str]]:
    found: dict[tuple[str, str], None] = {}
    for position, item in enumerate(root.items("edges")):
        part = reading.part(item, root.at("edges", position), ("from", "to"), "An edge")
        source, target = (_known(part.text(key, required=True), part.at(key), ids, reading) for key in ("from", "to"))
        if source is None or target is None:
            continue
        if (source, target) in found:
            reading.note("A duplicate edge was merged with the first of its kind.", f"edge {source} → {target}")
            continue
        places[f"/edges/{len(found)}"] = part.path
        found[source, target] = None
    return list(found)


def _named(root: Part, key: str, ids: dict[str, str], reading: Reading) -> list[str]:
    """The nodes that `entry` or `end` names, each once."""
    if not root.get(key):
        root.missing(key)
    if key == "entry":
        root.text(key)  # one, not a list
    found = [_known(name, root.at(key), ids, reading) for name in root.texts(key, one=True)]
    return list(dict.fromkeys(name for name in found if name is not None))


def _known(name: str, path: str, ids: dict[str, str], reading: Reading) -> str | None:
    if name in ids:
        return name
    if name:
        reading.error("unknown_node", path, f"There is no agent {name!r}.{reading.nearest(name, ids)}")
    return None
