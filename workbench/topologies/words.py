"""Conditions, nodes and edges in short words, for pictures, lists and the history."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Json = Any
DEEPEST = 6


def condition_words(when: Json, depth: int = 0) -> str:
    """A condition as a short phrase; of one that makes no sense, only that it is a condition."""
    if not isinstance(when, Mapping) or depth > DEEPEST:
        return "if …"
    if when.get("otherwise"):
        return "otherwise"
    if "status" in when:
        return f"{when['status']}"
    if "contains_any" in when:
        return f"has {_several(when['contains_any'], ' or ')}"
    if "contains_none" in when:
        return f"has no {_several(when['contains_none'], ' or ')}"
    if "matches" in when:
        return f"matches /{when['matches']}/"
    if "field" in when:
        return _field_words(when)
    for key, joint in (("all", " and "), ("any", " or ")):
        if isinstance(when.get(key), list):
            return joint.join(condition_words(part, depth + 1) for part in when[key])
    if "not" in when:
        return f"not ({condition_words(when['not'], depth + 1)})"
    return "if …"


def _field_words(when: Mapping[str, Json]) -> str:
    field = str(when["field"])
    if "exists" in when:
        return f"{field} is {'there' if when['exists'] else 'missing'}"
    if "in" in when:
        return f"{field} is {_several(when['in'], ' or ')}"
    for key, sign in (("equals", "is"), ("gt", ">"), ("lt", "<")):
        if key in when:
            return f"{field} {sign} {_plain(when[key])}"
    return field


def _several(values: Json, joint: str) -> str:
    items = values if isinstance(values, list) else [values]
    return joint.join(_plain(item) for item in items[:4]) + (" …" if len(items) > 4 else "")


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)[:60]


def edge_words(edge: Mapping[str, Json], fired: int = 0) -> str:
    """What a reader must know of an edge: when it fires, how often at most, and how often it has."""
    parts = [condition_words(edge["when"])] if edge.get("when") is not None else []
    most = edge.get("max")
    if most is not None:
        parts.append(f"{fired} of {_plain(most)}" if fired else f"max {_plain(most)}")
    elif fired > 1:
        parts.append(f"{fired}×")
    return " · ".join(parts)


def edge_marks(edge: Mapping[str, Json]) -> list[str]:
    """What an edge does to messages, each in a word."""
    marks = [key for key in ("map", "reduce", "transform", "clear") if edge.get(key) is not None]
    marks += ["keep"] if edge.get("keep") is True else []
    return marks + (["no message"] if edge.get("carry") is False else [])


def edge_details(edge: Mapping[str, Json]) -> list[str]:
    """The same in full."""
    said = ["data only"] if edge.get("trigger") is False else []
    said += ["starts it without a message"] if edge.get("carry") is False else []
    if isinstance(edge.get("transform"), Mapping):
        said.append(_transform_words(edge["transform"]))
    if isinstance(edge.get("map"), Mapping):
        said.append(f"runs it once for each {_unit_words(edge['map'].get('split'))}")
    if isinstance(edge.get("reduce"), Mapping):
        said.append(f"in groups of {_plain(edge['reduce'].get('group_size', 3))} until one result is left")
    if edge.get("clear") is not None:
        said.append(f"clears {'everything kept and unread' if edge['clear'] == 'all' else _plain(edge['clear'])} first")
    return said + (["its message is kept over visits"] if edge.get("keep") is True else [])


def _transform_words(transform: Mapping[str, Json]) -> str:
    if "regex" in transform:
        found = f"{'every match' if transform.get('all') else 'the match'} of /{transform['regex']}/"
    elif "tag" in transform:
        found = f"what stands in <{transform['tag']}>"
    else:
        found = f"the field {_plain(transform.get('json', ''))}"
    return f"passes on {found}"


def _unit_words(split: Json) -> str:
    if not isinstance(split, Mapping):
        return "message"
    return f"match of /{split['regex']}/" if "regex" in split else f"element of {_plain(split.get('json', 'the list'))}"


def model_words(model: Json) -> str:
    """A model's name without its provider."""
    return model.partition("/")[2] or model if isinstance(model, str) else ""


def node_words(node: Mapping[str, Json], identity: str) -> str:
    """The small line of a node: which agent and model, which mode, which text."""
    kind = node.get("type")
    if kind == "agent":
        agent = node.get("agent")
        named = agent if isinstance(agent, str) and agent != identity else ""
        return " · ".join(part for part in (named, model_words(node.get("model"))) if part)
    if kind == "router":
        return "by rules" if node.get("mode") == "rules" else model_words(node.get("model"))
    if kind == "vote":
        by = node.get("by", "majority")
        return f"best {by.get('field')}" if isinstance(by, Mapping) else f"by {_plain(by)}"
    if kind == "literal":
        return " ".join(str(node.get("content", "")).split())[:80]
    if kind == "passthrough":
        return "all messages" if node.get("all") else ""
    if kind == "loop_counter":
        return f"at visit {_plain(node.get('count', 10))}"
    if kind == "loop_timer":
        return f"after {_plain(node.get('seconds', 60))} s"
    if kind in ("tool", "topology"):
        return said if isinstance(said := node.get(kind), str) else ""
    return ""


def node_marks(node: Mapping[str, Json]) -> list[str]:
    """What else a reader must know at a glance."""
    tools, retries = node.get("tools"), node.get("retries")
    found = [f"tools {len(tools)}"] if isinstance(tools, list) and tools else []
    if node.get("join") in ("all", "first"):
        found.append(f"join {node['join']}")
    if isinstance(node.get("output"), Mapping):
        found.append("json")
    found += [key for key in ("memory", "reflect", "clarify") if node.get(key)]
    if isinstance(node.get("max_steps"), int):
        found.append(f"steps {node['max_steps']}")
    if isinstance(retries, int) and retries:
        found.append(f"retries {retries}")
    if node.get("on_error") == "continue":
        found.append("on error continue")
    return found
