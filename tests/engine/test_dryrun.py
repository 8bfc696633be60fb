"""A dry run says which edges can fire, without asking anybody anything."""

from __future__ import annotations

import time

import pytest

from tests.engine.support import asks, planned, topology
from workbench.engine.dryrun import dry_run

VERDICT = {"json_schema": {"type": "object", "required": ["verdict", "score"], "properties": {
    "verdict": {"enum": ["accept", "revise", "drop"]}, "score": {"type": "number", "minimum": 0, "maximum": 1},
    "notes": {"type": "string"}}}}  # fmt: skip
PASS = {"type": "passthrough"}


def fired(document):
    return [edge.fired for edge in dry_run(planned(document)).edges]


def fan(source, *whens, **more):
    """A node with an edge per condition, each to a node of its own."""
    targets = [f"t{number}" for number in range(len(whens))]
    nodes = {"source": source, **dict.fromkeys(targets, PASS)}
    edges = [("source", target, {"when": when} if when else {}) for target, when in zip(targets, whens, strict=True)]
    return topology(nodes, edges, end=targets, **more)


@pytest.mark.parametrize(
    "when",
    [
        {"contains_any": ["DONE", "FINISHED"]},
        {"contains_none": ["a", "e"]},
        {"matches": r"^Score: [1-9]\d?$"},
        {"matches": "done", "case_sensitive": False},
        {"not": {"contains_none": ["x"]}},
        {"all": [{"contains_any": ["a1"]}, {"contains_none": ["b1"]}, {"matches": r"c\d"}]},
        {"any": [{"field": "x", "exists": True}, {"contains_any": ["word"]}]},
        {"otherwise": True},
    ],
)
def test_a_condition_on_text_is_met(when):
    assert fired(fan(asks(), when, {"contains_any": ["something else"]})) == [True, True]


@pytest.mark.parametrize(
    "when",
    [
        {"field": "verdict", "equals": "drop"},
        {"field": "verdict", "in": ["drop", "other"]},
        {"not": {"field": "verdict", "in": ["accept", "revise"]}},
        {"field": "score", "gt": 0.9},
        {"field": "score", "lt": 0.1},
        {"field": "notes", "exists": False},
        {"field": "notes", "exists": True},
        {"all": [{"field": "verdict", "equals": "revise"}, {"field": "score", "gt": 0.5}]},
        {"contains_any": ["look again"]},
        {"otherwise": True},
    ],
)
def test_a_condition_on_json_is_met_within_the_schema(when):
    assert fired(fan(asks(output=VERDICT), when, {"field": "score", "equals": 0.5})) == [True, True]


def test_an_edge_that_can_never_fire_is_a_warning_at_its_place_with_the_reason():
    document = fan(
        asks(output=VERDICT), {"field": "verdict", "equals": "acept"}, {"otherwise": True}, {"field": "score", "gt": 1}
    )

    report = dry_run(planned(document))

    assert [edge.fired for edge in report.edges] == [False, True, False]
    assert [problem.path for problem in report.problems()] == ["/edges/0", "/edges/2"]
    assert {problem.severity for problem in report.problems()} == {"warning"}
    assert "no output of node 'source'" in report.edges[0].why.lower()


@pytest.mark.parametrize(
    ("document", "edge", "why"),
    [
        (fan(asks(), {"field": "verdict", "equals": "x"}, None), 0, "answers in text"),
        (fan(asks(), {"status": "failed"}, None), 0, '"on_error" to "continue"'),
        (fan({"type": "literal", "content": "no"}, {"contains_any": ["yes"]}, None), 0, "always says the same"),
        (fan(asks(), None, {"otherwise": True}), 1, "another edge"),
        (topology({"a": {"type": "literal", "content": "no"}, "b": PASS, "c": PASS},
                  [("a", "b", {"when": {"contains_any": ["yes"]}}), ("b", "c"), ("a", "c")]), 1, "never ran"),
    ],
)  # fmt: skip
def test_the_reason_says_what_keeps_an_edge_from_firing(document, edge, why):
    found = dry_run(planned(document)).edges[edge]

    assert not found.fired
    assert why.lower() in found.why.lower()


def test_a_failure_fires_the_edges_that_ask_for_it_where_the_run_goes_on():
    assert fired(fan(asks(on_error="continue"), {"status": "failed"}, {"status": "succeeded"}, None)) == [True] * 3


def test_a_router_chooses_every_target_and_a_judge_is_answered_for():
    nodes = {"ask": {"type": "router", "model": "scripted/x"}, "a": asks(), "b": asks(), "c": asks(),
             "best": {"type": "vote", "by": "judge", "model": "scripted/x"}}  # fmt: skip
    edges = [("ask", "a"), ("ask", "b"), ("ask", "c"), ("a", "best"), ("b", "best"), ("c", "best")]

    assert all(fired(topology(nodes, edges)))


def test_rules_and_forwarders_are_reached_by_what_is_said_before_them():
    rules = [{"when": {"contains_any": ["left"]}, "to": ["a"]}, {"when": {"matches": "^right"}, "to": ["b"]}]
    nodes = {"say": asks(), "pass": PASS, "ask": {"type": "router", "mode": "rules", "rules": rules, "on_unclear": "end"},
             "a": PASS, "b": PASS}  # fmt: skip
    edges = [("say", "pass"), ("pass", "ask", {"when": {"contains_none": ["stop"]}}), ("ask", "a"), ("ask", "b")]

    assert all(fired(topology(nodes, edges, end=["a", "b"])))


def test_the_input_is_chosen_too():
    assert all(fired(fan(PASS, {"contains_any": ["question"]}, {"matches": r"^\d+$"})))


def test_loops_are_gone_round_until_counters_and_limits_open_their_ways_out():
    nodes = {"write": asks(), "review": asks(output=VERDICT), "count": {"type": "loop_counter", "count": 7},
             "give_up": PASS, "publish": PASS}  # fmt: skip
    edges = [
        ("write", "review"),
        ("review", "write", {"when": {"field": "verdict", "equals": "revise"}}),
        ("review", "count", {"when": {"field": "verdict", "equals": "revise"}}),
        ("count", "write"),
        ("count", "give_up"),
        ("review", "publish", {"when": {"field": "verdict", "equals": "accept"}}),
    ]

    assert all(fired(topology(nodes, edges, end=["publish", "give_up"])))


def test_an_edge_that_only_fires_when_another_is_used_up_is_reached():
    edges = [("a", "b"), ("b", "a", {"max": 5}), ("b", "c", {"when": {"otherwise": True}})]

    assert all(fired(topology({"a": asks(), "b": asks(), "c": PASS}, edges)))


def test_a_timer_is_over_at_once():
    nodes = {"a": asks(), "timer": {"type": "loop_timer", "seconds": 3600}, "b": PASS}

    assert all(fired(topology(nodes, [("a", "timer"), ("timer", "b"), ("a", "a", {"max": 3})])))


def test_a_join_of_all_is_reached_by_every_branch_at_once():
    yes = {"when": {"contains_any": ["yes"]}}
    nodes = {"s": asks(), "a": asks(), "b": asks(), "join": {"type": "passthrough", "join": "all"}, "last": PASS}
    edges = [("s", "a"), ("s", "b"), ("a", "join", yes), ("b", "join", yes), ("join", "last")]

    assert all(fired(topology(nodes, edges)))


def test_a_map_runs_over_units_that_were_made_for_its_split():
    nodes = {"list": asks(), "each": asks(on_error="continue"), "sum": asks(), "alarm": PASS}
    edges = [
        ("list", "each", {"map": {"split": {"regex": r"(?m)^- (.+)$"}}}),
        ("each", "sum", {"map": {}, "reduce": {"group_size": 2}}),
        ("each", "alarm", {"when": {"status": "failed"}}),
    ]

    assert all(fired(topology(nodes, edges, end=["sum", "alarm"])))


def test_a_transform_that_must_find_something_is_given_something_to_find():
    strict = {"transform": {"tag": "files"}}
    picky = {"transform": {"regex": r"score=(\d+)", "group": 1}, "when": {"contains_any": ["ready"]}}
    nodes = {"a": asks(), "b": PASS, "c": PASS}

    assert all(fired(topology(nodes, [("a", "b", strict), ("a", "c", picky)], end=["b", "c"])))


def test_a_nested_topology_is_answered_for():
    inner = topology({"x": asks()}, [])
    nodes = {"in": {"type": "topology", "topology": inner}, "out": PASS}

    assert fired(topology(nodes, [("in", "out", {"when": {"contains_any": ["ready"]}})])) == [True]


def test_edges_inside_nested_topologies_are_driven_too_and_named_at_their_place():
    deepest = topology({"p": asks(output=VERDICT), "q": PASS, "r": PASS},
                       [("p", "q", {"when": {"field": "verdict", "equals": "drop"}}),
                        ("p", "r", {"when": {"field": "verdict", "equals": "other"}})], end=["q", "r"])  # fmt: skip
    inner = topology({"x": asks(), "y": {"type": "topology", "topology": deepest}, "z": PASS},
                     [("x", "y", {"when": {"contains_any": ["go"]}}), ("y", "z")])  # fmt: skip
    nodes = {
        "a": asks(),
        "in": {"type": "topology", "topology": inner},
        "never": {"type": "topology", "topology": inner},
    }
    edges = [("a", "in"), ("a", "never", {"when": {"status": "failed"}})]

    report = dry_run(planned(topology(nodes, edges, end=["in", "never"])))

    inside = report.as_json()["nested"]["in"]
    assert [edge["fired"] for edge in inside["edges"]] == [True, True]
    assert [edge["fired"] for edge in inside["nested"]["y"]["edges"]] == [True, False]
    assert {edge.fired for edge in report.nested[1].report.edges} == {False}
    assert [problem.path for problem in report.problems()] == [
        "/edges/1",
        "/nodes/in/topology/nodes/y/topology/edges/1",
        "/nodes/never/topology/edges/0",
        "/nodes/never/topology/edges/1",
    ]


def test_the_report_is_the_same_each_time_and_has_the_keys_that_are_promised():
    document = fan(asks(output=VERDICT), {"field": "score", "gt": 0.5}, {"field": "x", "equals": 1})

    first, second = (dry_run(planned(document)).as_json() for _ in range(2))

    assert first == second
    assert set(first) == {"edges", "runs", "visits", "nested"}
    assert set(first["edges"][0]) == {"edge", "from", "to", "fired", "why"}
    assert "source" in first["edges"][0]["why"]


def hundred():
    """Twenty stages of five nodes: a review loop with a helper, a router, and a way out that opens only in the end."""
    nodes, edges = {}, []
    for stage in range(20):
        write, review, ask, one, two = (f"{name}{stage}" for name in ("write", "review", "ask", "one", "two"))
        nodes |= {write: asks(), review: asks(output=VERDICT), ask: {"type": "router", "model": "scripted/x"},
                  one: asks(), two: asks()}  # fmt: skip
        edges += [
            (write, review),
            (review, write, {"when": {"field": "verdict", "equals": "revise"}, "max": 9}),
            (review, ask, {"when": {"field": "verdict", "equals": "accept"}}),
            (ask, one),
            (ask, two),
        ]
        if stage:
            edges += [
                (f"one{stage - 1}", write, {"when": {"contains_any": [f"go {stage}"]}}),
                (f"two{stage - 1}", write),
            ]
    edges.append(("one19", "one19", {"when": {"field": "x", "exists": True}}))
    return topology(nodes, edges, end=["one19", "two19"])


@pytest.mark.parametrize("nested", [False, True])
def test_a_hundred_nodes_take_less_than_two_seconds_of_work(nested):
    document = hundred()
    if nested:
        document = topology({"in": {"type": "topology", "topology": document}, "t": PASS}, [("in", "t")])
    plan = planned(document)

    began = time.process_time()
    report = dry_run(plan)

    assert time.process_time() - began < 2
    assert [edge.target for edge in report.every_edge() if not edge.fired] == ["one19"]


def test_a_bound_on_visits_is_kept_and_said():
    report = dry_run(planned(hundred()), max_visits=10)

    assert report.visits <= 10 + 200
    assert any("was not reached within" in edge.why for edge in report.edges)


def test_an_output_whose_schema_admits_nothing_fails_and_nothing_behind_it_fires():
    assert fired(fan(asks(output={"json_schema": {"not": {}}}), None)) == [False]
