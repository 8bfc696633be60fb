"""Before and after its answer an agent may ask, criticise itself and remember; all of it survives a crash."""

from __future__ import annotations

import pytest

from tests.engine.support import asks, planned, problems_of, run, topology
from workbench.engine.context import RunInput
from workbench.engine.events import EVENT, MemoryJournal

SCHEMA = {"json_schema": {"type": "object", "required": ["n"], "properties": {"n": {"$ref": "#/$defs/whole"}},
                          "$defs": {"whole": {"type": "integer"}}}}  # fmt: skip
PASS = {"type": "passthrough"}


def asked(journal, node):
    """The contents of the messages of each call of a node."""
    return [
        [message.get("content", "") for message in event.messages]
        for event in journal.events
        if event.kind == "model_called" and event.node == node
    ]


def pair(script, **fields):
    """A leader who hands a task to a worker."""
    nodes = {"lead": asks("p", system="You lead."), "work": asks("Do: {{ inbox }}", **fields)}
    return run(topology(nodes, [("lead", "work")]), {"nodes": {"lead": ["Paint it."], "work": script}})


# reflect


def test_an_answer_is_criticised_and_the_better_one_replaces_it():
    result, journal = pair(["draft", "too short", "final"], reflect={"rounds": 1})

    calls = asked(journal, "work")
    assert (result.output, len(calls)) == ("final", 3)
    assert calls[1][-2:] == ["draft", calls[1][-1]]
    assert calls[2][-2] == "too short"


def test_reflection_has_as_many_rounds_as_were_asked_for_and_its_own_prompt():
    reflect = {"rounds": 2, "prompt": "Is it right about {{ instance.problem }}?"}
    result, journal = pair(["a", "c1", "b", "c2", "c"], reflect=reflect)

    assert result.output == "c"
    assert [call[-1] for call in asked(journal, "work")].count("Is it right about input?") == 2


def test_an_answer_in_json_stays_json_and_one_that_reflection_spoils_stands():
    better, _ = pair(['{"n": 1}', "wrong", '{"n": 2}'], reflect={}, output=SCHEMA)
    spoilt, journal = pair(['{"n": 1}', "wrong", "two", "two", "two"], reflect={}, output=SCHEMA)

    assert (better.output, spoilt.output) == ('{"n": 2}', '{"n": 1}')
    assert any(event.kind == "noted" and event.code == "reflection_unused" for event in journal.events)


@pytest.mark.parametrize("rounds", [0, 4])
def test_reflection_is_bounded(rounds):
    document = topology({"a": asks("p", reflect={"rounds": rounds})}, [])

    assert [problem.path for problem in problems_of(document)] == ["/nodes/a/reflect/rounds"]


def test_the_names_in_a_prompt_of_reflection_are_checked():
    document = topology({"a": asks("p", reflect={"prompt": "{{ nodes.b.output }}"})}, [])

    assert [problem.path for problem in problems_of(document)] == ["/nodes/a/reflect/prompt"]


# clarify


def test_an_agent_asks_its_predecessor_who_answers_in_its_own_role():
    result, journal = pair(['{"question": "Which colour?"}', "Blue.", '{"answer": "It is blue."}'], clarify={"max": 2})

    first, told, last = asked(journal, "work")
    assert result.output == "It is blue."
    assert told[0] == "You lead."
    assert "Paint it." in told[1]
    assert "Which colour?" in told[1]
    assert last[-1] == "lead answers:\n\nBlue."
    assert '{"answer": …}' in first[-1]


def test_questions_are_bounded_and_then_it_must_answer():
    script = ['{"question": "One?"}', "1", '{"question": "Two?"}', "2", "Done."]
    result, journal = pair(script, clarify={"max": 2})

    assert (result.output, result.usage.model_calls) == ("Done.", 6)
    assert "asked all that you may" in asked(journal, "work")[-1][-1]


def test_an_agent_need_not_ask_and_its_answer_in_json_is_checked():
    result, _ = pair(['{"answer": {"n": "x"}}', '{"answer": {"n": 3}}'], clarify={"max": 1}, output=SCHEMA)

    assert (result.output, result.usage.model_calls) == ('{"n": 3}', 3)


def test_where_no_agent_spoke_last_nobody_is_asked():
    nodes = {"lead": asks("p"), "pass": PASS, "work": asks("{{ inbox }}", clarify={"max": 1})}
    edges = [("lead", "work"), ("lead", "pass"), ("pass", "work")]

    result, _ = run(topology(nodes, edges), {"nodes": {"lead": ["x"], "work": ["plain"]}})

    assert (result.output, result.usage.model_calls) == ("plain", 2)


def test_the_predecessor_is_fixed_in_the_plan_with_its_model_and_params():
    nodes = {"lead": asks("p", system="L", params={"temperature": 0}), "work": asks(clarify={"max": 1})}

    plan = planned(topology(nodes, [("lead", "work")]))

    role = plan.nodes["work"].config["clarify"]["roles"]["lead"]
    assert role == {"system": "L", "model": "scripted/x", "params": {"temperature": 0.0}}


@pytest.mark.parametrize(
    ("lead", "work", "code"),
    [
        ({"type": "literal", "content": "x"}, asks(clarify={"max": 1}), "nobody_to_ask"),
        (asks("p", system="{{ inbox }}"), asks(clarify={"max": 1}), "role_of_its_own"),
        (asks("p"), asks(clarify={"max": 1}, tools=["read_file"]), "clarify_with_tools"),
        (asks("p"), asks(clarify={"max": 6}), "bad_value"),
    ],
)
def test_what_can_not_be_clarified_is_said_before_the_run(lead, work, code):
    problems = problems_of(topology({"lead": lead, "work": work}, [("lead", "work")]))

    assert [(problem.code, problem.path.startswith("/nodes/work/clarify")) for problem in problems] == [(code, True)]


# memory

LOOP = topology(
    {"a": asks("Turn {{ visit }}", memory={"short_term": True}), "b": asks("{{ inbox }}"), "t": PASS},
    [("a", "b"), ("b", "a", {"max": 3}), ("b", "t", {"when": {"otherwise": True}})],
)
TURNS = {"nodes": {"a": ["one", "two", "three", "four"], "b": ["go on"]}}


def test_an_agent_remembers_its_earlier_turns_in_a_loop():
    _, journal = run(LOOP, TURNS)

    assert asked(journal, "a")[2] == ["S", "Turn 1", "one", "Turn 2", "two", "Turn 3"]


def test_memory_can_be_short():
    nodes = {**LOOP["nodes"], "a": {**LOOP["nodes"]["a"], "memory": {"short_term": {"messages": 2}}}}

    _, journal = run({**LOOP, "nodes": nodes}, TURNS)

    assert asked(journal, "a")[3] == ["S", "Turn 3", "three", "Turn 4"]


def test_a_fresh_entry_of_the_loop_starts_without_memory():
    nodes = {"plan": asks("p"), "a": asks("Turn {{ visit }}", memory={"short_term": True}), "b": asks("q"), "t": PASS}
    edges = [
        ("plan", "a"),
        ("a", "b"),
        ("b", "a", {"when": {"contains_any": ["inner"]}}),
        ("b", "plan", {"when": {"contains_any": ["outer"]}}),
        ("b", "t", {"when": {"otherwise": True}}),
    ]
    script = {"nodes": {"plan": ["p"], "a": ["one", "two", "three"], "b": ["inner", "outer", "end"]}}

    _, journal = run(topology(nodes, edges), script)

    assert asked(journal, "a") == [["S", "Turn 1"], ["S", "Turn 1", "one", "Turn 2"], ["S", "Turn 3"]]


EVERYTHING = topology(
    {
        "lead": asks("p"),
        "work": asks("Turn {{ visit }}: {{ inbox }}", memory={"short_term": True}, clarify={"max": 1}, reflect={}),
        "check": asks("{{ inbox }}"),
        "t": PASS,
    },
    [
        ("lead", "work"),
        ("work", "check"),
        ("check", "work", {"max": 2}),
        ("check", "t", {"when": {"otherwise": True}, "carry": False}),
        ("work", "t", {"trigger": False}),
    ],
)
WORK = ['{"question": "Q1?"}', "A1.", "one", "bad", "ONE", '{"answer": "two"}', "bad", "TWO", '{"question": "Q3?"}', "A3.",
        "three", "bad", "THREE"]  # fmt: skip
TALK = {"nodes": {"lead": ["Begin."], "work": WORK, "check": ["again"]}}


def test_a_run_that_was_cut_anywhere_ends_the_same_and_asks_nothing_twice():
    whole, journal = run(EVERYTHING, TALK)
    assert whole.output == "THREE"

    for cut in range(1, len(journal.events)):
        kept = [EVENT.validate_json(event.model_dump_json()) for event in journal.events[:cut]]
        again, rest = run(EVERYTHING, TALK, journal=MemoryJournal(kept))

        assert again.node_outputs == whole.node_outputs
        assert again.usage.model_calls == whole.usage.model_calls
        assert asked_of(kept) + asked_of(rest.events) == asked_of(journal.events)


def asked_of(events):
    return [event.messages for event in events if event.kind == "model_called"]


def panel(*edges, **memory):
    nodes = {name: asks(f"{name} {{{{ visit }}}}", memory=memory) for name in ("a", "b", "c")}
    return topology(nodes | {"t": PASS}, edges)


BOARD = panel(
    ("a", "b"), ("b", "c"), ("c", "a", {"max": 1}), ("c", "t", {"when": {"otherwise": True}}), blackboard="plan"
)
SAID = {"nodes": {"a": ["a1", "a2"], "b": ["b1", "b2"], "c": ["c1", "c2"]}}


def test_agents_that_share_a_blackboard_read_what_was_written_before_them():
    _, journal = run(BOARD, SAID)

    first, second = asked(journal, "b")
    assert first[-1] == "b 1\n\nThe blackboard so far:\n\na: a1"
    assert second[-1] == "b 2\n\nThe blackboard so far:\n\na: a1\n\nb: b1\n\nc: c1\n\na: a2"


@pytest.mark.parametrize("slow", ["a", "b"])
def test_what_branches_write_side_by_side_only_those_after_them_read(slow):
    edges = [("s", "a"), ("s", "b"), ("a", "c"), ("b", "c"), ("c", "t")]
    document = panel(*edges, blackboard="plan")
    document["nodes"] = {"s": PASS} | document["nodes"]
    document["start"] = ["s"]
    said = {"a": ["a1"], "b": ["b1"], "c": ["c1"]}
    said[slow] = [{"text": f"{slow}1", "latency_s": 0.05}]

    _, journal = run(document, {"nodes": said})

    assert [asked(journal, name)[0][-1] for name in ("a", "b")] == ["a 1", "b 1"]
    assert asked(journal, "c")[0][-1] == "c 1\n\nThe blackboard so far:\n\na: a1\n\nb: b1"


def test_a_blackboard_for_one_is_warned_of():
    document = topology({"a": asks("p", memory={"blackboard": "x"})}, [])

    assert [(p.severity, p.code, p.path) for p in problems_of(document)] == [
        ("warning", "blackboard_alone", "/nodes/a/memory/blackboard")
    ]


FILES = {"tea.txt": "Tea grows in Assam.\n\nIt is picked by hand.", "coffee.txt": "Coffee grows in Ethiopia."}


def test_passages_of_the_instances_files_that_fit_the_prompt_are_added():
    retrieve = {"from": "instance.files", "top_k": 1}
    document = topology({"a": asks("Where does coffee grow?", memory={"retrieve": retrieve})}, [])

    _, journal = run(document, {"nodes": {"a": ["x"]}}, given=RunInput("p", files=FILES))

    assert asked(journal, "a")[0][-1].endswith("Passages that may help:\n\n[coffee.txt]\nCoffee grows in Ethiopia.")


def test_passages_of_the_run_are_those_said_before():
    nodes = {"a": asks("p"), "b": asks("p"), "c": asks("rain?", memory={"retrieve": {"from": "run", "top_k": 1}})}
    script = {"nodes": {"a": ["The rain began."], "b": ["The sun shone."], "c": ["x"]}}

    _, journal = run(topology(nodes, [("a", "b"), ("b", "c")]), script)

    assert asked(journal, "c")[0][-1] == "rain?\n\nPassages that may help:\n\n[a]\nThe rain began."


def test_where_nothing_fits_nothing_is_added():
    document = topology({"a": asks("zzz", memory={"retrieve": {"from": "instance.files"}})}, [])

    _, journal = run(document, {"nodes": {"a": ["x"]}}, given=RunInput("p", files=FILES))

    assert asked(journal, "a") == [["S", "zzz"]]


def test_a_blackboard_survives_a_cut_anywhere():
    nodes = {name: node | ({"memory": {"blackboard": "plan", "short_term": True, "retrieve": {"from": "run"}}}
             if node["type"] == "agent" else {}) for name, node in BOARD["nodes"].items()}  # fmt: skip
    document = {**BOARD, "nodes": nodes}
    _, journal = run(document, SAID)

    for cut in range(1, len(journal.events)):
        kept = [EVENT.validate_json(event.model_dump_json()) for event in journal.events[:cut]]
        _, rest = run(document, SAID, journal=MemoryJournal(kept))

        assert asked_of(kept) + asked_of(rest.events) == asked_of(journal.events)
