"""`workbench bench`: figures as JSON, of the right shape, from a home of its own. Their worth is for quiet machines."""

from __future__ import annotations

import json

import pytest

from tests.supervised import processes_of, workbench
from workbench.bench import shapes
from workbench.bench.engine import planned, run


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("bench") / "home"


def figures(home, *arguments) -> dict:
    done = workbench(home, "bench", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_an_experiment_is_measured_through_broker_workers_and_http(home):
    found = figures(home, "experiment", "--runs", "8", "--calls", "2", "--latency", "0.05", "--concurrency", "4")

    assert found["ended"] == {"succeeded": 8}
    assert found["ideal_s"] == 0.2
    assert found["ratio"] == pytest.approx(0.2 / found["wall_s"], abs=0.01)
    assert 0 < found["ratio"] < 1
    assert found["cpu_ms_per_call"] > 0
    assert found["peak_rss_mb"] > 50
    assert not home.exists()
    assert processes_of(home) == {}


@pytest.mark.parametrize("count", [1, 3])
def test_the_family_of_loops_makes_the_visits_that_it_should(count):
    plan = planned(shapes.loops(count))

    done = run(plan)

    assert (len(plan.nodes), len(plan.edges)) == (2 + 4 * count, 7 * count)
    assert sum(done.visits.values()) == shapes.loop_visits(count)
    assert done.output == "Loop limit reached (3)"


def test_the_engine_is_measured_in_medians(home):
    found = figures(home, "engine", "--repeat", "1", "--loops", "1", "--loops", "2")

    assert set(found) == {
        "loops", "chain_900", "wiring_1000", "fan_100x50ms", "unequal_branches", "agent_chain_100", "agent_chain_2000"
    }  # fmt: skip
    assert set(found["loops"]) == {"1", "2"}
    assert all(set(one) == {"compile_ms", "plan_us", "execute_ms"} for one in found["loops"].values())
    assert all(value > 0 for one in found["loops"].values() for value in one.values())
    assert found["fan_100x50ms"]["ms"] >= 50
    assert 1.1 <= found["unequal_branches"]["s"] < 1.9, "branches wait for each other"
    assert not home.exists()


def test_the_journal_is_measured_in_cpu_and_bytes_for_each_event(home):
    found = figures(home, "journal", "--events", "50")

    assert set(found) == {"calls", "texts", "conversation"}
    assert set(found["calls"]) == {"50"}
    shapes = [one for shape in found.values() for one in shape.values()]
    assert all(value > 0 for one in shapes for value in one.values())
    assert all(one["bytes_per_event"] < one["json_bytes_per_event"] / 10 for one in found["texts"].values())
    few, many = (one["bytes_per_event"] for one in found["conversation"].values())
    assert many < 1.5 * few, "a call takes more the later it comes"
    assert not home.exists()


def test_the_editor_is_measured_by_the_commands_that_people_use(home):
    found = figures(home, "editor", "--nodes", "6", "--repeat", "1")

    assert (found["nodes"], found["edges"]) == (6, 7)
    assert {"set", "move", "add_node", "rename", "undo"} < set(found)
    assert all(found[name]["median_ms"] > 0 and found[name]["cpu_ms"] >= 0 for name in ("set", "undo"))
    assert not home.exists()
