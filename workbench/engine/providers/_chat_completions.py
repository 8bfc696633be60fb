"""The OpenAI-compatible dialect, `/v1/chat/completions`: for clouds and local servers.

Models are listed through the official client. Chats go straight over aiohttp: the client's own share of a call is several
times that of all the rest.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from workbench.engine.errors import ProviderError
from workbench.engine.providers import ChatMessage, ModelReply, ModelRequest, ToolCall, ToolSchema, Usage
from workbench.engine.providers._faults import body_of, broken_off, refusal
from workbench.engine.providers._http import (
    PROBE_SECONDS,
    LoopBound,
    Target,
    Timeouts,
    Watch,
    connection_fault,
    session,
    timeout,
    transport,
)
from workbench.engine.providers._reply import OUTPUT_TOKENS, Growing
from workbench.engine.providers._sse import event_data
from workbench.engine.providers._text import read_arguments
from workbench.engine.providers._urls import is_local

if TYPE_CHECKING:
    import aiohttp
    import openai

Body = dict[str, Any]
SMALLEST_WINDOW = 2048
HEADERS = {"Content-Type": "application/json", "Accept": "text/event-stream, application/json"}
ONCE = {"Connection": "close"}
HASTY = "llama.cpp"
"""The server that closes some connections right after an answer; a call that is sent on one of these is lost."""
DRAIN_S = 0.1
REFUSABLE = {"stream_options": "stream_options", "max_tokens": "max_completion_tokens"}
"""What some servers refuse, and the word by which their refusal is known."""


class ChatCompletions:
    """One server that speaks this dialect. Some refuse what others need (`stream_options`, the older name of the output
    limit): what a server refused once is not sent to it again."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._client, self._session = LoopBound(), LoopBound()
        self._reuses = not is_local(target.url)
        """Whether connections are used again: on a computer's own servers once it is known that they are not hasty."""
        self._refused = {"max_tokens"} if "//api.openai.com" in target.url else set[str]()

    async def chat(
        self, request: ModelRequest, on_text: Callable[[str], None] | None = None, *, more: Body | None = None
    ) -> ModelReply:
        """Ask once. `more` goes into the body as it is."""
        body = {**chat_body(request), **(more or {})}
        async with Watch(self.target) as watch, self._faults(request.model):
            growing = Growing(request, watch, on_text)
            async with self._answer(body, request.model) as response:
                last = await _read(response, growing, self.target)
            if _power_of_two(growing.usage):
                growing.flags.append("truncated_input")
            return growing.reply(body=self._adapted(body), raw=_raw(growing, last))

    async def models(self) -> list[Body]:
        """The models that the server lists."""
        soon = self.target._replace(timeouts=Timeouts(PROBE_SECONDS, PROBE_SECONDS, PROBE_SECONDS))
        async with Watch(soon, listing=True), self._faults(""):
            listed: Any = await self._made().get("/models", cast_to=object, options=self._options())
        data = listed.get("data", listed.get("models")) if isinstance(listed, dict) else listed
        return [item for item in data or [] if isinstance(item, dict) and isinstance(item.get("id"), str)]

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()
        await self._session.close()

    def _made(self) -> openai.AsyncOpenAI:
        client: openai.AsyncOpenAI = self._client.get(lambda: _client(self.target))
        return client

    @asynccontextmanager
    async def _answer(self, body: Body, model: str) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer, begun; asked again without what the server refuses, for a refused request is not a call."""
        target = self.target
        connections: aiohttp.ClientSession = self._session.get(lambda: session(target))
        key = {"Authorization": f"Bearer {target.key}"} if target.key else {}
        while True:
            async with connections.post(
                f"{target.url}/chat/completions",
                data=json.dumps(self._adapted(body), ensure_ascii=False).encode(errors="replace"),
                headers={**HEADERS, **key, **({} if self._reuses else ONCE)},
                allow_redirects=False,
            ) as response:
                self._reuses = self._reuses or HASTY not in response.headers.get("Server", "").lower()
                if response.status < 300:
                    yield response
                    return
                words = await response.text(errors="replace")
            refused = {key for key, word in REFUSABLE.items() if word in words and response.status in (400, 422)}
            if not refused - self._refused:
                raise refusal(target, response.status, body_of(words), response.headers, model=model)
            self._refused |= refused

    def _options(self) -> Any:
        """Without the headers that the client takes from the process environment, and the key where there is none."""
        import openai

        left_out = ["OpenAI-Organization", "OpenAI-Project", *([] if self.target.key else ["Authorization"])]
        return {"headers": {name: openai.Omit() for name in left_out}}

    def _adapted(self, body: Body) -> Body:
        renamed = {"max_tokens": "max_completion_tokens"} if "max_tokens" in self._refused else {}
        return {
            renamed.get(key, key): value for key, value in body.items() if key in renamed or key not in self._refused
        }

    @asynccontextmanager
    async def _faults(self, model: str) -> AsyncIterator[None]:
        """Errors on the way as ours."""
        import aiohttp
        import httpx
        import openai

        try:
            yield
        except (aiohttp.ClientError, OSError) as error:
            raise connection_fault(self.target, error) or _no_dialect(self.target) from error
        except openai.APIStatusError as error:
            body = body_of(error.response.text)
            raise refusal(self.target, error.status_code, body, error.response.headers, model=model) from error
        except (openai.OpenAIError, httpx.HTTPError) as error:
            fault = connection_fault(self.target, error)
            if (
                fault is None
                and isinstance(error, openai.APIError)
                and not isinstance(error, openai.APIConnectionError)
            ):
                fault = refusal(self.target, None, error.body or str(error), {}, model=model)
            raise fault or _no_dialect(self.target) from error
        except ValueError as error:
            raise _no_dialect(self.target) from error


def chat_body(request: ModelRequest) -> Body:
    """The request in this dialect: knobs at the top level, no window (there is no field for it)."""
    params = request.params
    body: Body = {
        "model": request.model,
        "messages": [chat_message(message) for message in request.messages],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": params.get("max_output_tokens") or OUTPUT_TOKENS,
    }
    body |= {key: params[key] for key in ("temperature", "top_p", "top_k", "seed") if params.get(key) is not None}
    if params.get("stop"):
        body["stop"] = list(params["stop"])
    if (thinking := params.get("thinking")) is not None:
        body["reasoning_effort"] = thinking if isinstance(thinking, str) else "medium" if thinking else "none"
    if request.tools:
        body["tools"] = [function_tool(tool) for tool in request.tools]
    if request.json_schema is not None:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": request.json_schema},
        }
    return body


def function_tool(tool: ToolSchema) -> Body:
    """A tool as both dialects take it."""
    return {"type": "function", "function": tool.model_dump(mode="json")}


def chat_message(message: ChatMessage) -> Body:
    """A message in this dialect; arguments of calls are JSON as text."""
    body: Body = {"role": message.role, "content": sendable(message.content)}
    if message.tool_calls:
        body["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _json(call.arguments)}}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        body["tool_call_id"] = message.tool_call_id
    return body


def sendable(text: str) -> str:
    """Text as UTF-8 can carry it: models and tools may hand on half a character."""
    return text if text.isascii() else text.encode("utf-8", errors="replace").decode()


def read_usage(usage: Any) -> Usage:
    """The tokens of a reply's `usage`. Counts that are left out are unknown; reasoning is inside the output already."""
    if not isinstance(usage, dict):
        return Usage()
    if "prompt_tokens" not in usage and "input_tokens" in usage:
        return _uncached_usage(usage)
    counts = {
        "input_tokens": usage.get("prompt_tokens"),
        "output_tokens": usage.get("completion_tokens"),
        "cached_tokens": _detail(usage, "prompt_tokens_details", "cached_tokens"),
        "cache_write_tokens": _detail(usage, "prompt_tokens_details", "cache_write_tokens"),
        "reasoning_tokens": _detail(usage, "completion_tokens_details", "reasoning_tokens"),
    }
    known = {key: value for key, value in counts.items() if isinstance(value, int) and value >= 0}
    return Usage(**known, source="reported" if known else "unknown")


def _uncached_usage(usage: Body) -> Usage:
    """Gateways to Anthropic may hand its own counts on: there the input is only what no cache was asked for."""
    read, written = usage.get("cache_read_input_tokens"), usage.get("cache_creation_input_tokens")
    parts = [part or 0 for part in (usage["input_tokens"], read, written)]
    if not all(isinstance(part, int) and part >= 0 for part in parts) or not isinstance(usage["input_tokens"], int):
        return Usage()
    output = usage.get("output_tokens")
    return Usage(
        input_tokens=sum(parts),
        output_tokens=output if isinstance(output, int) and output >= 0 else None,
        cached_tokens=read,
        cache_write_tokens=written,
        source="reported",
    )


def read_cost(usage: Any) -> Decimal | None:
    """What the provider says it billed."""
    cost = usage.get("cost") if isinstance(usage, dict) else None
    if isinstance(cost, bool) or not isinstance(cost, int | float | str):
        return None
    try:
        amount = Decimal(str(cost))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and amount >= 0 else None


def _client(target: Target) -> openai.AsyncOpenAI:
    import httpx
    import openai

    http: Any = httpx.AsyncClient(
        transport=transport(use_proxy=target.use_proxy, reuse=not is_local(target.url)),
        timeout=timeout(target),
        trust_env=False,
        follow_redirects=False,
    )
    return openai.AsyncOpenAI(
        base_url=target.url,
        api_key=target.key or "none",
        http_client=http,
        timeout=http.timeout,
        max_retries=0,
    )


async def _read(response: aiohttp.ClientResponse, growing: Growing, target: Target) -> Body:
    """Read the answer to its end into `growing`; the last fields seen outside the choices are handed back."""
    calls: dict[int, Body] = {}
    last: Body = {}
    if response.content_type == "application/json":  # it does not stream
        growing.finish = "stop"
    async for part in _parts(response):
        if not isinstance(part, dict):
            raise ValueError("A part of the stream is no object.")
        if part.get("error"):
            raise refusal(target, None, part, {}, model=growing.request.model)
        _take(part, growing, calls)
        last |= {key: value for key, value in part.items() if key != "choices" and value is not None}
    if not growing.finish:
        raise broken_off(target, growing.text) if last or growing.text else _no_dialect(target)
    growing.calls = [_tool_call(number, call) for number, call in sorted(calls.items())]
    return last


async def _parts(response: aiohttp.ClientResponse) -> AsyncIterator[Any]:
    """What the answer consists of. After its last part little is waited for: the connection is used again if it ends."""
    if response.content_type == "application/json":
        yield json.loads(await response.read())
        return
    async for data in event_data(response.content.iter_any()):
        if data.startswith(b"[DONE]"):
            break
        yield json.loads(data.decode(errors="replace"))
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_S):
            await response.content.readany()


def _take(part: Body, growing: Growing, calls: dict[int, Body]) -> None:
    growing.model = part.get("model") or growing.model
    if part.get("usage"):
        growing.usage, growing.cost_usd = read_usage(part["usage"]), read_cost(part["usage"])
    for choice in (part.get("choices") or [])[:1]:
        delta = choice.get("delta") or choice.get("message") or {}
        growing.finish = choice.get("finish_reason") or growing.finish
        reasoning = delta.get("reasoning_content") or delta.get("reasoning") or delta.get("thinking")
        growing.add(_string(delta.get("content")), _string(reasoning))
        for place, piece in enumerate(delta.get("tool_calls") or []):
            growing.watch.token()
            _join_call(calls.setdefault(_index(piece, place, calls), {"arguments": ""}), piece)


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _index(piece: Body, place: int, calls: dict[int, Body]) -> int:
    index = piece.get("index")
    if isinstance(index, int):
        return index
    return len(calls) if piece.get("id") else place  # some servers send whole calls without an index


def _join_call(call: Body, piece: Body) -> None:
    function = piece.get("function") or {}
    call["id"] = piece.get("id") or call.get("id")
    call["name"] = call.get("name") or function.get("name")
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        call["arguments"] += arguments
    elif arguments is not None:
        call["arguments"] = arguments


def _tool_call(number: int, call: Body) -> ToolCall:
    arguments, error = read_arguments(call["arguments"])
    return ToolCall(
        id=call.get("id") or f"call-{number + 1}",
        name=call.get("name") or "",
        arguments=arguments,
        arguments_error=error,
    )


def _raw(growing: Growing, last: Body) -> Body:
    message: Body = {"role": "assistant", "content": growing.text}
    if growing.reasoning:
        message["reasoning"] = growing.reasoning
    if growing.calls:
        message["tool_calls"] = [call.model_dump(mode="json", exclude_none=True) for call in growing.calls]
    return {**last, "choices": [{"index": 0, "message": message, "finish_reason": growing.finish or None}]}


def _power_of_two(usage: Usage) -> bool:
    """Whether the tokens add up to a window exactly: a sign of a prompt cut at it, as there is no field to set one."""
    if usage.input_tokens is None or usage.output_tokens is None:
        return False
    total = usage.input_tokens + usage.output_tokens
    return total >= SMALLEST_WINDOW and total & (total - 1) == 0


def _detail(usage: Body, group: str, key: str) -> Any:
    details = usage.get(group)
    return details.get(key) if isinstance(details, dict) else None


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _no_dialect(target: Target) -> ProviderError:
    return ProviderError(
        f"What answers at {target.url} does not speak this dialect (/chat/completions). Check the address in "
        f"{target.variable}.",
        code="bad_reply",
    )
