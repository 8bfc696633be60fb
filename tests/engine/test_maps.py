"""Maps, reductions, joins, counters, retries: through a run."""

from __future__ import annotations

import json

import pytest

from tests.engine.support import asks, run, topology
from workbench.engine.events import EVENT, MemoryJournal

PASS = {"type": "passthrough"}
ALL = {"type": "passthrough", "all": True}


def literal(text):
    return {"type": "literal", "content": text}


def mapped(items, node, script=None, **edge):
    document = topology(
        {"s": literal(json.dumps({"items": items})), "n": node, "t": ALL},
        [("s", "n", {"map": {"split": {"json": "items"}}, **edge}), ("n", "t")],
    )
    return run(document, script)


def test_map_runs_its_target_once_per_unit_and_keeps_their_order():
    rules = {
        "rules": [
            {"contains": "b", "answer": {"text": "B", "latency_s": 0}},
            {"contains": "a", "answer": {"text": "A", "latency_s": 0.05}},
        ]
    }

    result, journal = mapped(["a", "b", "a"], asks("{{ inbox }}"), rules)

    assert result.node_outputs["t"] == ["A", "B", "A"]
    assert (result.visits["n"], result.usage.model_calls) == (1, 3)
    assert sorted(event.unit for event in journal.events if event.kind == "model_called") == [0, 1, 2]


@pytest.mark.parametrize("count", [0, 1, 10_000])
def test_map_over_any_number_of_units(count):
    result, _ = mapped([f"u{number}" for number in range(count)], PASS)

    assert result.status == "succeeded"
    assert result.visits["n"] == 1
    assert result.node_outputs["n"] == [f"u{number}" for number in range(count)]


def test_messages_of_other_edges_stand_before_every_unit():
    document = topology(
        {"s": PASS, "x": literal("ctx"), "i": literal("1 2"), "n": asks("{{ inbox[0] }}/{{ inbox[1] }}"), "t": ALL},
        [("s", "x"), ("s", "i"), ("i", "n", {"map": {"split": {"regex": "[0-9]"}}}), ("x", "n"), ("n", "t")],
    )

    assert run(document)[0].node_outputs["t"] == ["ctx/1", "ctx/2"]


def test_reduction_goes_layer_by_layer_to_one():
    result, _ = mapped(list("abcdefg"), asks("{% for m in inbox %}{{ m }}{% endfor %}"), reduce={"group_size": 3})

    assert result.node_outputs["n"] == ["abcdefg"]
    assert (result.visits["n"], result.usage.model_calls) == (1, 4)


def test_reduction_of_one_unit_still_runs_the_node_once():
    result, _ = mapped(["a"], asks("<{{ inbox }}>"), reduce={"group_size": 2})

    assert (result.output, result.usage.model_calls) == ("<a>", 1)


def test_unit_that_failed_is_a_message_with_its_status_where_the_node_may_fail():
    rules = {"rules": [{"contains": "bad", "answer": {"fault": "broken"}}]}
    document = topology(
        {
            "s": literal("good bad good"),
            "n": asks("{{ inbox }}", on_error="continue"),
            "rescue": literal("saved"),
            "t": ALL,
        },
        [
            ("s", "n", {"map": {"split": {"regex": "[a-z]+"}}}),
            ("n", "t"),
            ("n", "rescue", {"when": {"status": "failed"}}),
            ("rescue", "t"),
        ],
    )

    result, _ = run(document, rules)

    assert result.status == "succeeded"
    assert result.node_outputs["t"] == ["good", "good", "saved"]


def test_unit_that_failed_fails_the_run_where_the_node_may_not():
    result, _ = mapped(
        ["good", "bad"],
        asks("{{ inbox }}"),
        {"rules": [{"contains": "bad", "answer": {"fault": {"code": "broken", "message": "It broke."}}}]},
    )

    assert (result.status, result.code) == ("failed", "broken")
    assert "1 of 2 units" in result.reason
    assert "It broke." in result.reason


def test_limit_inside_a_map_lets_the_calls_under_way_finish():
    document = topology(
        {"s": literal("a b c d e f"), "n": asks("{{ inbox }}"), "t": ALL},
        [("s", "n", {"map": {"split": {"regex": "[a-z]"}, "max_parallel": 2}}), ("n", "t")],
    )

    result, journal = run(document, {"default": "x", "latency_s": 0.01}, limits={"model_calls": 3})

    assert (result.status, result.code) == ("limit_reached", "model_calls")
    assert sum(event.kind == "model_called" for event in journal.events) == 3


def test_map_that_dies_in_the_middle_repeats_no_call():
    whole, journal = mapped(list("abcd"), asks("{{ inbox }}"), {"latency_s": 0})
    for cut in range(1, len(journal.events)):
        kept = [EVENT.validate_json(event.model_dump_json()) for event in journal.events[:cut]]
        document = topology(
            {"s": literal(json.dumps({"items": list("abcd")})), "n": asks("{{ inbox }}"), "t": ALL},
            [("s", "n", {"map": {"split": {"json": "items"}}}), ("n", "t")],
        )
        again, rest = run(document, {"latency_s": 0}, journal=MemoryJournal(kept))

        assert again.node_outputs == whole.node_outputs
        made = sum(event.kind == "model_called" for event in [*kept, *rest.events])
        assert (made, again.usage.model_calls) == (4, 4)


def test_transform_on_an_edge_changes_what_arrives():
    document = topology(
        {"a": literal("code: <files>x</files>"), "b": PASS}, [("a", "b", {"transform": {"tag": "files"}})]
    )

    assert run(document)[0].output == "x"


def test_transform_that_finds_nothing_fails_the_run_naming_the_edge():
    result, _ = run(topology({"a": literal("x"), "b": PASS}, [("a", "b", {"transform": {"regex": "[0-9]"}})]))

    assert (result.status, result.code) == ("failed", "no_match")
    assert "'a' to 'b'" in result.reason


def test_transform_that_drops_lets_otherwise_fire():
    document = topology(
        {"a": literal("x"), "b": PASS, "c": PASS},
        [
            ("a", "b", {"transform": {"regex": "[0-9]", "on_no_match": "drop"}}),
            ("a", "c", {"when": {"otherwise": True}}),
        ],
        end=["b", "c"],
    )

    assert run(document)[0].outputs == {"c": "x"}


def test_join_of_all_is_skipped_and_says_so_when_one_source_does_not_fire():
    document = topology(
        {"s": literal("x"), "a": PASS, "b": PASS, "j": {**ALL, "join": "all"}, "t": PASS},
        [("s", "a"), ("s", "b"), ("a", "j"), ("b", "j", {"when": {"contains_any": ["y"]}}), ("j", "t"), ("s", "t")],
    )

    result, journal = run(document)

    assert "j" not in result.visits
    assert any(event.kind == "noted" and "'b'" in event.text for event in journal.events)


def test_join_at_the_first_takes_the_quickest_and_a_replay_takes_the_same():
    document = topology(
        {"s": literal("x"), "a": asks("p"), "b": asks("p"), "j": {**ALL, "join": "first"}},
        [("s", "a"), ("s", "b"), ("a", "j"), ("b", "j")],
    )
    slow = {"nodes": {"a": [{"text": "A", "latency_s": 0.1}], "b": ["B"]}}
    result, journal = run(document, slow)
    assert result.node_outputs["j"] == ["B"]

    quick = {"nodes": {"a": ["A"], "b": [{"text": "B", "latency_s": 0.1}]}}
    first = next(place for place, event in enumerate(journal.events) if event.kind == "joined")
    again, _ = run(document, quick, journal=MemoryJournal(journal.events[: first + 1]))

    assert again.node_outputs["j"] == ["B"]


def test_counter_counts_afresh_at_each_entry_of_its_loop():
    document = topology(
        {
            "s": literal("go"),
            "o": PASS,
            "e": PASS,
            "w": PASS,
            "g": {"type": "loop_counter", "count": 3, "message": "three"},
            "c": {"type": "loop_counter", "count": 2, "message": "twice"},
            "t": PASS,
        },
        [
            ("s", "o"),
            ("o", "e"),
            ("e", "w"),
            ("w", "e"),
            ("w", "g"),
            ("g", "e"),
            ("g", "c"),
            ("c", "t"),
            ("c", "o"),
            ("g", "o"),
        ],
    )

    result, _ = run(document)

    assert (result.status, result.output) == ("succeeded", "twice")
    assert result.visits == {"s": 1, "o": 2, "e": 6, "w": 6, "g": 6, "c": 2, "t": 1}


@pytest.mark.parametrize(("loops", "rounds"), [(1, 3), (2, 3), (8, 3), (64, 2)])
def test_family_of_loops_makes_four_visits_a_round_and_two(loops, rounds):
    nodes = {"S": literal("go")}
    edges = []
    for i in range(loops):
        nodes |= {
            f"E{i}": PASS,
            f"W{i}": PASS,
            f"R{i}": PASS,
            f"G{i}": {"type": "loop_counter", "count": rounds, "message": "out"},
        }
        edges += (
            [("S", f"E{i}")] + [(f"{a}{i}", f"{b}{i}") for a, b in ("EW", "WR", "RE", "RG", "GE")] + [(f"G{i}", "T")]
        )
    result, _ = run(topology({**nodes, "T": PASS}, edges))

    assert (sum(result.visits.values()), result.output) == (4 * rounds * loops + 2, "out")


def test_loop_goes_on_until_its_timer_emits():
    document = topology(
        {
            "s": literal("x"),
            "w": asks("p"),
            "v": PASS,
            "clock": {"type": "loop_timer", "seconds": 0.15, "message": "over"},
            "t": PASS,
        },
        [("s", "w"), ("w", "clock"), ("w", "v"), ("v", "w"), ("clock", "w"), ("clock", "t")],
    )

    result, _ = run(document, {"default": "y", "latency_s": 0.06})

    assert (result.status, result.output) == ("succeeded", "over")
    assert result.visits["w"] >= 3


def test_retry_starts_from_a_clean_workspace(tmp_path):
    workspace = tmp_path / "work"
    workspace.mkdir()
    (workspace / "kept.txt").write_text("as it was")
    script = [
        {"text": "", "tool_calls": [{"name": "write_file", "arguments": {"path": "kept.txt", "content": "spoilt"}}]},
        {"fault": "broken"},
        "done",
    ]
    document = topology({"a": asks("p", tools=["write_file"], retries=1), "t": PASS}, [("a", "t")])

    result, journal = run(document, {"nodes": {"a": script}}, workspace=workspace)

    assert (result.status, result.output) == ("succeeded", "done")
    assert (workspace / "kept.txt").read_text() == "as it was"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["work", "work.git"]
    assert any(event.kind == "noted" and event.code == "retry" for event in journal.events)
