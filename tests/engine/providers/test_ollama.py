from __future__ import annotations

import pytest

from tests.engine.providers.conftest import LOOK_UP, ask, probe
from tests.fake_models import Raw, Says
from workbench.engine.providers import PROVIDERS
from workbench.engine.providers.ollama import OllamaProvider


@pytest.fixture
def ollama(fake_models):
    return PROVIDERS.get("ollama").from_environ({"OLLAMA_URL": fake_models.url})


def test_the_body_is_as_the_native_api_wants_it(ollama, fake_models):
    schema = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}}
    params = {
        "temperature": 0,
        "top_p": 0.9,
        "top_k": 20,
        "seed": 7,
        "stop": ("END",),
        "num_ctx": 2048,
        "max_output_tokens": 64,
        "thinking": False,
    }

    ask(ollama, params=params, json_schema=schema)

    assert fake_models.chats[0] == {
        "model": "tiny:latest",
        "messages": [{"role": "user", "content": "Hello"}],
        "stream": True,
        "think": False,
        "format": schema,
        "options": {
            "temperature": 0,
            "top_p": 0.9,
            "top_k": 20,
            "seed": 7,
            "stop": ["END"],
            "num_ctx": 2048,
            "num_predict": 64,
        },
    }


def test_the_window_is_always_asked_for_and_thinking_only_when_set(ollama, fake_models):
    ask(ollama)

    assert fake_models.chats[0]["options"] == {"num_ctx": 8192, "num_predict": 4096}
    assert "think" not in fake_models.chats[0]


def test_json_and_tools_exclude_each_other():
    assert OllamaProvider.json_with_tools is False


def test_loading_is_told_apart(ollama, fake_models):
    fake_models.replies.append(Says("x", load_seconds=2))

    assert ask(ollama).load_seconds == 2
    assert ask(ollama).load_seconds is None


def test_a_model_is_loaded_with_its_window_and_without_a_prompt(ollama, fake_models):
    import asyncio

    async def warm_up():
        await ollama.warm_up("tiny", {"num_ctx": 2048})
        await ollama.warm_up("tiny", {})
        await ollama.close()

    asyncio.run(warm_up())

    assert [asked.path for asked in fake_models.requests] == ["/api/generate"] * 2
    assert [asked.body["options"] for asked in fake_models.requests] == [{"num_ctx": 2048}, {"num_ctx": 8192}]
    assert "prompt" not in fake_models.requests[0].body


def test_reasoning_of_its_own_field_is_kept_apart(ollama, fake_models):
    fake_models.replies.append(Says("21", reasoning="17 + 4"))

    reply = ask(ollama, params={"thinking": True})

    assert (reply.reasoning, reply.content) == ("17 + 4", "21")


def test_durations_stay_readable_in_the_raw_reply(ollama, fake_models):
    line = (
        b'{"model":"m","message":{"role":"assistant","content":"x"},"done":true,"done_reason":"stop",'
        b'"prompt_eval_count":26,"eval_count":259,"prompt_eval_duration":130000000,"eval_duration":5180000000}\n'
    )
    fake_models.replies.append(Raw(chunks=[line[:30], line[30:]]))

    reply = ask(ollama)

    assert reply.raw["eval_duration"] == 5180000000
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (26, 259)


def test_an_address_of_something_else_is_told(ollama, fake_models):
    fake_models.version = None

    result = probe(ollama)

    assert result.ok is False
    assert ask_error(ollama).code == "bad_reply"


def ask_error(provider):
    from workbench.engine.errors import ProviderError

    with pytest.raises(ProviderError) as raised:
        ask(provider, tools=(LOOK_UP,))
    return raised.value


def test_a_probe_tells_what_each_model_can_do(ollama, fake_models):
    fake_models.models = {
        "chat:4b": {"capabilities": ["completion", "tools"], "model_info": {"qwen3.context_length": 40960}},
        "embed:latest": {"capabilities": ["embedding"]},
        "old:latest": {},
    }

    chat, embed, old = probe(ollama).models

    assert (chat.capabilities, chat.context, chat.digest, chat.size_bytes, chat.quantization) == (
        ("completion", "tools"),
        40960,
        "sha-chat:4b",
        7,
        "Q4_K_M",
    )
    assert "embeddings" in embed.note
    assert (old.capabilities, old.context, old.note) == (None, None, "Its server does not say what it can do.")


def test_a_model_that_can_not_be_shown_is_still_listed(ollama, fake_models):
    fake_models.instead["/api/show"] = Raw(status=500, body={"error": "broken"})

    assert [model.capabilities for model in probe(ollama).models] == [None]


def test_the_probe_tells_the_version(ollama):
    assert probe(ollama).version == "0.12.3"


def test_it_is_never_looked_up_in_a_table_of_prices():
    assert OllamaProvider().price_reference() is None
    assert OllamaProvider.free is False


@pytest.mark.ollama
def test_a_real_ollama_answers():
    import os

    provider = OllamaProvider.from_environ(os.environ)
    found = probe(provider)
    if not found.ok or not found.models:
        pytest.skip(f"no Ollama with models here: {found.message}")

    reply = ask(provider, "Say yes.", model=found.models[0].name, params={"max_output_tokens": 200})

    assert reply.usage.source == "reported"
