"""A model server that says what it is told, in both dialects (native Ollama and OpenAI-compatible), over real HTTP.

For tests and benchmarks: `python -m workbench.engine.providers._fake_models --latency 0.2` prints its address and
serves until it is ended. A test puts replies into its queue and reads what was asked:

    with FakeModels() as fake:
        fake.replies.append(Says("Hello", cuts=3))
        ...
        assert fake.requests[0].body["model"] == "tiny"
"""

from __future__ import annotations

import argparse
import asyncio
import json
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

Body = dict[str, Any]


@dataclass(kw_only=True)
class Manner:
    """How a reply is sent: seconds before headers, before the first chunk, between chunks; where the line drops."""

    wait_headers: float = 0
    wait_first: float = 0
    wait_between: float = 0
    drop_after: int | None = None
    """Close the connection after so many chunks; 0 is before the headers."""
    at_once: bool = False
    """All chunks in one write, as a short answer comes from a server that has thought first."""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Says(Manner):
    """An answer in the words of neither dialect: each endpoint puts it into its own. None leaves a key out."""

    text: str | None = "Hello."
    reasoning: str = ""
    reasoning_key: str = "reasoning_content"
    """How `/v1` spells it; the native dialect says `thinking`."""
    tool_calls: Sequence[tuple[str, Any]] = ()
    finish: str | None = None
    input_tokens: int | None = 10
    output_tokens: int | None = 5
    load_seconds: float | None = None
    usage: Body = field(default_factory=dict)
    """More keys of the usage, such as `cost` or `prompt_tokens_details`."""
    cuts: int | None = None
    """Characters per chunk of text; None is one chunk."""
    endless: str = ""
    """Said again and again after the text, until the client hangs up."""

    def pieces(self) -> list[str]:
        text = self.text or ""
        return [text[at : at + self.cuts] for at in range(0, len(text), self.cuts)] if self.cuts else [text]


@dataclass
class Raw(Manner):
    """A reply as it stands: status and body (JSON unless text or bytes), sent in the given chunks if there are any."""

    status: int = 200
    body: Any = ""
    chunks: Sequence[bytes] = ()
    content_type: str = "application/json"


@dataclass
class Asked:
    """A request that arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: Body | None
    hung_up: bool = False
    """The client went away before the answer was complete."""


class FakeModels:
    """The server, on a thread of its own. Without a reply in the queue it answers with `default`."""

    def __init__(self, *, models: Sequence[str] = ("tiny:latest",), latency: float = 0, port: int = 0) -> None:
        self.replies: deque[Says | Raw] = deque()
        self.default: Says | Raw = Says(wait_headers=latency)
        self.models: dict[str, Body] = {name: {"capabilities": ["completion", "tools"]} for name in models}
        self.digests: dict[str, str] = {}
        self.instead: dict[str, Raw] = {}
        """Path → the reply to every request of it, for lists that are empty, slow or broken."""
        self.version: str | None = "0.12.3"
        """None: not an Ollama, the native paths are unknown."""
        self.requests: list[Asked] = []
        self._port, self._ready = port, threading.Event()

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        self._ready.wait(10)
        return self

    def __exit__(self, *details: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def chats(self) -> list[Body]:
        """The bodies of the chat requests, in order."""
        return [asked.body or {} for asked in self.requests if asked.path.endswith(("/api/chat", "/chat/completions"))]

    def wait_for_hang_up(self, seconds: float = 5) -> bool:
        """Whether the client of the last request went away early; waits a little for it to be noticed."""
        done = threading.Event()
        for _ in range(int(seconds / 0.01)):
            if self.requests and self.requests[-1].hung_up:
                return True
            done.wait(0.01)
        return False

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", self._port)
        await site.start()
        self._port = runner.addresses[0][1]
        self._ready.set()
        await self._stop.wait()
        await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        text = await request.text()
        asked = Asked(request.method, request.path, dict(request.headers), json.loads(text) if text else None)
        self.requests.append(asked)
        try:
            return await self._answer(request, asked)
        except (ConnectionResetError, asyncio.CancelledError):
            asked.hung_up = True
            raise

    async def _answer(self, request: web.Request, asked: Asked) -> web.StreamResponse:
        if asked.path in self.instead:
            return await _send_raw(request, self.instead[asked.path])
        if asked.path == "/v1/chat/completions" or (asked.path == "/api/chat" and self.version):
            refused = _refused(asked.body or {}, native=asked.path == "/api/chat")
            reply = refused or (self.replies.popleft() if self.replies else self.default)
            if isinstance(reply, Raw):
                return await _send_raw(request, reply)
            return await _send_says(request, reply, asked.body or {}, native=asked.path == "/api/chat")
        listing = self._listing(asked)
        return web.json_response(listing) if listing else web.json_response({"error": "404 page not found"}, status=404)

    def _listing(self, asked: Asked) -> Body | None:
        name = str((asked.body or {}).get("model", ""))
        if asked.path == "/v1/models":
            return {"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]}
        if self.version is None:
            return None
        listings: dict[str, Body | None] = {
            "/api/version": {"version": self.version},
            "/api/tags": {
                "models": [
                    {
                        "name": name,
                        "model": name,
                        "digest": self.digests.get(name, f"sha-{name}"),
                        "size": 7,
                        "details": {"quantization_level": "Q4_K_M"},
                    }
                    for name in self.models
                ]
            },
            "/api/ps": {"models": [{"name": name, "context_length": 4096} for name in self.models]},
            "/api/show": self.models.get(name),
            "/api/generate": {"model": name, "response": "", "done": True, "done_reason": "load"},
        }
        return listings.get(asked.path)


def _refused(body: Body, *, native: bool) -> Raw | None:
    """What a strict server refuses: tools that are no list of objects."""
    tools = body.get("tools", [])
    if isinstance(tools, list) and all(isinstance(tool, dict) and "function" in tool for tool in tools):
        return None
    words = "json: cannot unmarshal tools"
    return Raw(status=400, body={"error": words if native else {"message": words, "type": "invalid_request_error"}})


async def _send_raw(request: web.Request, reply: Raw) -> web.StreamResponse:
    body = reply.body if isinstance(reply.body, str | bytes) else json.dumps(reply.body)
    body = body.encode("utf-8", errors="surrogatepass") if isinstance(body, str) else body
    return await _send(request, reply, list(reply.chunks) or [body], status=reply.status, kind=reply.content_type)


async def _send_says(request: web.Request, reply: Says, body: Body, *, native: bool) -> web.StreamResponse:
    model = str(body.get("model", ""))
    if body.get("stream", native):
        chunks = _native_stream(reply, model) if native else _openai_stream(reply, model, body)
        return await _send(request, reply, chunks, kind="application/x-ndjson" if native else "text/event-stream")
    whole = _native_whole(reply, model) if native else _openai_whole(reply, model)
    return await _send(request, reply, [json.dumps(whole).encode()], kind="application/json")


async def _send(
    request: web.Request, manner: Manner, chunks: Iterator[bytes] | list[bytes], *, status: int = 200, kind: str
) -> web.StreamResponse:
    await asyncio.sleep(manner.wait_headers)
    response = web.StreamResponse(status=status, headers={"Content-Type": kind, **manner.headers})
    if manner.drop_after == 0:
        _drop(request)
        return response
    await response.prepare(request)
    if manner.at_once:
        chunks = [b"".join(chunks)]
    for number, chunk in enumerate(chunks):
        wait = manner.wait_between if number else manner.wait_first
        await asyncio.sleep(wait)  # also at 0: others must have their turn in an endless reply
        await response.write(chunk)
        if manner.drop_after == number + 1:
            _drop(request)
            return response
    await response.write_eof()
    return response


def _drop(request: web.Request) -> None:
    if request.transport:
        request.transport.close()


def _native_call(name: str, arguments: Any) -> Body:
    return {"function": {"name": name, "arguments": arguments}}


def _openai_call(number: int, name: str, arguments: Any) -> Body:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {
        "index": number,
        "id": f"call_{number}",
        "type": "function",
        "function": {"name": name, "arguments": text},
    }


def _given(body: Body) -> Body:
    return {key: value for key, value in body.items() if value is not None}


def _native_end(reply: Says) -> Body:
    nanoseconds = None if reply.load_seconds is None else int(reply.load_seconds * 1e9)
    return _given(
        {
            "done": True,
            "done_reason": reply.finish or "stop",
            "prompt_eval_count": reply.input_tokens,
            "eval_count": reply.output_tokens,
            "load_duration": nanoseconds,
        }
    )


def _native_whole(reply: Says, model: str) -> Body:
    message = _given({"role": "assistant", "content": reply.text, "thinking": reply.reasoning or None})
    if reply.tool_calls:
        message["tool_calls"] = [_native_call(name, arguments) for name, arguments in reply.tool_calls]
    return {"model": model, "message": message, **_native_end(reply)}


def _native_stream(reply: Says, model: str) -> Iterator[bytes]:
    def line(message: Body, **more: Any) -> bytes:
        data = {"model": model, "message": {"role": "assistant", **message}, "done": False, **more}
        return json.dumps(data).encode() + b"\n"

    if reply.reasoning:
        yield line({"content": "", "thinking": reply.reasoning})
    for piece in reply.pieces():
        yield line(_given({"content": None if reply.text is None else piece}))
    while reply.endless:
        yield line({"content": reply.endless})
    if reply.tool_calls:
        yield line({"content": "", "tool_calls": [_native_call(name, given) for name, given in reply.tool_calls]})
    yield line({"content": ""} if reply.text is not None else {}, **_native_end(reply))


def _openai_usage(reply: Says) -> Body | None:
    if reply.input_tokens is None and reply.output_tokens is None:
        return None
    total = (reply.input_tokens or 0) + (reply.output_tokens or 0)
    counts = {"prompt_tokens": reply.input_tokens, "completion_tokens": reply.output_tokens, "total_tokens": total}
    return {**_given(counts), **reply.usage}


def _openai_finish(reply: Says) -> str:
    return reply.finish or ("tool_calls" if reply.tool_calls else "stop")


def _openai_whole(reply: Says, model: str) -> Body:
    message = _given({"role": "assistant", "content": reply.text, reply.reasoning_key: reply.reasoning or None})
    if reply.tool_calls:
        message["tool_calls"] = [_openai_call(number, *call) for number, call in enumerate(reply.tool_calls)]
    choice = {"index": 0, "message": message, "finish_reason": _openai_finish(reply)}
    return _given({"id": "chat-1", "model": model, "choices": [choice], "usage": _openai_usage(reply)})


def _openai_stream(reply: Says, model: str, body: Body) -> Iterator[bytes]:
    def event(choices: list[Body], **more: Any) -> bytes:
        data = {"id": "chat-1", "object": "chat.completion.chunk", "model": model, "choices": choices, **more}
        return b"data: " + json.dumps(data).encode() + b"\n\n"

    def delta(finish: str | None = None, **delta: Any) -> bytes:
        return event([{"index": 0, "delta": delta, "finish_reason": finish}])

    yield delta(role="assistant")
    if reply.reasoning:
        yield delta(**{reply.reasoning_key: reply.reasoning})
    for piece in reply.pieces():
        if reply.text is not None:
            yield delta(content=piece)
    while reply.endless:
        yield delta(content=reply.endless)
    for number, (name, arguments) in enumerate(reply.tool_calls):
        call = _openai_call(number, name, arguments)
        text = call["function"]["arguments"]
        half = len(text) // 2
        yield delta(tool_calls=[{**call, "function": {"name": name, "arguments": text[:half]}}])
        yield delta(tool_calls=[{"index": number, "function": {"arguments": text[half:]}}])
    yield delta(finish=_openai_finish(reply))
    usage = _openai_usage(reply)
    if usage and body.get("stream_options", {}).get("include_usage"):
        yield event([], usage=usage)
    yield b"data: [DONE]\n\n"


def main() -> None:
    """Serve in the foreground, printing the address."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--latency", type=float, default=0, help="seconds before each answer")
    parser.add_argument("--port", type=int, default=0, help="0 picks a free one")
    parser.add_argument("--model", action="append", help="a model's name; may be given several times")
    options = parser.parse_args()
    models = options.model or ["tiny:latest"]
    with FakeModels(models=models, latency=options.latency, port=options.port) as fake:
        fake.requests = _Forgetful()
        fake.default.at_once = True
        print(fake.url, flush=True)
        threading.Event().wait()


class _Forgetful(list[Asked]):
    """A benchmark's requests are not kept: there are too many."""

    def append(self, _: Asked) -> None:
        pass


if __name__ == "__main__":
    main()
