"""What a document says, as far as it makes sense: for the page of a topology and for what the database knows of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from workbench.topologies.drawing.outline import links_back, read_outline
from workbench.topologies.words import condition_words, model_words

Json = Any


class Facts(NamedTuple):
    """What a document says, as far as it makes sense."""

    start: list[str]
    end: list[str]
    models: list[str]
    agents: list[str]
    nodes: list[dict[str, str]]
    edges: list[dict[str, str]]
    limits: dict[str, Json]


def document_facts(document: Json) -> Facts:
    """What the page of a topology says beside its picture."""
    said = document if isinstance(document, Mapping) else {}
    defaults = said.get("defaults")
    default = defaults.get("model") if isinstance(defaults, Mapping) else None
    nodes = said.get("nodes")
    specs = (
        {key: node for key, node in nodes.items() if isinstance(node, Mapping)} if isinstance(nodes, Mapping) else {}
    )
    edges = said.get("edges")
    models = dict.fromkeys(model for model in [default, *(node.get("model") for node in specs.values())] if model)
    limits = said.get("limits")
    return Facts(
        start=_names(said.get("start")),
        end=_names(said.get("end")),
        models=[str(model) for model in models],
        agents=document_agents(document),
        nodes=[_node_row(key, node) for key, node in specs.items()],
        edges=[_edge_row(edge) for edge in (edges if isinstance(edges, list) else []) if isinstance(edge, Mapping)],
        limits=dict(limits) if isinstance(limits, Mapping) else {},
    )


def document_agents(document: Json) -> list[str]:
    """The names of the agents that a document uses, each once."""
    agents = [node.get("agent") for node in _specs(document).values()]
    return list(dict.fromkeys(agent.partition("@")[0] for agent in agents if isinstance(agent, str)))


def document_tags(document: Json) -> list[str]:
    """What a document shows, in words to search and filter by."""
    nodes, edges = list(_specs(document).values()), document.get("edges") if isinstance(document, Mapping) else None
    said = [edge for edge in edges if isinstance(edge, Mapping)] if isinstance(edges, list) else []
    types = {node.get("type") for node in nodes if isinstance(node.get("type"), str)}
    found = {
        "loop": bool(links_back(read_outline(document))),
        "conditions": any(edge.get("when") is not None for edge in said),
        "map": any(edge.get("map") is not None for edge in said),
        "reduce": any(edge.get("reduce") is not None for edge in said),
        "data edges": any(edge.get("trigger") is False for edge in said),
        "JSON answers": any(isinstance(node.get("output"), Mapping) for node in nodes),
        "tools": "tool" in types or any(node.get("tools") for node in nodes),
        "memory": any(node.get("memory") for node in nodes),
        "one node": len(nodes) == 1,
    }
    shown = [kind for kind in ("router", "vote", "human", "python", "topology") if kind in types]
    return [tag for tag, holds in found.items() if holds] + ["nested" if kind == "topology" else kind for kind in shown]


def _specs(document: Json) -> dict[str, Mapping[str, Json]]:
    nodes = document.get("nodes") if isinstance(document, Mapping) else None
    items = nodes.items() if isinstance(nodes, Mapping) else ()
    return {key: node for key, node in items if isinstance(node, Mapping)}


def _names(value: Json) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def _node_row(key: str, node: Mapping[str, Json]) -> dict[str, str]:
    agent = node.get("agent")
    return {
        "id": key,
        "label": str(node.get("label") or ""),
        "type": str(node.get("type") or "no type"),
        "agent": agent.partition("@")[0] if isinstance(agent, str) else "",
        "reference": agent if isinstance(agent, str) else "",
        "model": model_words(node.get("model")),
        "prompt": str(node.get("prompt") or node.get("content") or ""),
    }


def _edge_row(edge: Mapping[str, Json]) -> dict[str, str]:
    return {
        "source": str(edge.get("from", "")),
        "target": str(edge.get("to", "")),
        "when": condition_words(edge["when"]) if edge.get("when") is not None else "always",
        "max": str(edge["max"]) if edge.get("max") is not None else "",
        "kind": "data only" if edge.get("trigger") is False else "starts it",
    }
