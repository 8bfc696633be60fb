from __future__ import annotations

import pytest

from tests.engine.support import asks, run, topology

SCHEMA = {"json_schema": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}}
LABEL = {"json_schema": {"type": "string", "enum": ["yes", "no"]}}
PASS = {"type": "passthrough"}


def one(script, **fields):
    return run(topology({"a": asks("p", **fields), "t": PASS}, [("a", "t")]), {"nodes": {"a": script}})


def test_agent_answers_in_text():
    result, _ = one(["hello"])

    assert result.output == "hello"


def test_structured_answer_is_mended_within_its_bound_and_each_repair_is_noted():
    result, journal = one(["so: 3", '{"n": "three"}', '{"n": 3}'], output=SCHEMA)

    assert (result.status, result.output, result.usage.model_calls) == ("succeeded", '{"n": 3}', 3)
    assert sum(event.kind == "noted" and event.code == "repair" for event in journal.events) == 2


def test_structured_answer_that_stays_wrong_is_a_failure_that_says_why():
    result, _ = one(['{"n": "three"}'], output=SCHEMA)

    assert (result.status, result.code, result.usage.model_calls) == ("failed", "bad_output", 3)
    assert "/n" in result.reason


def test_answer_in_a_fence_is_read():
    result, _ = one(['Here:\n```json\n{"n": 3}\n```'], output=SCHEMA)

    assert result.output == '{"n": 3}'


@pytest.mark.parametrize("answer", ['"yes"', "yes", " yes\n"])
def test_schema_of_a_text_gives_the_bare_text(answer):
    result, _ = one([answer], output=LABEL)

    assert (result.status, result.output) == ("succeeded", "yes")


@pytest.mark.parametrize("answer", ["", "  \n", {"text": "", "reasoning": "hm"}])
def test_empty_answer_is_a_failure_of_its_own_kind(answer):
    result, _ = one([answer])

    assert (result.status, result.code) == ("failed", "empty_output")


def test_tools_are_used_until_it_answers(tmp_path):
    script = [
        {"text": "", "tool_calls": [{"name": "write_file", "arguments": {"path": "a.txt", "content": "hi"}}]},
        {
            "text": "",
            "tool_calls": [
                {"name": "read_file", "arguments": {"path": "a.txt"}},
                {"name": "list_files", "arguments": {}},
            ],
        },
        "done",
    ]
    document = topology({"a": asks("p", tools=["write_file", "read_file", "list_files"]), "t": PASS}, [("a", "t")])

    result, journal = run(document, {"nodes": {"a": script}}, workspace=tmp_path)

    tools = [event for event in journal.events if event.kind == "tool_called"]
    assert (result.output, result.usage.tool_calls) == ("done", 3)
    assert [event.status for event in tools] == ["ok"] * 3
    assert "hi" in tools[1].result
    assert (tmp_path / "a.txt").read_text() == "hi"


def test_tool_that_is_not_allowed_is_answered_with_those_that_are():
    script = [{"text": "", "tool_calls": [{"name": "write_file", "arguments": {"path": "x", "content": "y"}}]}, "fine"]

    result, journal = one(script, tools=["read_file"])

    call = next(event for event in journal.events if event.kind == "tool_called")
    assert (result.output, call.status) == ("fine", "failed")
    assert "read_file" in call.result


def test_tool_name_copied_as_a_signature_is_understood():
    script = [{"text": "", "tool_calls": [{"name": "list_files(path: str)", "arguments": {}}]}, "fine"]

    _, journal = one(script, tools=["list_files"])

    assert next(event for event in journal.events if event.kind == "tool_called").tool == "list_files"


def test_agent_that_keeps_calling_unknown_tools_fails():
    result, _ = one([{"text": "", "tool_calls": [{"name": "fly", "arguments": {}}]}], tools=["read_file"])

    assert (result.status, result.code) == ("failed", "unknown_tool")


def test_agent_that_never_answers_ends_at_its_steps_and_its_text_is_no_answer():
    result, _ = one(
        [{"text": "sorry", "tool_calls": [{"name": "list_files", "arguments": {}}]}], tools=["list_files"], max_steps=3
    )

    assert (result.status, result.code, result.output, result.usage.model_calls) == (
        "limit_reached",
        "max_steps",
        None,
        3,
    )


def test_arguments_that_do_not_fit_are_told_to_the_agent():
    script = [{"text": "", "tool_calls": [{"name": "read_file", "arguments": {"pth": "x"}}]}, "fine"]

    _, journal = one(script, tools=["read_file"])

    assert "path" in next(event for event in journal.events if event.kind == "tool_called").result
