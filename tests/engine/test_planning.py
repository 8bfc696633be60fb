from __future__ import annotations

import pytest

from tests.engine.support import SHELF, Shelf, agent, asks, planned, topology
from workbench.engine.errors import InvalidDocument
from workbench.engine.planning import RunPlan

PASS = {"type": "passthrough"}
ONE = topology(
    {"a": {"type": "agent", "agent": "writer"}, "t": PASS},
    [("a", "t")],
    defaults={"model": "ollama/x", "params": {"temperature": 0, "top_p": 0.5}},
    vars={"tone": "plain"},
)


def test_plan_holds_all_that_is_needed_to_run_again_without_the_catalogue():
    shelf = Shelf(agent("writer", prompt="P {{ inbox }}", params={"temperature": 1}, tools=("read_file",)))

    config = planned(ONE, shelf).nodes["a"].config

    assert (config["system"], config["prompt"], config["model"]) == ("You are writer.", "P {{ inbox }}", "ollama/x")
    assert config["params"] == {"temperature": 1, "top_p": 0.5}
    assert config["tools"] == ["read_file"]


def test_plan_survives_being_stored():
    plan = planned(ONE)

    again = RunPlan.model_validate(plan.model_dump(mode="json"))

    assert again.hash == plan.hash
    assert again == plan


def test_hash_changes_with_meaning_but_not_with_layout():
    plan = planned(ONE)

    assert planned(ONE | {"layout": {"a": [1, 2]}}).hash == plan.hash
    assert planned(ONE, overrides={"params": {"temperature": 0.7}}).hash != plan.hash
    assert planned(ONE, Shelf(agent("writer", system="Other"))).hash != plan.hash


def test_overrides_win_over_node_agent_and_defaults():
    document = topology(
        {"a": asks("{{ vars.tone }}", params={"temperature": 0.1}), "t": PASS}, [("a", "t")], vars={"tone": "plain"}
    )

    plan = planned(
        document,
        overrides={"model": "scripted/other", "params": {"temperature": 0.9}, "vars": {"tone": "wild"}},
        limits={"model_calls": 3},
    )

    assert plan.nodes["a"].config["model"] == "scripted/other"
    assert plan.nodes["a"].config["params"] == {"temperature": 0.9}
    assert (plan.vars, plan.limits.model_calls, plan.limits.tokens) == ({"tone": "wild"}, 3, 2_000_000)
    assert plan.models() == {"scripted/other"}


def test_model_override_serves_a_topology_that_names_none():
    document = topology({"a": {"type": "agent", "system": "S"}, "t": PASS}, [("a", "t")])

    assert planned_with_override(document).models() == {"scripted/x"}


def planned_with_override(document):
    import json

    from workbench.engine.planning import plan_topology
    from workbench.engine.validation import check_topology

    return plan_topology(check_topology(json.dumps(document), SHELF).spec, SHELF, overrides={"model": "scripted/x"})


@pytest.mark.parametrize(
    ("overrides", "limits", "word"),
    [
        ({"modle": "x"}, {}, "modle"),
        ({"vars": {"tune": 1}}, {}, "tune"),
        ({"params": {"temperature": "hot"}}, {}, "temperature"),
        ({"params": {"heat": 1}}, {}, "heat"),
        ({"model": "x"}, {}, "model"),
        ({}, {"tokens": -1}, "tokens"),
        ({}, {"coins": 1}, "coins"),
        ({"model": "nowhere/x"}, {}, "nowhere"),
    ],
)
def test_override_that_does_not_fit_is_a_sentence(overrides, limits, word):
    with pytest.raises(InvalidDocument) as error:
        planned(ONE, overrides=overrides, limits=limits)

    assert word in str(error.value)


def test_schema_with_null_in_it_is_kept_as_it_is():
    schema = {"type": "object", "properties": {"x": {"enum": [None, "a"], "default": None}}}

    plan = planned(topology({"a": asks("p", output={"json_schema": schema}), "t": PASS}, [("a", "t")]))

    assert plan.nodes["a"].config["output"]["json_schema"] == schema


def test_a_changed_plan_is_worked_out_anew():
    plan = planned(topology({"a": asks(params={"num_ctx": 2048})}, []))
    before = plan.hash, [node.config.params.num_ctx for node in plan.made_nodes()]

    changed = plan.with_windows({"scripted/x": 8192})

    assert changed.hash != before[0]
    assert [node.config.params.num_ctx for node in changed.made_nodes()] == [8192]
    assert (plan.hash, [2048]) == before
