from __future__ import annotations

import logging

import pytest

from tests.engine.providers.conftest import LOOK_UP, ask, probe
from tests.fake_models import Raw, Says
from workbench.engine.errors import ProviderError
from workbench.engine.providers import PROVIDERS
from workbench.engine.providers.openai_compatible import OpenAICompatibleProvider

KEY = "sk-very-secret"


@pytest.fixture
def server(fake_models):
    environ = {"OPENAI_COMPATIBLE_URL": fake_models.url, "OPENAI_COMPATIBLE_API_KEY": KEY}
    return PROVIDERS.get("openai_compatible").from_environ(environ)


def test_the_body_is_as_the_dialect_wants_it(server, fake_models):
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    params = {
        "temperature": 0,
        "top_p": 0.9,
        "top_k": 20,
        "seed": 7,
        "stop": ("END",),
        "num_ctx": 2048,
        "max_output_tokens": 64,
        "thinking": "low",
    }

    ask(server, params=params, json_schema=schema)

    assert fake_models.chats[0] == {
        "model": "tiny:latest",
        "messages": [{"role": "user", "content": "Hello"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 64,
        "temperature": 0,
        "top_p": 0.9,
        "top_k": 20,
        "seed": 7,
        "stop": ["END"],
        "reasoning_effort": "low",
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}},
    }


@pytest.mark.parametrize(("thinking", "effort"), [(True, "medium"), (False, "none"), ("high", "high")])
def test_thinking_is_an_effort_here(server, fake_models, thinking, effort):
    ask(server, params={"thinking": thinking})

    assert fake_models.chats[0]["reasoning_effort"] == effort


def test_the_key_goes_to_the_server_and_nowhere_else(server, fake_models, caplog):
    caplog.set_level(logging.DEBUG)
    reply = ask(server)
    fake_models.replies.append(Raw(status=401, body={"error": {"message": f"Incorrect API key provided: {KEY}."}}))
    with pytest.raises(ProviderError) as raised:
        ask(server)

    assert fake_models.requests[0].headers["Authorization"] == f"Bearer {KEY}"
    assert KEY not in str(raised.value)
    assert "OPENAI_COMPATIBLE_API_KEY" in str(raised.value)
    assert KEY not in reply.model_dump_json()
    assert KEY not in caplog.text


def test_without_a_key_none_is_sent(fake_models):
    ask(OpenAICompatibleProvider(fake_models.url))

    assert "Authorization" not in fake_models.requests[0].headers


def test_without_an_address_it_says_which_variable_to_set():
    provider = OpenAICompatibleProvider.from_environ({})

    with pytest.raises(ProviderError, match="Set OPENAI_COMPATIBLE_URL") as raised:
        ask(provider)

    assert raised.value.code == "not_configured"
    assert "OPENAI_COMPATIBLE_URL" in probe(provider).message


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning", "thinking"])
def test_reasoning_of_its_own_field_is_kept_apart(server, fake_models, key):
    fake_models.replies.append(Says("21", reasoning="17 + 4", reasoning_key=key))

    reply = ask(server)

    assert (reply.reasoning, reply.content) == ("17 + 4", "21")


def test_cached_and_reasoning_tokens_are_part_of_the_counts(server, fake_models):
    details = {"prompt_tokens_details": {"cached_tokens": 800}, "completion_tokens_details": {"reasoning_tokens": 40}}
    fake_models.replies.append(Says("x", input_tokens=1000, output_tokens=100, usage=details))

    usage = ask(server).usage

    assert (usage.input_tokens, usage.output_tokens) == (1000, 100)
    assert (usage.cached_tokens, usage.reasoning_tokens) == (800, 40)


def test_what_the_server_refuses_is_left_out_from_then_on(server, fake_models):
    import asyncio

    from tests.engine.providers.conftest import make_request

    fake_models.replies.append(Raw(status=400, body={"error": {"message": "Unknown field: stream_options"}}))
    words = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    fake_models.replies.append(Raw(status=400, body={"error": {"message": words}}))

    async def twice():
        replies = [await server.chat(make_request()), await server.chat(make_request())]
        await server.close()
        return replies

    first, second = asyncio.run(twice())

    assert [sorted(body) for body in fake_models.chats[2:]] == [
        ["max_completion_tokens", "messages", "model", "stream"],
        ["max_completion_tokens", "messages", "model", "stream"],
    ]
    assert first.request == second.request == fake_models.chats[2]


def test_a_server_that_does_not_stream_is_understood(server, fake_models):
    body = {
        "model": "m",
        "choices": [
            {
                "message": {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "1", "function": {"name": "look_up", "arguments": "{}"}}],
                },
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2},
    }
    fake_models.replies.append(Raw(body=body))

    reply = ask(server, tools=(LOOK_UP,))

    assert (reply.tool_calls[0].name, reply.usage.output_tokens, reply.content) == ("look_up", 2, "")


def test_tokens_that_add_up_to_a_window_are_flagged(server, fake_models):
    fake_models.replies.append(Says("x", input_tokens=4000, output_tokens=96))
    fake_models.replies.append(Says("x", input_tokens=4000, output_tokens=95))

    assert [ask(server).flags for _ in range(2)] == [("truncated_input",), ()]


def test_chunks_cut_anywhere_are_joined(server, fake_models):
    text = (
        'data: {"choices":[{"delta":{"content":"é"}}]}\r\n\r\n: ping\n\n'
        'data: {"choices":[{"delta":{"content":"!"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    )
    data = text.encode()
    chunks = [data[at : at + 1] for at in range(len(data))]
    fake_models.replies.append(Raw(chunks=chunks, content_type="text/event-stream"))

    assert ask(server).content == "é!"


def test_a_server_that_knows_neither_path_is_told_from_an_unknown_model(server, fake_models):
    fake_models.version = None
    fake_models.replies.append(Raw(status=404, body={"error": "404 page not found"}))
    fake_models.instead["/v1/models"] = Raw(status=404, body="404 page not found")

    with pytest.raises(ProviderError) as raised:
        ask(server)

    assert raised.value.code == "bad_reply"


def test_a_cloud_is_not_told_to_pull(server, fake_models):
    fake_models.version = None
    fake_models.replies.append(Raw(status=404, body={"error": {"code": "model_not_found"}}))

    with pytest.raises(ProviderError) as raised:
        ask(server)

    assert raised.value.code == "model_not_found"
    assert "pull" not in str(raised.value)


@pytest.mark.parametrize(
    ("url", "reference"),
    [
        ("https://api.openai.com", {"provider_api_url": "https://api.openai.com/v1"}),
        ("https://openrouter.ai/api/v1/", {"provider_api_url": "https://openrouter.ai/api/v1"}),
        ("http://localhost:11434/v1", None),
        ("http://192.168.1.7:8000", None),
        ("http://0.0.0.0:1", None),
        ("", None),
    ],
)
def test_prices_go_by_the_address_and_never_for_a_server_near_by(url, reference):
    assert OpenAICompatibleProvider(url).price_reference() == reference


def test_contexts_are_listed_where_the_server_tells_them(server, fake_models):
    data = [{"id": "big", "context_length": 131072}, {"id": "small", "max_model_len": 4096}, {"id": "x"}, "junk"]
    fake_models.instead["/v1/models"] = Raw(body={"data": data})

    assert [model.context for model in probe(server).models] == [131072, 4096, None]


def test_an_ollama_behind_this_dialect_is_told_by_its_probe(server, fake_models):
    assert "It is an Ollama: write its models ollama/NAME" in probe(server).message
    assert "/api/version" in [asked.path for asked in fake_models.requests]

    fake_models.version = None

    assert "Ollama" not in probe(server).message
