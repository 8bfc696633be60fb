from __future__ import annotations

from tests.engine.support import asks, run, topology

PASS = {"type": "passthrough"}


def star(router, script=None, content="a question"):
    document = topology(
        {
            "s": {"type": "literal", "content": content},
            "r": router,
            "a": PASS,
            "b": PASS,
            "t": {"type": "passthrough", "all": True},
        },
        [("s", "r"), ("r", "a"), ("r", "b"), ("a", "t"), ("b", "t")],
    )
    return run(document, script)


MODEL = {"type": "router", "system": "S", "prompt": "{{ inbox }}", "model": "scripted/x"}
RULES = {
    "type": "router",
    "mode": "rules",
    "rules": [
        {"when": {"contains_any": ["question"]}, "to": ["a"]},
        {"when": {"contains_any": ["both"]}, "to": ["a", "b"]},
    ],
}


def test_model_chooses_one_target_and_its_last_message_goes_there():
    result, journal = star(MODEL, {"nodes": {"r": [{"targets": ["b"]}]}})

    assert result.visits == {"s": 1, "r": 1, "b": 1, "t": 1}
    assert result.output == "a question"
    ended = next(event for event in journal.events if event.kind == "visit_ended" and event.node == "r")
    assert ended.targets == ("b",)


def test_model_may_choose_several():
    result, _ = star(MODEL, {"nodes": {"r": [{"targets": ["a", "b"]}]}})

    assert result.node_outputs["t"] == ["a question", "a question"]


def test_model_is_asked_for_an_enum_of_its_targets_and_end():
    _, journal = star(MODEL, {"nodes": {"r": [{"targets": ["end"]}]}})

    prompt = next(event for event in journal.events if event.kind == "model_called").messages[-1]["content"]
    assert all(f'"{name}"' in prompt for name in ("a", "b", "end"))


def test_end_chooses_nothing():
    result, _ = star(MODEL, {"nodes": {"r": [{"targets": ["end"]}]}})

    assert (result.status, result.visits) == ("incomplete", {"s": 1, "r": 1})


def test_choice_that_can_not_be_read_fails_after_bounded_repairs():
    result, _ = star(MODEL, {"nodes": {"r": [{"targets": ["c"]}]}})

    assert (result.status, result.code, result.usage.model_calls) == ("failed", "unclear_choice", 3)


def test_unclear_choice_may_have_a_target_of_its_own():
    result, _ = star({**MODEL, "on_unclear": "a"}, {"nodes": {"r": ["hm"]}})

    assert (result.status, result.visits["a"]) == ("succeeded", 1)


def test_first_rule_that_holds_decides_without_a_model():
    result, _ = star(RULES)

    assert result.visits == {"s": 1, "r": 1, "a": 1, "t": 1}
    assert result.usage.model_calls == 0


def test_no_rule_that_holds_is_unclear():
    assert star(RULES, content="x")[0].code == "unclear_choice"
    assert star({**RULES, "on_unclear": "end"}, content="x")[0].status == "incomplete"


def test_edge_of_a_chosen_target_still_needs_its_condition():
    document = topology(
        {"r": RULES, "a": PASS, "b": PASS, "t": PASS},
        [("r", "a", {"when": {"contains_any": ["never"]}}), ("r", "b"), ("a", "t"), ("b", "t")],
    )

    assert run(document, given="question")[0].visits == {"r": 1}


def test_otherwise_fires_for_a_chosen_target_when_nothing_else_did():
    document = topology(
        {"r": RULES, "a": PASS, "b": asks("p"), "t": PASS},
        [
            ("r", "a", {"when": {"contains_any": ["never"]}}),
            ("r", "a", {"when": {"otherwise": True}}),
            ("r", "b"),
            ("a", "t"),
            ("b", "t"),
        ],
    )

    assert run(document, given="question")[0].visits == {"r": 1, "a": 1, "t": 1}
