"""What holds in both dialects, at the wire."""

from __future__ import annotations

import asyncio
import json
import socket
from decimal import Decimal

import pytest

from tests.engine.providers.conftest import LOOK_UP, PROVIDERS, ask, make_request, probe
from tests.fake_models import Raw, Says
from workbench.engine.errors import ProviderError
from workbench.engine.providers import ChatMessage, ToolCall, _http
from workbench.engine.providers._http import Timeouts


def error(status, words, dialect, **more):
    body = {"error": words if dialect == "native" else {"message": words, **more}}
    return Raw(status=status, body=body)


def test_an_answer_comes_with_its_usage_and_the_bodies(provider, fake_models):
    fake_models.replies.append(Says("Hello there.", cuts=3, input_tokens=11, output_tokens=4))

    reply = ask(provider)

    assert (reply.content, reply.finish, reply.model) == ("Hello there.", "stop", "tiny:latest")
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.source) == (11, 4, "reported")
    assert reply.request == fake_models.chats[0]
    assert "Hello there." in json.dumps(reply.raw)
    assert 0 < reply.first_token_seconds <= reply.seconds
    assert reply.cost_usd is None


def test_usage_that_is_not_reported_is_unknown(provider, fake_models):
    fake_models.replies.append(Says("x", input_tokens=None, output_tokens=None))

    usage = ask(provider).usage

    assert (usage.input_tokens, usage.output_tokens, usage.source) == (None, None, "unknown")


def test_a_text_is_shown_as_it_comes_without_the_reasoning(provider, fake_models):
    fake_models.replies.append(Says("<think>17 + 4</think>\n\n21 it is", cuts=2))
    shown = []

    reply = ask(provider, on_text=shown.append)

    assert "".join(shown) == reply.content == "21 it is"
    assert len(shown) > 2


@pytest.mark.parametrize("cuts", [None, 1, 3])
@pytest.mark.parametrize(
    ("text", "reasoning", "content"),
    [
        ("<think>a {b} c</think>d", "a {b} c", "d"),
        ("<thinking>\na\n</thinking>\n\nd", "a", "d"),
        ("a and b</think>\nd", "a and b", "d"),
        ("[THINK]a[/THINK]d", "a", "d"),
        ("<think>never ends", "never ends", ""),
        ("<think></think>d", "", "d"),
        ('{"tag": "<think>x</think>"}', "", '{"tag": "<think>x</think>"}'),
        ('<think>a</think>{"tag": "</think>"}', "a", '{"tag": "</think>"}'),
        ("Write `</think>` at the end.", "", "Write `</think>` at the end."),
        ("1 < 2 and 3 > 2", "", "1 < 2 and 3 > 2"),
    ],
)
def test_reasoning_inside_the_content_is_split_off_once(provider, fake_models, text, reasoning, content, cuts):
    fake_models.replies.append(Says(text, cuts=cuts))

    reply = ask(provider)

    assert (reply.reasoning, reply.content) == (reasoning, content)


def test_an_answer_cut_off_is_told_by_its_finish(provider, fake_models):
    fake_models.replies.append(Says("half a", finish="length"))

    assert ask(provider).finish == "length"


@pytest.mark.parametrize("text", ["", "  ", None])
def test_an_empty_answer_is_reported_as_it_is(provider, fake_models, text):
    fake_models.replies.append(Says(text))

    reply = ask(provider)

    assert (reply.content, reply.tool_calls) == (text or "", ())


@pytest.mark.parametrize("text", ["", None, "I look it up."])
def test_a_tool_call_is_read(provider, fake_models, text):
    fake_models.replies.append(Says(text, tool_calls=[("look_up", {"word": "a"}), ("look_up", {"word": "b"})]))

    reply = ask(provider, tools=(LOOK_UP,))

    assert [(call.name, call.arguments, call.arguments_error) for call in reply.tool_calls] == [
        ("look_up", {"word": "a"}, None),
        ("look_up", {"word": "b"}, None),
    ]
    assert len({call.id for call in reply.tool_calls}) == 2
    assert reply.finish == "tool_calls"
    assert reply.content == (text or "")


@pytest.mark.parametrize("arguments", ['{"word": ', "[1]", "7"])
def test_arguments_that_can_not_be_read_say_why(provider, fake_models, arguments):
    fake_models.replies.append(Says("", tool_calls=[("look_up", arguments)]))

    call = ask(provider, tools=(LOOK_UP,)).tool_calls[0]

    assert call.arguments == {}
    assert "JSON" in call.arguments_error


def test_tools_are_sent_whole_as_a_list_of_objects(provider, fake_models):
    ask(provider, tools=(LOOK_UP,))

    assert fake_models.chats[0]["tools"] == [
        {
            "type": "function",
            "function": {"name": "look_up", "description": "Look a word up.", "parameters": LOOK_UP.parameters},
        }
    ]


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "look_up", "arguments": {"word": "a"}}',
        ' {"name": "look_up", "parameters": {"word": "a"}}\n',
        '{"name": "look_up", "arguments": "{\\"word\\": \\"a\\"}"}',
        '[{"function": {"name": "look_up", "arguments": {"word": "a"}}}]',
        '{"tool_calls": [{"function": {"name": "look_up", "arguments": {"word": "a"}}}]}',
        '<think>hm</think>{"name": "look_up", "arguments": {"word": "a"}}',
    ],
)
def test_a_tool_call_written_as_text_is_recovered_and_flagged(provider, fake_models, text):
    fake_models.replies.append(Says(text))

    reply = ask(provider, tools=(LOOK_UP,))

    assert [(call.name, call.arguments) for call in reply.tool_calls] == [("look_up", {"word": "a"})]
    assert (reply.content, reply.finish, reply.flags) == ("", "tool_calls", ("tool_call_from_text",))


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        ('{"name": "other", "arguments": {}}', (LOOK_UP,)),
        ('Sure: {"name": "look_up", "arguments": {}}', (LOOK_UP,)),
        ('{"name": "look_up", "arguments": {}}', ()),
        ('[{"name": "look_up", "arguments": {}}, {"name": "other", "arguments": {}}]', (LOOK_UP,)),
        ('{"name": "look_up"}', (LOOK_UP,)),
        ("[]", (LOOK_UP,)),
    ],
)
def test_other_text_stays_an_answer(provider, fake_models, text, tools):
    fake_models.replies.append(Says(text))

    reply = ask(provider, tools=tools)

    assert (reply.content, reply.tool_calls, reply.flags) == (text, (), ())


def test_half_a_character_in_a_prompt_does_not_stop_the_call(provider, fake_models):
    ask(provider, "ä\ud800ö")

    assert fake_models.chats[0]["messages"][0]["content"] == "ä?ö"


def test_the_chosen_address_wins_over_the_environment(provider, fake_models, monkeypatch):
    for variable in ("OLLAMA_HOST", "OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    for variable in ("OPENAI_API_KEY", "OLLAMA_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(variable, "leak")

    assert ask(provider).content == "Hello."

    assert "leak" not in str(fake_models.requests)


def test_a_proxy_is_used_when_asked_for_and_named(dialect, fake_models, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    provider = PROVIDERS[dialect](fake_models.url.replace("127.0.0.1", "models.test"), use_proxy=True)

    with pytest.raises(ProviderError, match="proxy") as raised:
        ask(provider)

    assert raised.value.code == "proxy"
    assert fake_models.requests == []


def test_a_proxy_that_was_asked_for_is_named_where_the_server_answers(dialect, fake_models, monkeypatch):
    for variable in ("no_proxy", "NO_PROXY", "HTTP_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("http_proxy", fake_models.url)  # it answers for every host
    direct, through = (
        probe(PROVIDERS[dialect]("http://models.test" if proxy else fake_models.url, use_proxy=proxy))
        for proxy in (False, True)
    )

    assert (direct.ok, through.ok) == (True, True)
    assert "proxy" not in direct.message
    assert "Calls go through the proxy 127.0.0.1" in through.message


def test_a_server_that_is_not_there_gives_four_different_sentences(dialect, fake_models, monkeypatch):
    monkeypatch.setattr(_http, "CONTAINER_MARKERS", ())
    with socket.socket() as closed, socket.socket() as silent:
        closed.bind(("127.0.0.1", 0))
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        fake_models.replies.append(error(500, "it broke", dialect))
        places = {
            "host_not_found": "http://no-such-host.invalid:11434",
            "connection_refused": f"http://127.0.0.1:{closed.getsockname()[1]}",
            "first_token_timeout": f"http://127.0.0.1:{silent.getsockname()[1]}",
            "server_error": fake_models.url,
        }
        sentences = {}
        for code, url in places.items():
            with pytest.raises(ProviderError) as raised:
                ask(PROVIDERS[dialect](url, timeouts=Timeouts(connect=1, first_token=0.3)))
            assert raised.value.code == code
            sentences[code] = str(raised.value)

    assert len(set(sentences.values())) == 4
    assert [code for code, text in sentences.items() if "OLLAMA_HOST=0.0.0.0" in text] == ["connection_refused"]
    assert "no-such-host.invalid" in sentences["host_not_found"]
    assert "it broke" in sentences["server_error"]


@pytest.mark.parametrize("inside", [True, False])
def test_a_refusal_inside_a_container_says_how_to_get_out(dialect, monkeypatch, tmp_path, inside):
    monkeypatch.setattr(_http, "CONTAINER_MARKERS", (tmp_path if inside else tmp_path / "none",))

    with pytest.raises(ProviderError) as raised:
        ask(PROVIDERS[dialect]("http://localhost:9"))

    assert raised.value.code == "connection_refused"
    assert ("host.docker.internal" in str(raised.value)) is inside
    assert ("extra_hosts" in str(raised.value)) is inside


@pytest.mark.parametrize("host", ["0.0.0.0:11434", "http://[::]:11434/v1"])
def test_an_address_to_listen_on_is_refused_before_any_call(dialect, host):
    with pytest.raises(ProviderError, match=r"127\.0\.0\.1") as raised:
        ask(PROVIDERS[dialect](host))

    assert raised.value.code == "bad_url"
    assert probe(PROVIDERS[dialect](host)).ok is False


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/", "/v1/v1", "/api", "/API/", "/V1", "//v1//"])
@pytest.mark.parametrize("start", ["http://", "HTTP://", ""])
def test_every_spelling_of_the_address_leads_to_the_right_path(dialect, fake_models, start, ending):
    ask(PROVIDERS[dialect](fake_models.url.replace("http://", start) + ending))

    assert [asked.path for asked in fake_models.requests] == [
        {"native": "/api/chat", "v1": "/v1/chat/completions"}[dialect]
    ]


def test_an_unknown_model_is_told_with_what_there_is(dialect, fake_models):
    fake_models.models = {name: {} for name in ("qwen3:4b", "llama3.1:latest")}
    for words in ('model "qwen3:4" not found, try pulling it first', "The model `qwen3:4` does not exist"):
        fake_models.replies.append(error(404, words, dialect))
        with pytest.raises(ProviderError) as raised:
            ask(PROVIDERS[dialect](fake_models.url), model="qwen3:4")

        assert raised.value.code == "model_not_found"
        assert str(raised.value).endswith(
            "has no model 'qwen3:4'. Did you mean 'qwen3:4b'? It has: llama3.1:latest, qwen3:4b. "
            "To get it: `ollama pull qwen3:4`."
        )


def test_a_model_without_its_tag_is_told_that_it_is_there(dialect, fake_models):
    fake_models.models = {"llama3.1:latest": {}, "llama3:latest": {}}
    fake_models.replies.append(error(404, "not found", dialect))

    with pytest.raises(ProviderError, match=r"Did you mean 'llama3\.1:latest'\?"):
        ask(PROVIDERS[dialect](fake_models.url), model="llama3.1")


@pytest.mark.parametrize(
    ("status", "words", "code", "temporary"),
    [
        (400, "tiny does not support tools", "tools_unsupported", False),
        (400, "the request exceeds the available context size (exceed_context_size_error)", "context_exceeded", False),
        (400, "This model's maximum context length is 4096 tokens. Lower max_tokens.", "context_exceeded", False),
        (400, "bad temperature", "http_error", False),
        (401, "who are you", "unauthorized", False),
        (403, "not you", "unauthorized", False),
        (429, "slow down", "rate_limited", True),
        (429, "You exceeded your current quota: insufficient_quota", "quota", False),
        (500, "model requires more system memory (9 GiB) than is available", "out_of_memory", False),
        (502, "<html><body>Bad gateway</body></html>", "server_error", True),
        (503, "Loading model", "server_error", True),
        (301, "", "http_error", False),
    ],
)
def test_a_refusal_has_a_code_and_a_sentence(provider, fake_models, dialect, status, words, code, temporary):
    fake_models.replies.append(error(status, words, dialect))

    with pytest.raises(ProviderError) as raised:
        ask(provider)

    assert (raised.value.code, raised.value.temporary) == (code, temporary)
    assert "<html>" not in str(raised.value)
    assert str(raised.value).endswith(".")
    assert len(fake_models.chats) == 1


def test_an_error_inside_the_stream_is_an_error(provider, fake_models, dialect):
    words = json.dumps(
        {"error": "tiny does not support tools" if dialect == "native" else {"message": "does not support tools"}}
    )
    chunk = f"{words}\n" if dialect == "native" else f"data: {words}\n\n"
    kind = "application/x-ndjson" if dialect == "native" else "text/event-stream"
    fake_models.replies.append(Raw(chunks=[chunk.encode()], content_type=kind))

    with pytest.raises(ProviderError) as raised:
        ask(provider, tools=(LOOK_UP,))

    assert raised.value.code == "tools_unsupported"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [({"Retry-After": "7"}, 7), ({"retry-after-ms": "1500"}, 1.5), ({}, None), ({"Retry-After": "soon"}, None)],
)
def test_a_server_that_is_busy_says_how_long_to_wait(provider, fake_models, dialect, headers, seconds):
    reply = error(429, "slow down", dialect)
    reply.headers = headers
    fake_models.replies.append(reply)

    with pytest.raises(ProviderError) as raised:
        ask(provider)

    assert raised.value.retry_after == seconds
    assert len(fake_models.chats) == 1


def test_a_date_to_wait_for_is_understood(provider, fake_models, dialect):
    reply = error(429, "slow down", dialect)
    reply.headers = {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}
    fake_models.replies.append(reply)

    with pytest.raises(ProviderError) as raised:
        ask(provider)

    assert raised.value.retry_after == 0


def test_late_headers_are_waited_for(dialect, fake_models):
    fake_models.replies.append(Says("late", wait_headers=0.3))

    provider = PROVIDERS[dialect](fake_models.url, timeouts=Timeouts(connect=0.1, first_token=5, idle=0.1))

    assert ask(provider).content == "late"


def test_a_first_token_that_never_comes_ends_the_call(dialect, fake_models):
    fake_models.replies.append(Says("late", wait_headers=5))

    with pytest.raises(ProviderError, match="WORKBENCH_FIRST_TOKEN_TIMEOUT_S") as raised:
        ask(PROVIDERS[dialect](fake_models.url, timeouts=Timeouts(first_token=0.2)))

    assert (raised.value.code, raised.value.temporary) == ("first_token_timeout", True)
    assert fake_models.wait_for_hang_up()


def test_a_stall_after_the_first_token_ends_the_call(dialect, fake_models):
    fake_models.replies.append(Says("one two", cuts=3, wait_between=0.4))

    with pytest.raises(ProviderError, match="WORKBENCH_IDLE_TIMEOUT_S") as raised:
        ask(PROVIDERS[dialect](fake_models.url, timeouts=Timeouts(first_token=3, idle=0.1)))

    assert raised.value.code == "idle_timeout"
    assert fake_models.wait_for_hang_up()


def test_tokens_that_keep_coming_may_take_longer_than_any_limit(dialect, fake_models):
    fake_models.replies.append(Says("one two three", cuts=1, wait_between=0.04))

    reply = ask(PROVIDERS[dialect](fake_models.url, timeouts=Timeouts(first_token=0.4, idle=0.4)))

    assert reply.content == "one two three"
    assert reply.seconds > 0.4


def test_time_outs_come_from_the_environment(dialect, fake_models):
    fake_models.replies.append(Says(wait_headers=5))
    environ = {
        "OLLAMA_URL": fake_models.url,
        "OPENAI_COMPATIBLE_URL": fake_models.url,
        "WORKBENCH_FIRST_TOKEN_TIMEOUT_S": "0.1",
    }

    with pytest.raises(ProviderError, match=r"within 0\.1 s"):
        ask(PROVIDERS[dialect].from_environ(environ))
    with pytest.raises(ProviderError, match="WORKBENCH_IDLE_TIMEOUT_S must be a number"):
        PROVIDERS[dialect].from_environ({"WORKBENCH_IDLE_TIMEOUT_S": "never"})


@pytest.mark.parametrize("chunks", [0, 3])
def test_a_dropped_connection_is_an_error_that_may_pass(provider, fake_models, chunks):
    fake_models.replies.append(Says("one two three", cuts=2, drop_after=chunks))

    with pytest.raises(ProviderError) as raised:
        ask(provider)

    assert (raised.value.code, raised.value.temporary) == ("connection_lost", True)


def test_cancelling_hangs_up(provider, fake_models):
    fake_models.replies.append(Says("x", endless="y ", wait_between=0.01))

    async def cancelled():
        begun = asyncio.Event()
        task = asyncio.ensure_future(provider.chat(make_request(), lambda _: begun.set()))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await provider.close()

    asyncio.run(cancelled())

    assert fake_models.wait_for_hang_up()


def test_endless_repetition_is_ended_and_the_server_sees_it(provider, fake_models):
    fake_models.replies.append(Says("Well. ", endless="I am sorry, I am sorry, so sorry. "))

    with pytest.raises(ProviderError) as raised:
        ask(provider)

    assert raised.value.code == "runaway"
    assert raised.value.partial.startswith("Well. I am sorry")
    assert fake_models.wait_for_hang_up()


def test_a_long_text_that_does_not_repeat_is_no_runaway(provider, fake_models):
    text = "\n".join(f"Line {number} of a long table | {number * 7919 % 1009}" for number in range(2000))
    fake_models.replies.append(Says(text, cuts=50))

    assert ask(provider).content == text


@pytest.mark.parametrize(("limit", "sent"), [({}, 4096), ({"max_output_tokens": 7}, 7)])
def test_every_call_has_an_output_limit(provider, fake_models, dialect, limit, sent):
    ask(provider, params=limit)

    body = fake_models.chats[0]
    assert (body["options"]["num_predict"] if dialect == "native" else body["max_tokens"]) == sent


@pytest.mark.parametrize(("counted", "flags"), [(1500, ("truncated_input",)), (2100, ())])
def test_a_prompt_that_was_cut_is_flagged(provider, fake_models, counted, flags):
    fake_models.replies.append(Says("x", input_tokens=counted))

    assert ask(provider, "some words " * 800).flags == flags


def test_two_tool_rounds_carry_calls_and_results_but_no_reasoning(provider, fake_models, dialect):
    messages = (
        ChatMessage(role="user", content="What is an elk?"),
        ChatMessage(
            role="assistant", content="", tool_calls=(ToolCall(id="1", name="look_up", arguments={"word": "elk"}),)
        ),
        ChatMessage(role="tool", content="A deer.", tool_call_id="1", name="look_up"),
    )

    ask(provider, messages=messages, tools=(LOOK_UP,))

    function = {"name": "look_up", "arguments": {"word": "elk"}}
    expected = {
        "native": [
            {"role": "assistant", "content": "", "tool_calls": [{"function": function}]},
            {"role": "tool", "content": "A deer.", "tool_name": "look_up"},
        ],
        "v1": [
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {
                        "id": "1",
                        "type": "function",
                        "function": {"name": "look_up", "arguments": '{"word": "elk"}'},
                    }
                ],
            },
            {"role": "tool", "content": "A deer.", "tool_call_id": "1"},
        ],
    }
    assert fake_models.chats[0]["messages"][1:] == expected[dialect]


def test_what_does_not_speak_the_dialect_is_told_so(provider, fake_models):
    for reply in (
        Raw(body="<html>Welcome</html>", content_type="text/html"),
        Raw(body="[1, 2]\n", content_type="text/plain"),
        Raw(body=""),
    ):
        fake_models.replies.append(reply)
        with pytest.raises(ProviderError, match="does not speak") as raised:
            ask(provider)
        assert raised.value.code == "bad_reply"


def test_one_provider_serves_many_calls_at_once(provider, fake_models):
    fake_models.default = Says("x", wait_headers=0.2)

    async def many():
        replies = await asyncio.gather(*(provider.chat(make_request()) for _ in range(64)))
        await provider.close()
        return replies

    replies = asyncio.run(many())

    assert len(replies) == 64
    assert max(reply.seconds for reply in replies) < 3


def test_a_provider_goes_on_working_on_another_event_loop(provider):
    assert ask(provider).content == ask(provider).content == "Hello."


def test_nothing_answers_is_a_probe_that_says_so(dialect):
    result = probe(PROVIDERS[dialect]("http://127.0.0.1:9"))

    assert result.ok is False
    assert "refused" in result.message


def test_a_probe_lists_the_models(provider, fake_models):
    fake_models.models = {"b": {}, "a": {}}

    result = probe(provider)

    assert result.ok
    assert [model.name for model in result.models] == ["a", "b"]
    assert fake_models.url in result.message


def test_a_server_without_models_answers_and_says_it_has_none(provider, fake_models):
    fake_models.models = {}

    result = probe(provider)

    assert (result.ok, result.models) == (True, ())
    assert "no models" in result.message


def test_a_list_that_fails_or_is_slow_is_a_sentence(provider, fake_models, dialect, monkeypatch):
    from workbench.engine.providers import _chat_completions, ollama

    for module in (_chat_completions, ollama):
        monkeypatch.setattr(module, "PROBE_SECONDS", 0.2)
    path = {"native": "/api/tags", "v1": "/v1/models"}[dialect]
    for reply, words in [
        (Raw(status=500, body={"error": "broken"}), "broken"),
        (Raw(wait_headers=5), "does not answer"),
    ]:
        fake_models.instead[path] = reply
        result = probe(provider)
        assert result.ok is False
        assert words in result.message


def test_what_the_provider_billed_is_the_cost(fake_models):
    fake_models.replies.append(Says("x", usage={"cost": 0.00031}))

    assert ask(PROVIDERS["v1"](fake_models.url)).cost_usd == Decimal("0.00031")
