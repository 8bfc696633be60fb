"""The topologies that are measured, as documents."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

Document = dict[str, Any]
ROUNDS = 3
UNLIMITED = {"visits_per_node": None, "model_calls": None, "tokens": None, "seconds": None}


def document(nodes: dict[str, Any], edges: list[tuple[str, str]], **fields: Any) -> Document:
    """A topology from its first node to its last."""
    names = list(nodes)
    return {
        "format": "workbench.topology/1",
        "name": "bench",
        "start": [names[0]],
        "end": [names[-1]],
        "limits": UNLIMITED,
        "nodes": nodes,
        "edges": [{"from": source, "to": target} for source, target in edges],
        **fields,
    }


def loops(count: int, rounds: int = ROUNDS) -> Document:
    """So many loops side by side, each going round so often: 2 + 4 × count nodes, 7 × count edges,
    2 + 4 × rounds × count visits."""
    nodes: dict[str, Any] = {"S": {"type": "literal", "content": "go"}}
    edges = []
    for number in range(count):
        entry, work, again, gate = (f"{letter}{number}" for letter in "EWRG")
        nodes |= {name: {"type": "passthrough"} for name in (entry, work, again)}
        nodes[gate] = {"type": "loop_counter", "count": rounds, "message": f"Loop limit reached ({rounds})"}
        edges += [("S", entry), (entry, work), (work, again), (again, entry), (again, gate), (gate, entry), (gate, "T")]
    return document({**nodes, "T": {"type": "passthrough"}}, edges)


def loop_visits(count: int, rounds: int = ROUNDS) -> int:
    """How many visits that makes: the gate is visited in each round too."""
    return 2 + 4 * rounds * count


def wiring_chain(length: int) -> Document:
    """Passthroughs in a row behind a literal: visits that wait for nothing."""
    nodes = {f"n{number}": {"type": "passthrough"} for number in range(length)}
    return document({**nodes, "n0": {"type": "literal", "content": "go"}}, list(pairwise(nodes)))


def agent_chain(length: int, model: str = "scripted/bench", prompt: str = "{{ inbox }}") -> Document:
    """Agents in a row, one call each."""
    nodes = {f"a{number}": agent(model, prompt) for number in range(length)}
    return document(nodes, list(pairwise(nodes)))


def fan(width: int) -> Document:
    """So many agents at once between a literal and a passthrough."""
    agents = {f"f{number}": agent("scripted/bench") for number in range(width)}
    nodes = {"S": {"type": "literal", "content": "go"}, **agents, "T": {"type": "passthrough"}}
    return document(nodes, [edge for name in agents for edge in (("S", name), (name, "T"))])


def unequal_branches() -> Document:
    """Two branches whose slow halves lie across from each other: 2.0 s where branches wait for one another, 1.1 s where
    they do not."""
    names = ("slow_first", "quick_last", "quick_first", "slow_last")
    nodes = {"S": {"type": "literal", "content": "go"}, **{name: agent("scripted/bench") for name in names}}
    nodes["T"] = {"type": "passthrough"}
    edges = [("S", names[0]), names[0:2], (names[1], "T"), ("S", names[2]), names[2:4], (names[3], "T")]
    return document(nodes, [(edge[0], edge[1]) for edge in edges])


def agent(model: str, prompt: str = "{{ inbox }}") -> Document:
    """A node that asks once."""
    return {"type": "agent", "model": model, "prompt": prompt}
