"""What changed, and what a condition says, in a few words."""

from __future__ import annotations

import json

import pytest

from workbench.topologies.changes import change_words
from workbench.topologies.words import condition_words, edge_words, node_words


def text(nodes=(), edges=(), **more) -> str:
    return json.dumps({"nodes": {node: {"type": "agent"} for node in nodes}, "edges": list(edges)} | more)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("", text("ab", [{}]), "created: 2 nodes, 1 edge"),
        (text("ab"), "", "deleted"),
        (text("a"), text("ab"), "+b"),
        (text("ab"), text("b"), "−a"),
        (text("a"), text("abcdef"), "+5 nodes"),
        (text("a"), json.dumps({"nodes": {"a": {"type": "vote"}}, "edges": []}), "changed a"),
        (text("ab"), text("ab", [{"from": "a"}]), "edges 0 → 1"),
        (text("ab", [{"from": "a"}]), text("ab", [{"from": "b"}]), "edges changed"),
        (text("a", limits={}), text("a", limits={"tokens": 3}, description="x"), "description · limits"),
        (text("a"), text("a", layout={"a": [1, 2]}), "layout only"),
        (text("a"), text("a"), "the same"),
        (text("a"), text("a") + "\n", "spelling only"),
        ("{", text("a"), "+a"),
        ("[]", "3", "spelling only"),
    ],
)
def test_a_change_is_said_in_a_few_words(before, after, words):
    assert change_words(before, after) == words


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ({"otherwise": True}, "otherwise"),
        ({"status": "failed"}, "failed"),
        ({"contains_any": ["yes", "ok"]}, "has yes or ok"),
        ({"contains_none": ["no"]}, "has no no"),
        ({"matches": "^a"}, "matches /^a/"),
        ({"field": "a.b", "equals": 3}, "a.b is 3"),
        ({"field": "a", "in": ["x", True]}, "a is x or true"),
        ({"field": "a", "gt": 0.5}, "a > 0.5"),
        ({"field": "a", "exists": False}, "a is missing"),
        ({"not": {"field": "a", "lt": 1}}, "not (a < 1)"),
        ({"all": [{"status": "failed"}, {"matches": "x"}]}, "failed and matches /x/"),
        ({"contains_any": ["a", "b", "c", "d", "e"]}, "has a or b or c or d …"),
        ("nonsense", "if …"),
        ({}, "if …"),
    ],
)
def test_a_condition_is_said_in_short_words(when, words):
    assert condition_words(when) == words


def test_an_edge_says_how_often_it_fired_of_how_often_it_may():
    assert edge_words({"max": 4}) == "max 4"
    assert edge_words({"max": 4}, fired=2) == "2 of 4"
    assert edge_words({}, fired=3) == "3×"
    assert edge_words({}, fired=1) == ""


def test_a_node_says_its_agent_and_model_or_how_it_decides():
    assert node_words({"type": "agent", "agent": "poet@2", "model": "ollama/qwen3:8b"}, "a") == "poet@2 · qwen3:8b"
    assert node_words({"type": "agent", "agent": "a"}, "a") == ""
    assert node_words({"type": "vote", "by": {"field": "score"}}, "a") == "best score"
    assert node_words({"type": "router", "mode": "rules"}, "a") == "by rules"
