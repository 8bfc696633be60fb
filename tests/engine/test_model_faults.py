"""What a model server does wrong, as a run tells it: through a whole run, over real HTTP, in both dialects."""

from __future__ import annotations

import pytest

from tests.engine.support import asks, run, topology
from tests.fake_models import Raw, Says, fake_models  # noqa: F401
from workbench.engine.providers import Providers

PLACES = {"ollama": "OLLAMA_URL", "openai_compatible": "OPENAI_COMPATIBLE_URL"}


@pytest.fixture(params=list(PLACES))
def told(request, fake_models, tmp_path):  # noqa: F811
    """Runs one agent that asks the server; the result and the events of its calls."""

    def run_agent(*replies, **agent):
        fake_models.replies.extend(replies)
        node = asks(model=f"{request.param}/tiny", **agent)
        providers = Providers({PLACES[request.param]: fake_models.url})
        result, journal = run(topology({"writer": node}), providers=providers, workspace=tmp_path)
        return result, [event for event in journal.events if event.kind == "model_called"], fake_models.chats

    run_agent.dialect = request.param
    return run_agent


def test_a_model_without_tools_is_named_with_its_node(told):
    words = "tiny does not support tools"
    body = {"error": words if told.dialect == "ollama" else {"message": words}}

    result, (call,), _ = told(Raw(status=400, body=body), tools=["list_files"])

    assert (result.status, result.code, call.status) == ("failed", "tools_unsupported", "tools_unsupported")
    assert "'writer'" in result.reason
    assert "'tiny'" in result.reason


@pytest.mark.parametrize("text", ["", "  ", None])
def test_an_empty_answer_is_no_success(told, text):
    result, calls, _ = told(*[Says(text)] * 4)

    assert (result.status, result.code) == ("failed", "empty_output")
    assert result.output is None
    assert len(calls) >= 1


def test_a_call_without_content_is_legal_where_it_asks_for_a_tool(told):
    result, calls, chats = told(Says(None, tool_calls=[("list_files", {})]), Says("Done."), tools=["list_files"])

    assert (result.status, result.output, len(calls)) == ("succeeded", "Done.", 2)
    assert [message["role"] for message in chats[1]["messages"]][-2:] == ["assistant", "tool"]


def test_endless_repetition_ends_the_run_with_a_code_of_its_own_and_its_text_is_kept(told):
    result, calls, _ = told(Says("Well. ", endless="I am sorry, so sorry. "))

    assert (result.status, result.code) == ("failed", "runaway")
    assert calls[-1].content.startswith("Well. I am sorry")
    assert calls[-1].input_tokens is None


def test_reasoning_is_kept_with_the_call_and_goes_nowhere_else(told):
    thinking = Says("<think>secret plan</think>", tool_calls=[("list_files", {})])

    result, calls, chats = told(thinking, Says("Done.", reasoning="another plan"), tools=["list_files"])

    assert [call.reasoning for call in calls] == ["secret plan", "another plan"]
    assert result.output == "Done."
    assert "secret plan" not in str(chats[1])


def test_unknown_tools_are_answered_with_the_valid_names_and_then_the_run_fails(told):
    wrong = Says("", tool_calls=[("search", {})])

    result, calls, chats = told(wrong, wrong, wrong, wrong, tools=["list_files"])

    assert result.status == "failed"
    assert len(calls) == 3  # two repairs at most
    assert "list_files" in chats[1]["messages"][-1]["content"]


def test_a_signature_written_for_a_name_is_repaired_and_counted(told):
    result, calls, _ = told(Says("", tool_calls=[("list_files(path: str)", {})]), Says("Done."), tools=["list_files"])

    assert result.output == "Done."
    assert len(calls) == 2
