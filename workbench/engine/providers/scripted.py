"""Answers from a script: tests, the demo and dry runs use it in place of a model."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter
from typing import Any, Self

from workbench.engine.errors import InvalidDocument, ProviderError
from workbench.engine.plugins import nearest
from workbench.engine.providers import ModelInfo, ModelReply, ModelRequest, ProbeResult, Provider, ToolCall, Usage
from workbench.engine.providers._estimate import estimated_input_tokens, estimated_tokens
from workbench.engine.providers._script import Entry, Fault, Script, Tokens
from workbench.engine.under_way import Heard, Said

__all__ = ["Entry", "Fault", "Script", "ScriptedProvider", "Tokens"]

Answer = Callable[[ModelRequest], "str | Entry | ModelReply"]
ECHO = "echo"
SCRIPT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class ScriptedProvider(Provider):
    """Answers from a file or a function of the prompt: free of chance, of the network and of any process's memory.

    Given a script or a function it answers every model by that. Otherwise `scripted/NAME` is the file NAME.json of the
    folder that WORKBENCH_SCRIPTS names, and `scripted/echo` says again what the user said last.
    """

    bills = True

    def __init__(self, answer: Script | Answer | None = None, *, folder: Path | None = None) -> None:
        self._answer, self._folder = answer, folder
        self._read: dict[Path, tuple[int, Script]] = {}

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        folder = environ.get("WORKBENCH_SCRIPTS", "")
        return cls(folder=Path(folder) if folder else None)

    async def chat(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        began = perf_counter()
        answer = self._answer or self._script(request.model)
        if isinstance(answer, Script):
            entry, latency = answer.entry(request), answer.latency_s
        else:
            given = answer(request)
            if isinstance(given, ModelReply):
                return given
            entry, latency = given if isinstance(given, Entry) else Entry(text=given), 0.0
        latency = latency if entry.latency_s is None else entry.latency_s
        if isinstance(on_text, Heard):
            on_text.follow(lambda: _said(entry, latency, perf_counter() - began))
        await asyncio.sleep(latency)
        if entry.fault:
            fault = entry.fault
            raise ProviderError(
                fault.sentence,
                code=fault.code,
                temporary=fault.is_temporary,
                retry_after=fault.retry_after,
                cost_usd=entry.cost_usd,
            )
        if on_text and entry.content and not isinstance(on_text, Heard):
            on_text(entry.content)
        return _reply(request, entry, perf_counter() - began)

    async def probe(self) -> ProbeResult:
        names = [ECHO, *self._names()]
        return ProbeResult(
            ok=True,
            message=f"Answers from scripts; {len(names)} to choose from.",
            models=tuple(ModelInfo(name=name, note="A script, not a model.") for name in names),
        )

    def _names(self) -> list[str]:
        return sorted(path.stem for path in self._folder.glob("*.json")) if self._folder else []

    def _script(self, name: str) -> Script:
        path = (self._folder / f"{name}.json") if self._folder and SCRIPT_NAME.fullmatch(name) else None
        if path is None or not path.is_file():
            if name == ECHO:
                return Script()
            raise ProviderError(self._unknown(name), code="model_not_found")
        changed = path.stat().st_mtime_ns
        if self._read.get(path, (None, None))[0] != changed:
            try:
                self._read[path] = changed, Script.from_text(path.read_bytes())
            except InvalidDocument as error:
                raise ProviderError(f"The script {path.name} can't be used. {error}", code="script") from error
        return self._read[path][1]

    def _unknown(self, name: str) -> str:
        place = "WORKBENCH_SCRIPTS names no folder" if self._folder is None else f"{self._folder} has no {name}.json"
        return f"There is no script {name!r}: {place}.{nearest(name, [ECHO, *self._names()])}"


def _said(entry: Entry, latency: float, seconds: float) -> Said:
    """The words that a model would have said by now, had it spoken evenly."""
    words = [] if entry.fault else entry.content.split(" ")
    spoken = words[: int(len(words) * min(1.0, seconds / latency))] if latency else words
    if not spoken:
        return Said()
    return Said(" ".join(spoken), "", seconds - len(spoken) * latency / len(words))


def _reply(request: ModelRequest, entry: Entry, seconds: float) -> ModelReply:
    calls = tuple(
        ToolCall(
            id=f"call-{request.node or 'node'}-{request.node_call}-{number}", name=call.name, arguments=call.arguments
        )
        for number, call in enumerate(entry.tool_calls, 1)
    )
    return ModelReply(
        content=entry.content,
        reasoning=entry.reasoning,
        tool_calls=calls,
        finish="tool_calls" if calls else "stop",
        usage=_usage(request, entry),
        model=request.model,
        request=request.model_dump(mode="json", exclude_defaults=True),
        raw=_raw(entry),
        seconds=seconds,
        first_token_seconds=seconds,
        cost_usd=entry.cost_usd,
    )


def _raw(entry: Entry) -> dict[str, Any]:
    return entry.model_dump(mode="json", exclude_unset=True)


def _usage(request: ModelRequest, entry: Entry) -> Usage:
    if entry.tokens:
        return Usage(input_tokens=entry.tokens.input, output_tokens=entry.tokens.output, source="reported")
    if "tokens" in entry.model_fields_set:
        return Usage()
    said = entry.content + entry.reasoning + "".join(str(call.arguments) for call in entry.tool_calls)
    return Usage(input_tokens=estimated_input_tokens(request), output_tokens=estimated_tokens(said), source="estimated")
