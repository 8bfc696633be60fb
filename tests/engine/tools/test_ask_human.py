from __future__ import annotations

from tests.engine.people import Stage, said
from tests.engine.support import asks, topology

PASS = {"type": "passthrough"}
CALL = {"tool_calls": [{"name": "ask_human", "arguments": {"question": "Which colour?", "choices": ["red", "blue"]}}]}


def test_an_agent_asks_a_person_and_goes_on_with_the_answer():
    stage = Stage(
        topology({"a": asks(tools=["ask_human"]), "t": PASS}, [("a", "t")]), {"nodes": {"a": [CALL, "It is blue."]}}
    )
    first = stage.attempt()
    ((asked, told),) = stage.asked
    assert (first.status, told) == ("waiting", "input")
    assert (asked.asker, asked.question, asked.choices, asked.free) == (
        "ask_human", "Which colour?", ("red", "blue"), True,
    )  # fmt: skip

    last = stage.attempt({asked.key: said("like the sea", "blue")})

    assert (last.status, last.output) == ("succeeded", "It is blue.")
    (called,) = stage.kinds("tool_called")
    assert called.result == "blue\n\nlike the sea"
    assert [call.call for call in stage.kinds("model_called")] == [1, 2]


def test_a_node_without_a_model_asks_too():
    node = {"type": "tool", "tool": "ask_human", "args": {"question": "{{ inbox }}?"}}
    stage = Stage(topology({"a": node, "t": PASS}, [("a", "t")]))
    stage.attempt()

    result = stage.attempt({stage.key("a"): said("yes")})

    assert result.output == "yes"


def test_an_agent_that_does_not_list_it_can_not_ask():
    stage = Stage(topology({"a": asks(), "t": PASS}, [("a", "t")]), {"nodes": {"a": [CALL, "Then not."]}})

    result = stage.attempt()

    assert (result.output, stage.asked) == ("Then not.", [])
    assert "no tool 'ask_human'" in stage.kinds("tool_called")[0].result
