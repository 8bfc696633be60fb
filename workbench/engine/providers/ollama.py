"""Ollama, by its native API, through the official client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any, Self

from workbench.engine.errors import ProviderError
from workbench.engine.providers import (
    ChatMessage,
    ModelInfo,
    ModelReply,
    ModelRequest,
    ProbeResult,
    Provider,
    ToolCall,
    Usage,
)
from workbench.engine.providers._chat_completions import function_tool, sendable
from workbench.engine.providers._faults import body_of, broken_off, model_missing, refusal
from workbench.engine.providers._http import (
    PROBE_SECONDS,
    LoopBound,
    Target,
    Timeouts,
    Watch,
    connection_fault,
    proxy_note,
    timeout,
    transport,
)
from workbench.engine.providers._reply import OUTPUT_TOKENS, Growing
from workbench.engine.providers._text import read_arguments
from workbench.engine.providers._urls import native_url

VARIABLE, DEFAULT_URL, PROXY_VARIABLE = "OLLAMA_URL", "http://127.0.0.1:11434", "OLLAMA_USE_PROXY"
WINDOW = 8192
"""The window asked for where none is set: the server's own default depends on its memory, and cuts in silence."""

Body = dict[str, Any]


class OllamaProvider(Provider):
    """Models on this machine or another one of yours, through Ollama. OLLAMA_URL says where it answers."""

    json_with_tools = False
    window = WINDOW

    def __init__(self, url: str = DEFAULT_URL, *, timeouts: Timeouts | None = None, use_proxy: bool = False) -> None:
        self._url, self._timeouts, self._use_proxy = url, timeouts or Timeouts(), use_proxy
        self._client = LoopBound()

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        return cls(
            environ.get(VARIABLE, "").strip() or DEFAULT_URL,
            timeouts=Timeouts.from_environ(environ),
            use_proxy=environ.get(PROXY_VARIABLE) == "1",
        )

    async def chat(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        target, body = self._target(), chat_body(request)
        try:
            async with Watch(target) as watch, self._faults(target, request.model):
                growing = Growing(request, watch, on_text)
                async with aclosing(self._wire(target).stream("/api/chat", body)) as parts:
                    last = await _read(parts, growing, target)
                return growing.reply(body=body, raw=_raw(growing, last))
        except ProviderError as error:
            if error.code != "not_found":
                raise
            raise await self._not_found(target, request.model) from error

    async def probe(self) -> ProbeResult:
        try:
            target = self._target()
            version = (await self._listing(target, "/api/version")).get("version")
            tags = (await self._listing(target, "/api/tags")).get("models") or []
        except ProviderError as error:
            return ProbeResult(ok=False, message=str(error))
        names = sorted(str(tag.get("model") or tag.get("name")) for tag in tags if isinstance(tag, dict))
        shown = dict(zip(names, await asyncio.gather(*(self._show(target, name) for name in names)), strict=True))
        by_name = {str(tag.get("model") or tag.get("name")): tag for tag in tags if isinstance(tag, dict)}
        models = tuple(_info(name, by_name[name], shown[name]) for name in names)
        found = f"has {len(models)} models" if models else "has no models yet; get one with `ollama pull qwen3.5:4b`"
        message = f"Ollama {version} at {target.url} {found}.{proxy_note(target)}"
        return ProbeResult(ok=True, message=message, models=models, version=str(version) if version else None)

    async def warm_up(self, model: str, params: Mapping[str, Any]) -> None:
        target = self._target()
        body = {"model": model, "stream": False, "options": {"num_ctx": params.get("num_ctx") or WINDOW}}
        async with Watch(target), self._faults(target, model):
            await self._wire(target).ask("POST", "/api/generate", body)

    async def version(self) -> str | None:
        """The server's version, or None where no Ollama answers."""
        try:
            version = (await self._listing(self._target(), "/api/version")).get("version")
        except ProviderError:
            return None
        return version if isinstance(version, str) else None

    async def close(self) -> None:
        await self._client.close()

    def _target(self) -> Target:
        return Target(
            name="Ollama",
            url=native_url(self._url, variable=VARIABLE),
            variable=VARIABLE,
            start=f"Start Ollama, or set {VARIABLE}.",
            timeouts=self._timeouts,
            use_proxy=self._use_proxy,
            proxy_variable=PROXY_VARIABLE,
        )

    def _wire(self, target: Target) -> Any:
        return self._client.get(lambda: _wire(target))

    async def _listing(self, target: Target, path: str, body: Body | None = None) -> Body:
        """A small question that must be answered soon."""
        soon = target._replace(timeouts=Timeouts(PROBE_SECONDS, PROBE_SECONDS, PROBE_SECONDS))
        async with Watch(soon, listing=True), self._faults(soon, str((body or {}).get("model", ""))):
            answer: Body = await self._wire(target).ask("POST" if body else "GET", path, body)
            return answer

    async def _show(self, target: Target, name: str) -> Body:
        try:
            return await self._listing(target, "/api/show", {"model": name})
        except ProviderError:
            return {}

    async def _not_found(self, target: Target, model: str) -> ProviderError:
        try:
            tags = (await self._listing(target, "/api/tags")).get("models") or []
        except ProviderError as error:
            if error.code != "not_found":
                return model_missing(target, model, None, pull=True)
            return ProviderError(
                f"What answers at {target.url} is no Ollama: it knows neither /api/chat nor /api/tags. Check the "
                f"address in {VARIABLE}.",
                code="bad_reply",
            )
        installed = [str(tag.get("name")) for tag in tags if isinstance(tag, dict)]
        return model_missing(target, model, installed, pull=True)

    @asynccontextmanager
    async def _faults(self, target: Target, model: str) -> AsyncIterator[None]:
        """The client's errors as ours."""
        import httpx
        import ollama

        try:
            yield
        except ollama.ResponseError as error:
            status = error.status_code if error.status_code > 0 else None
            response = getattr(error.__context__, "response", None)
            body = body_of(response.text) if response is not None else error.error
            raise refusal(
                target, status, body, response.headers if response is not None else {}, model=model
            ) from error
        except (httpx.HTTPError, ConnectionError) as error:
            raise connection_fault(target, error) or _no_dialect(target) from error
        except ValueError as error:  # no JSON
            raise _no_dialect(target) from error


def chat_body(request: ModelRequest) -> Body:
    """The request in the native dialect: knobs inside `options`, the window and the output limit always."""
    params = request.params
    options = {key: params[key] for key in ("temperature", "top_p", "top_k", "seed") if params.get(key) is not None}
    options["num_ctx"] = params.get("num_ctx") or WINDOW
    options["num_predict"] = params.get("max_output_tokens") or OUTPUT_TOKENS
    if params.get("stop"):
        options["stop"] = list(params["stop"])
    body: Body = {
        "model": request.model,
        "messages": [chat_message(message) for message in request.messages],
        "stream": True,
        "options": options,
    }
    if params.get("thinking") is not None:
        body["think"] = params["thinking"]
    if request.tools:
        body["tools"] = [function_tool(tool) for tool in request.tools]
    if request.json_schema is not None:
        body["format"] = request.json_schema
    return body


def chat_message(message: ChatMessage) -> Body:
    """A message in the native dialect: arguments are objects, a tool's answer carries the tool's name."""
    body: Body = {"role": message.role, "content": sendable(message.content)}
    if message.tool_calls:
        body["tool_calls"] = [
            {"function": {"name": call.name, "arguments": call.arguments}} for call in message.tool_calls
        ]
    if message.role == "tool" and message.name:
        body["tool_name"] = message.name
    return body


def read_usage(last: Body) -> Usage:
    """The tokens in a reply's last part; an absent count is unknown."""
    counts = {"input_tokens": last.get("prompt_eval_count"), "output_tokens": last.get("eval_count")}
    known = {key: value for key, value in counts.items() if isinstance(value, int) and value >= 0}
    return Usage(**known, compute_seconds=_compute_seconds(last), source="reported" if known else "unknown")


def _compute_seconds(last: Body) -> float | None:
    """Reading the prompt and writing the answer, without loading; durations are nanoseconds."""
    durations = [last.get("prompt_eval_duration"), last.get("eval_duration")]
    known = [value for value in durations if isinstance(value, int)]
    return sum(known) / 1e9 if known else None


def _wire(target: Target) -> Any:
    """The official client, asked for the bodies themselves: its own classes drop what they don't know, from the schemas
    of tools on the way out and from replies on the way in."""
    import ollama

    class Wire(ollama.AsyncClient):
        async def stream(self, path: str, body: Body) -> AsyncIterator[Body]:
            parts: Any = await self._request(dict, "POST", path, json=body, stream=True)
            async with aclosing(parts):
                try:
                    async for part in parts:
                        yield part
                except (TypeError, AttributeError) as error:  # JSON, but no objects
                    raise _no_dialect(target) from error

        async def ask(self, method: str, path: str, body: Body | None) -> Body:
            request: Any = self._request
            try:
                return dict(await request(dict, method, path, **({} if body is None else {"json": body})))
            except TypeError as error:
                raise _no_dialect(target) from error

    client = Wire(
        target.url,
        transport=transport(use_proxy=target.use_proxy),
        timeout=timeout(target),
        trust_env=False,
        follow_redirects=False,
    )
    client._client.headers.pop("authorization", None)  # the client sends OLLAMA_API_KEY to whatever host it is given
    return client


async def _read(parts: AsyncIterator[Body], growing: Growing, target: Target) -> Body:
    last: Body = {}
    async for part in parts:
        message = part["message"] if isinstance(part.get("message"), dict) else {}
        growing.add(message.get("content") or "", message.get("thinking") or message.get("reasoning") or "")
        for call in message.get("tool_calls") or []:
            growing.watch.token()
            growing.calls.append(_tool_call(len(growing.calls) + 1, call))
        last |= {key: value for key, value in part.items() if key != "message"}
    if not last.get("done"):
        raise broken_off(target, growing.text) if last else _no_dialect(target)
    growing.model = last.get("model") or ""
    growing.finish = last.get("done_reason") or "stop"
    growing.usage = read_usage(last)
    if isinstance(last.get("load_duration"), int):
        growing.load_seconds = last["load_duration"] / 1e9
    return last


def _tool_call(number: int, call: Body) -> ToolCall:
    function = call.get("function") or {}
    arguments, error = read_arguments(function.get("arguments"))
    name = str(function.get("name") or "")
    return ToolCall(id=call.get("id") or f"call-{number}", name=name, arguments=arguments, arguments_error=error)


def _raw(growing: Growing, last: Body) -> Body:
    message: Body = {"role": "assistant", "content": growing.text}
    if growing.reasoning:
        message["thinking"] = growing.reasoning
    if growing.calls:
        message["tool_calls"] = [{"function": {"name": c.name, "arguments": c.arguments}} for c in growing.calls]
    return {**last, "message": message}


def _info(name: str, tag: Body, shown: Body) -> ModelInfo:
    details = shown.get("model_info") or {}
    context = next((value for key, value in details.items() if key.endswith(".context_length")), None)
    capabilities = shown.get("capabilities")
    note = "" if capabilities is None or "completion" in capabilities else "It makes embeddings and can't chat."
    if capabilities is None:
        note = "Its server does not say what it can do."
    return ModelInfo(
        name=name,
        context=context if isinstance(context, int) else None,
        capabilities=None if capabilities is None else tuple(str(item) for item in capabilities),
        digest=tag.get("digest"),
        quantization=(tag.get("details") or shown.get("details") or {}).get("quantization_level") or None,
        size_bytes=tag.get("size"),
        note=note,
    )


def _no_dialect(target: Target) -> ProviderError:
    sentence = f"What answers at {target.url} does not speak Ollama's native API. Check the address in {VARIABLE}."
    return ProviderError(sentence, code="bad_reply")
