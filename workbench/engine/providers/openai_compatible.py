"""Any server that speaks the OpenAI-compatible dialect: clouds, gateways, vLLM, llama.cpp, Ollama's `/v1`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

from workbench.engine.errors import ProviderError
from workbench.engine.providers import ModelInfo, ModelReply, ModelRequest, ProbeResult, Provider
from workbench.engine.providers._chat_completions import ChatCompletions
from workbench.engine.providers._faults import model_missing
from workbench.engine.providers._http import Target, Timeouts, proxy_note
from workbench.engine.providers._urls import is_local, native_url, openai_url

VARIABLE, KEY_VARIABLE = "OPENAI_COMPATIBLE_URL", "OPENAI_COMPATIBLE_API_KEY"
PROXY_VARIABLE = "OPENAI_COMPATIBLE_USE_PROXY"


class OpenAICompatibleProvider(Provider):
    """A server with `/v1/chat/completions`, in the cloud or near by: OPENAI_COMPATIBLE_URL says where, the key is in
    OPENAI_COMPATIBLE_API_KEY."""

    def __init__(self, url: str, *, key: str = "", timeouts: Timeouts | None = None, use_proxy: bool = False) -> None:
        self._url, self._key, self._use_proxy = url, key, use_proxy
        self._timeouts = timeouts or Timeouts()
        self._made: ChatCompletions | None = None

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        return cls(
            environ.get(VARIABLE, ""),
            key=environ.get(KEY_VARIABLE, "").strip(),
            timeouts=Timeouts.from_environ(environ),
            use_proxy=environ.get(PROXY_VARIABLE) == "1",
        )

    async def chat(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        server = self._server()
        more: dict[str, Any] = {"usage": {"include": True}} if "openrouter.ai" in server.target.url else {}
        try:
            return await server.chat(request, on_text, more=more)
        except ProviderError as error:
            if error.code != "not_found":
                raise
            raise await self._not_found(server, request.model) from error

    async def probe(self) -> ProbeResult:
        if not self._url.strip():
            return ProbeResult(ok=False, message=_NOT_SET)
        try:
            server = ChatCompletions(self._target())
        except ProviderError as error:
            return ProbeResult(ok=False, message=str(error))
        try:
            listed = await server.models()
        except ProviderError as error:
            return ProbeResult(ok=False, message=str(error))
        finally:
            await server.close()
        models = tuple(_info(item) for item in sorted(listed, key=lambda item: str(item["id"])))
        found = f"lists {len(models)} models" if models else "answers, but lists no models"
        native = _NATIVE if await self._is_ollama() else ""
        message = f"{server.target.name} at {server.target.url} {found}.{native}{proxy_note(server.target)}"
        return ProbeResult(ok=True, message=message, models=models)

    def price_reference(self) -> dict[str, str] | None:
        """By its address: the same model costs differently elsewhere. A server near by sends no bills."""
        try:
            url = self._target().url
        except ProviderError:
            return None
        return None if is_local(url) else {"provider_api_url": url}

    async def close(self) -> None:
        if self._made:
            await self._made.close()

    def _server(self) -> ChatCompletions:
        if self._made is None:
            self._made = ChatCompletions(self._target())
        return self._made

    def _target(self) -> Target:
        if not self._url.strip():
            raise ProviderError(_NOT_SET, code="not_configured")
        return Target(
            name="The model server",
            url=openai_url(self._url, variable=VARIABLE),
            variable=VARIABLE,
            start=f"Start it, or set {VARIABLE}.",
            timeouts=self._timeouts,
            use_proxy=self._use_proxy,
            proxy_variable=PROXY_VARIABLE,
            key=self._key,
        )

    async def _not_found(self, server: ChatCompletions, model: str) -> ProviderError:
        """A 404 means an unknown model, or an address under which nothing of this dialect is."""
        try:
            installed = [str(item["id"]) for item in await server.models()]
        except ProviderError:
            return ProviderError(
                f"Nothing at {server.target.url} answers /chat/completions nor /models (404). Check the address in "
                f"{VARIABLE}.",
                code="bad_reply",
            )
        return model_missing(server.target, model, installed, pull=await self._is_ollama())

    async def _is_ollama(self) -> bool:
        from workbench.engine.providers.ollama import OllamaProvider

        if not is_local(self._url):
            return False
        native = OllamaProvider(native_url(self._url, variable=VARIABLE), use_proxy=self._use_proxy)
        try:
            return await native.version() is not None
        finally:
            await native.close()


_NATIVE = (
    " It is an Ollama: write its models ollama/NAME and set OLLAMA_URL, for this dialect has no field for the window "
    "(num_ctx), and a prompt that is too long is cut in silence."
)
_NOT_SET = f"No model server is named. Set {VARIABLE}, for example to https://api.openai.com/v1, and {KEY_VARIABLE}."


def _info(item: dict[str, Any]) -> ModelInfo:
    context = next((item[key] for key in ("context_length", "max_model_len") if isinstance(item.get(key), int)), None)
    return ModelInfo(name=str(item["id"]), context=context)
