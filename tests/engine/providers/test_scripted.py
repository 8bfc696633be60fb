from __future__ import annotations

import asyncio
import json
from decimal import Decimal

import pytest

from workbench.engine.errors import InvalidDocument, ProviderError
from workbench.engine.providers import PROVIDERS, ChatMessage, ModelRequest, ToolCall
from workbench.engine.providers.scripted import Script, ScriptedProvider


def ask(provider, prompt="Hello", model="echo", **more):
    request = ModelRequest(model=model, messages=(ChatMessage(role="user", content=prompt),), **more)
    return asyncio.run(provider.chat(request))


def scripted(document) -> ScriptedProvider:
    return ScriptedProvider(Script.from_text(json.dumps(document)))


def test_each_call_of_a_node_takes_its_entry_and_the_last_repeats():
    provider = scripted({"nodes": {"writer": ["one", "two"]}})

    answers = [ask(provider, node="writer", node_call=number).content for number in (1, 2, 3, 2, 1)]

    assert answers == ["one", "two", "two", "two", "one"]


def test_a_node_without_entries_gets_the_default():
    assert ask(scripted({"default": "always", "nodes": {"writer": ["one"]}}), node="reviewer").content == "always"


def test_a_script_without_a_default_says_again_what_was_said():
    assert ask(scripted({}), "Say it again").content == "Say it again"


def test_a_rule_answers_before_nodes_and_default():
    provider = scripted(
        {
            "rules": [
                {"contains": ["red", "blue"], "answer": "purple"},
                {"contains": "red", "node": "painter", "answer": {"text": "rose"}},
            ],
            "nodes": {"painter": ["canvas"]},
        }
    )

    assert ask(provider, "red and blue", node="painter").content == "purple"
    assert ask(provider, "red", node="painter").content == "rose"
    assert ask(provider, "red", node="writer").content == "red"
    assert ask(provider, "blue", node="painter").content == "canvas"


def test_a_function_of_the_request_may_answer():
    provider = ScriptedProvider(lambda request: request.messages[-1].content.upper())

    assert ask(provider, "loud").content == "LOUD"


def test_a_router_is_answered_with_its_targets():
    assert json.loads(ask(scripted({"nodes": {"r": [{"targets": ["a", "end"]}]}}), node="r").content) == {
        "targets": ["a", "end"]
    }


def test_an_entry_may_call_tools():
    provider = scripted({"nodes": {"n": [{"tool_calls": [{"name": "list_files", "arguments": {"path": "."}}]}]}})

    reply = ask(provider, node="n")

    assert reply.finish == "tool_calls"
    assert reply.tool_calls == (ToolCall(id="call-n-1-1", name="list_files", arguments={"path": "."}),)


@pytest.mark.parametrize(
    ("tokens", "usage"),
    [
        ({"input": 7, "output": 3}, (7, 3, "reported")),
        ({"input": 7}, (7, None, "reported")),
        (9, (0, 9, "reported")),
        (None, (None, None, "unknown")),
    ],
)
def test_tokens_of_an_entry_are_reported(tokens, usage):
    reply = ask(scripted({"default": {"text": "x", "tokens": tokens}}))

    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.source) == usage


def test_tokens_are_estimated_unless_given():
    usage = ask(scripted({"default": "12345"}), "12345678").usage

    assert (usage.input_tokens, usage.output_tokens, usage.source) == (2, 2, "estimated")


@pytest.mark.parametrize(
    ("fault", "temporary"),
    [
        ("rate_limited", True),
        ("model_not_found", False),
        ({"code": "model_not_found", "temporary": True}, True),
        ({"code": "rate_limited", "temporary": False, "message": "Not today.", "retry_after": 3}, False),
    ],
)
def test_a_fault_is_raised_in_place_of_an_answer(fault, temporary):
    with pytest.raises(ProviderError) as raised:
        ask(scripted({"default": {"fault": fault}}))

    assert raised.value.code == (fault if isinstance(fault, str) else fault["code"])
    assert raised.value.temporary is temporary
    assert str(raised.value).endswith(".")


def test_latency_is_waited_for_and_measured():
    provider = scripted({"latency_s": 0.02, "nodes": {"quick": [{"text": "now", "latency_s": 0}]}})

    assert ask(provider).seconds >= 0.02
    assert ask(provider, node="quick").seconds < 0.02


def test_cost_and_reasoning_are_as_the_script_says():
    reply = ask(scripted({"default": {"text": "5", "reasoning": "2 + 3", "cost_usd": 0.6}}))

    assert (reply.content, reply.reasoning, reply.cost_usd) == ("5", "2 + 3", Decimal("0.6"))


@pytest.mark.parametrize(
    ("document", "path", "sentence"),
    [
        ({"node": {}}, "/node", "Did you mean 'nodes'?"),
        ({"nodes": {"a": [{"txt": "x"}]}}, "/nodes/a/0/txt", "Did you mean 'text'?"),
        ({"nodes": {"a": []}}, "/nodes/a", "must not be empty"),
        ({"latency_s": -1}, "/latency_s", "it must be at least 0"),
        ([], "", "In the script"),
    ],
)
def test_a_wrong_script_is_refused_with_a_sentence_and_its_place(document, path, sentence):
    with pytest.raises(InvalidDocument) as raised:
        scripted(document)

    (problem,) = raised.value.problems
    assert problem.path == path
    assert sentence in problem.message


def test_a_script_that_is_no_json_is_refused():
    with pytest.raises(InvalidDocument, match="not JSON"):
        Script.from_text("{")


def test_a_model_name_is_a_file_of_the_scripts_folder(tmp_path):
    (tmp_path / "five.json").write_text('{"default": "5"}')
    provider = PROVIDERS.get("scripted").from_environ({"WORKBENCH_SCRIPTS": str(tmp_path)})

    assert ask(provider, model="five").content == "5"
    assert [model.name for model in asyncio.run(provider.probe()).models] == ["echo", "five"]


@pytest.mark.parametrize("name", ["fiv", "../five", "/five", ""])
def test_an_unknown_script_is_named_and_no_other_file_is_read(tmp_path, name):
    (tmp_path / "scripts").mkdir()
    (tmp_path / "five.json").write_text('{"default": "5"}')
    provider = ScriptedProvider(folder=tmp_path / "scripts")

    with pytest.raises(ProviderError) as raised:
        ask(provider, model=name)

    assert raised.value.code == "model_not_found"
    assert repr(name) in str(raised.value)


def test_a_broken_script_file_is_a_provider_error(tmp_path):
    (tmp_path / "bad.json").write_text('{"defolt": "5"}')

    with pytest.raises(ProviderError, match=r"bad\.json.*'default'"):
        ask(ScriptedProvider(folder=tmp_path), model="bad")
