"""What the server takes to answer one command of the editor: the request as the page sends it, to the JSON that it gets."""

from __future__ import annotations

import json
import time
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from workbench.bench.home import own_home
from workbench.engine.documents import canonical_json

NAME = "bench"
WARM_UP = 3
Json = Any


def editor_figures(nodes: int, repeat: int) -> dict[str, Any]:
    """Everything that `workbench bench editor` prints, in milliseconds: medians, the slowest, and what this process worked
    for it, which says more on a machine that does other things as well."""
    with TemporaryDirectory() as folder, own_home(Path(folder)):
        from django.test import Client
        from django.urls import reverse

        from workbench.topologies.services import topology_save

        topology_save(NAME, canonical_json(document(nodes)))
        client = Client(headers={"host": "127.0.0.1"})
        state = client.get(reverse("topology_edit_state", args=[NAME])).json()
        asked = {"draft": state["draft"], "version": state["version"]}
        found: dict[str, Any] = {"nodes": nodes, "edges": len(state["keys"])}
        for name, command in commands(nodes).items():
            found[name] = timed(client, reverse("topology_edit_commands", args=[NAME]), asked, command, repeat)
        found["page_ms"] = page(client, reverse("topology_edit", args=[NAME]), repeat)
        return found


def commands(nodes: int) -> dict[str, Json]:
    """One of each kind that people use most; `N` in a text stands for a number that changes."""
    middle = f"n{nodes // 2}"
    return {
        "set": {"do": "set", "node": middle, "path": "/prompt", "value": "{{ inbox }} N"},
        "move": {"do": "move", "places": {middle: [0, "N"]}},
        "add_node": {"do": "add_node", "type": "agent", "from": middle},
        "rename": {"do": "rename", "node": "n1", "to": "n1"},
        "undo": None,
    }


def timed(client: Any, address: str, asked: dict[str, Json], command: Json, repeat: int) -> dict[str, float]:
    """How long the answers took."""
    times, worked = [], []
    for number in range(repeat + WARM_UP):
        text = json.dumps(command).replace('"N"', str(number)).replace("N", str(number))
        said = {"undo": True} if command is None else {"commands": [json.loads(text)]}
        begun, idle = time.perf_counter(), time.process_time()
        answer = client.post(address, json.dumps(asked | said), content_type="application/json")
        times.append((time.perf_counter() - begun) * 1e3)
        worked.append((time.process_time() - idle) * 1e3)
        assert answer.status_code == 200, answer.content[:500]
        asked["version"] = answer.json()["version"]
    found = {"median_ms": median(times[WARM_UP:]), "slowest_ms": max(times[WARM_UP:])}
    return found | {"cpu_ms": median(worked[WARM_UP:])}


def page(client: Any, address: str, repeat: int) -> float:
    """How long the page itself takes."""
    times = []
    for _ in range(max(repeat // 4, 3)):
        begun = time.perf_counter()
        assert client.get(address).status_code == 200
        times.append((time.perf_counter() - begun) * 1e3)
    return median(times)


def document(nodes: int) -> dict[str, Json]:
    """A chain of agents with a short cut at every second one."""
    names = [f"n{number}" for number in range(nodes)]
    cuts = [
        {"from": names[n], "to": names[n + 2], "when": {"field": "ok", "equals": True}} for n in range(0, nodes - 2, 2)
    ]
    return {
        "format": "workbench.topology/1",
        "name": NAME,
        "start": [names[0]],
        "end": [names[-1]],
        "defaults": {"model": "scripted/echo"},
        "nodes": {
            name: {"type": "agent", "prompt": f"{{{{ instance.problem }}}} {name} {{{{ inbox }}}} " + "and so on " * 20}
            for name in names
        },
        "edges": [{"from": one, "to": other} for one, other in pairwise(names)] + cuts,
    }
