from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.engine.providers.conftest import LOOK_UP, make_request, probe
from workbench.engine.errors import ProviderError
from workbench.engine.providers import PROVIDERS, ChatMessage, ToolCall, _embedded_process
from workbench.engine.providers._embedded_process import running, stop
from workbench.engine.providers.embedded import EmbeddedProvider, embedded_stop

MODEL = "smollm2:135m"
LABEL = {"type": "object", "required": ["label"], "properties": {"label": {"enum": ["good", "bad"]}}}
GREEDY = {"temperature": 0, "max_output_tokens": 40}


def ask_many(provider, *requests):
    async def calls():
        try:
            return await asyncio.gather(*(provider.chat(request) for request in requests))
        finally:
            await provider.close()

    return asyncio.run(calls())


def small(prompt="Say hello.", **more):
    return make_request(prompt, **{"model": MODEL, "params": GREEDY, **more})


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """One home, and so one server, for the calls of this file."""
    home = tmp_path_factory.mktemp("home")
    yield home
    embedded_stop({"WORKBENCH_HOME": str(home)})


@pytest.fixture
def embedded(home):
    return PROVIDERS.get("embedded").from_environ({"WORKBENCH_HOME": str(home)})


@pytest.mark.embedded
def test_the_model_answers_and_counts(embedded):
    shown = []

    async def call():
        reply = await embedded.chat(small(), shown.append)
        await embedded.close()
        return reply

    reply = asyncio.run(call())

    assert reply.content
    assert "".join(shown).strip() == reply.content.strip()
    assert reply.usage.source == "reported"
    assert 0 < reply.usage.output_tokens <= 40


@pytest.mark.embedded
def test_temperature_zero_gives_the_same_answer_again_also_beside_others(embedded):
    again = small("Name a colour.")  # five calls for two slots

    replies = ask_many(embedded, again, small("Count to five."), again, small("Name an animal."), again)

    assert len({reply.content for reply in replies[::2]}) == 1


@pytest.mark.embedded
def test_an_answer_keeps_to_its_schema(embedded):
    reply = ask_many(embedded, small("The soup was cold. Good or bad?", json_schema=LABEL))[0]

    assert json.loads(reply.content)["label"] in ("good", "bad")


@pytest.mark.embedded
def test_a_tool_is_called_by_schema_and_flagged(embedded):
    reply = ask_many(embedded, small("Look up the word elk.", tools=(LOOK_UP,)))[0]

    assert reply.flags == ("tools_by_schema",)
    assert bool(reply.tool_calls) != bool(reply.content)
    assert all(call.name == "look_up" for call in reply.tool_calls)


@pytest.mark.embedded
def test_results_of_tools_are_read(embedded):
    call = ToolCall(id="1", name="look_up", arguments={"word": "elk"})
    messages = (
        ChatMessage(role="user", content="What is an elk?"),
        ChatMessage(role="assistant", content="", tool_calls=(call,)),
        ChatMessage(role="tool", content="A large deer.", tool_call_id="1", name="look_up"),
    )

    reply = ask_many(embedded, small(messages=messages))[0]

    assert [message["role"] for message in reply.request["messages"]] == ["user", "assistant", "user"]
    assert reply.content


@pytest.mark.embedded
def test_a_prompt_too_long_is_told_with_both_numbers(embedded):
    with pytest.raises(ProviderError, match=r"6\d\d\d tokens.*4096") as raised:
        ask_many(embedded, small("word " * 6000))

    assert raised.value.code == "context_exceeded"


@pytest.mark.embedded
def test_the_server_outlives_the_process_that_started_it_and_serves_the_next(tmp_path):
    script = (
        "import asyncio, os\n"
        "from workbench.engine.providers import ChatMessage, ModelRequest\n"
        "from workbench.engine.providers.embedded import EmbeddedProvider\n"
        "async def main():\n"
        "    provider = EmbeddedProvider.from_environ(os.environ)\n"
        "    message = ChatMessage(role='user', content='Hi.')\n"
        f"    request = ModelRequest(model='{MODEL}', messages=(message,), params={{'max_output_tokens': 3}})\n"
        "    print((await provider.chat(request)).usage.output_tokens)\n"
        "    os._exit(0)\n"  # no goodbye
        "asyncio.run(main())\n"
    )
    environ = {**os.environ, "WORKBENCH_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-u", "-c", script], env=environ, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.strip() == "3", done.stderr
    before = (tmp_path / "embedded/state.json").read_text()

    ask_many(EmbeddedProvider.from_environ(environ), small())

    assert (tmp_path / "embedded/state.json").read_text() == before
    assert embedded_stop(environ) is True


@pytest.mark.embedded
def test_a_server_that_was_killed_is_started_anew(embedded, home):
    async def calls():
        first = await embedded.chat(small())
        os.kill(json.loads((home / "embedded/state.json").read_text())["pid"], signal.SIGKILL)
        await asyncio.sleep(0.2)
        second = await embedded.chat(small())
        await embedded.close()
        return first, second

    first, second = asyncio.run(calls())

    assert first.content == second.content


@pytest.mark.embedded
def test_the_server_ends_when_idle_and_when_told(tmp_path):
    folder = tmp_path / "embedded"
    url = _embedded_process.started(folder, idle_seconds=1)

    assert running(folder) == url
    waited = time.monotonic() + 20
    while _embedded_process._state(folder) and time.monotonic() < waited:
        time.sleep(0.1)
    assert running(folder) is None

    _embedded_process.started(folder, idle_seconds=600)
    assert stop(folder) is True
    assert running(folder) is None
    assert stop(folder) is False


def test_a_stale_state_file_is_not_believed(tmp_path):
    (tmp_path / "state.json").write_text(json.dumps({"pid": os.getpid(), "url": "http://127.0.0.1:9"}))

    assert running(tmp_path) is None
    assert stop(tmp_path) is False


@pytest.mark.embedded
def test_a_probe_says_how_small_the_model_is(embedded):
    result = probe(embedded)

    assert result.ok
    assert "135 million" in result.message
    assert [(model.name, model.context) for model in result.models] == [(MODEL, 4096)]


@pytest.mark.parametrize(
    ("seam", "value", "words"),
    [("model_file", lambda: None, "extra 'embedded'"), ("free_megabytes", lambda: 10, "10 MB")],
)
@pytest.mark.embedded
def test_where_it_can_not_start_it_says_so(tmp_path, monkeypatch, seam, value, words):
    monkeypatch.setattr(_embedded_process, seam, value)
    if seam == "model_file":
        monkeypatch.setattr("workbench.engine.providers.embedded.model_file", value)
    provider = EmbeddedProvider(tmp_path / "embedded")

    with pytest.raises(ProviderError, match=words) as raised:
        ask_many(provider, small())

    assert raised.value.code == "embedded_unavailable"
    result = probe(provider)
    assert result.ok is False
    assert words in result.message


def test_another_model_is_refused(tmp_path):
    with pytest.raises(ProviderError, match="smollm2:135m") as raised:
        ask_many(EmbeddedProvider(tmp_path), make_request(model="smollm2"))

    assert raised.value.code == "model_not_found"
