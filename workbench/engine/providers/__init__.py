"""Where language models answer. The contract: one `Provider` in a file of its own beside this one.

A model is written `provider/name` (`ollama/qwen3.5:9b`); what follows the first slash is the provider's own affair.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict

from workbench.engine.plugins import Plugins
from workbench.engine.prices import NO_PRICES, Prices, prices_from
from workbench.engine.pricing import Cost, call_cost
from workbench.engine.throttle import NO_THROTTLE, Throttle

Json = Any


class Shape(BaseModel):
    """Data that travels between the engine and its plug-ins: frozen, nothing extra."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ToolCall(Shape):
    """What a model asks to be done. `arguments_error` says why its arguments can't be read (they are then empty)."""

    id: str
    name: str
    arguments: dict[str, Json] = {}
    arguments_error: str | None = None


class ToolSchema(Shape):
    """A tool as a model sees it; `parameters` is a JSON Schema of an object."""

    name: str
    description: str
    parameters: dict[str, Json]


class ChatMessage(Shape):
    """One entry of a conversation. `tool_call_id` and `name` belong to the role `tool`."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None


class ModelRequest(Shape):
    """One call. `model` has no provider in front. `params`: temperature, top_p, top_k, seed, stop, num_ctx,
    max_output_tokens, thinking. `json_schema` asks for an answer of that shape. `node`, `visit`, `call` (from 1, within
    the visit) and `node_call` (from 1, over all visits of that node in the run) tell whose call it is: the scripted
    provider answers by them, others ignore them."""

    model: str
    messages: tuple[ChatMessage, ...]
    params: dict[str, Json] = {}
    tools: tuple[ToolSchema, ...] = ()
    json_schema: dict[str, Json] | None = None
    node: str = ""
    visit: int = 1
    call: int = 1
    node_call: int = 1


class Usage(Shape):
    """Tokens of one call; None is unknown, never 0. `input_tokens` includes cached ones, `output_tokens` reasoning."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    compute_seconds: float | None = None
    """What the server says it computed: prompt and answer, without loading and waiting."""
    source: Literal["reported", "estimated", "unknown"] = "unknown"


class ModelReply(Shape):
    """What came back. `content` is free of reasoning; `request` is the body as sent, without secrets; `raw` the body as
    received (joined, when streamed). Seconds: whole call, until the first token, loading of the model. `finish` is
    `stop`, `length`, `tool_calls` or the provider's own word. `flags` name what was mended or looks wrong
    (`truncated_input`, `tool_call_from_text`, `tools_by_schema`). `cost_usd` only if the provider itself billed it."""

    content: str
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish: str = "stop"
    usage: Usage = Usage()
    model: str = ""
    request: dict[str, Json] = {}
    raw: dict[str, Json] = {}
    seconds: float = 0.0
    first_token_seconds: float | None = None
    load_seconds: float | None = None
    flags: tuple[str, ...] = ()
    cost_usd: Decimal | None = None


class ModelInfo(Shape):
    """A model that a provider has; None is unknown."""

    name: str
    context: int | None = None
    capabilities: tuple[str, ...] | None = None
    digest: str | None = None
    quantization: str | None = None
    size_bytes: int | None = None
    note: str = ""


class ProbeResult(Shape):
    """Whether a provider answers, in a sentence, with its models."""

    ok: bool
    message: str
    models: tuple[ModelInfo, ...] = ()
    version: str | None = None


class Provider(ABC):
    """A place where models answer. One instance serves many calls at once, on one event loop."""

    json_with_tools: ClassVar[bool] = True
    """Whether one call may ask for a JSON answer and offer tools."""
    free: ClassVar[bool] = False
    """An explicit mark that calls cost no money; without it the cost of an unpriced model is unknown."""
    bills: ClassVar[bool] = False
    """Whether it may say itself what a call cost, so that a money limit makes sense without a table of prices."""
    window: ClassVar[int | None] = None
    """The `num_ctx` that is asked for where none is set. None: there is no such knob. A server that has it loads a model
    anew for another window, so the calls of an experiment ask for one."""

    @classmethod
    @abstractmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        """The provider as the process environment describes it; reads its own variables."""

    def price_reference(self) -> dict[str, str] | None:
        """Under which name the table of prices knows this provider: `{"provider_id": …}` or `{"provider_api_url": …}`.
        None is for whatever sends no bills by the token: its models are never looked up."""
        return None

    @abstractmethod
    async def chat(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        """Ask once, without retries. Raises `ProviderError`. Cancelling it hangs up."""

    @abstractmethod
    async def probe(self) -> ProbeResult:
        """Whether it answers, and with which models; never raises for a provider that is away."""

    async def warm_up(self, model: str, params: Mapping[str, Json]) -> None:  # noqa: B027  most have nothing to load
        """Have the model loaded, so that no call of a batch waits for it. Raises `ProviderError`."""

    async def close(self) -> None:  # noqa: B027  nothing to let go of is usual
        """Let go of connections and child processes."""


PROVIDERS = Plugins("workbench.engine.providers", Provider, "provider")  # type: ignore[type-abstract]


class Providers:
    """The providers of one process, each made when first asked for, from the process environment.

    `only` answers for every name: how a scripted run takes the place of all models. `throttle` lets calls through.
    """

    def __init__(
        self, environ: Mapping[str, str], *, only: Provider | None = None, throttle: Throttle = NO_THROTTLE
    ) -> None:
        self._environ, self._only = environ, only
        self.throttle = NO_THROTTLE if only else throttle
        self._made: dict[str, Provider] = {}

    def prices(self) -> Prices:
        """The operator's own; a script has its own. Raises `WrongPrices`."""
        return NO_PRICES if self.replaced else prices_from(self._environ)

    @property
    def replaced(self) -> bool:
        """Whether one answers for every name."""
        return self._only is not None

    def get(self, name: str) -> Provider:
        """The provider of that name. Raises `PluginError` where there is none."""
        if self._only is not None:
            return self._only
        if name not in self._made:
            self._made[name] = PROVIDERS.get(name).from_environ(self._environ)
        return self._made[name]

    async def close(self) -> None:
        """Close those that were made."""
        await self.throttle.close()
        for provider in [*self._made.values(), *([self._only] if self._only else [])]:
            await provider.close()


def model_cost(
    provider: Provider,
    reference: str,
    usage: Usage,
    *,
    prices: Prices = NO_PRICES,
    billed: Decimal | None = None,
    at: float | None = None,
) -> Cost:
    """What a call of `reference` (`provider/name`), now unless `at` is said, costs; None is unknown."""
    place, _, name = reference.partition("/")
    return call_cost(
        place,
        name,
        usage,
        at=time.time() if at is None else at,
        free=provider.free or reference in prices.free,
        billed=billed,
        reference=provider.price_reference(),
        prices=prices.models,
    )


def model_has_price(model: str, environ: Mapping[str, str]) -> bool:
    """Whether calls of `provider/name` will have a known cost, which a money limit needs before the start; those of an
    unknown provider have none."""
    name = model.partition("/")[0]
    if name not in PROVIDERS.names():
        return False
    provider = PROVIDERS.get(name).from_environ(environ)
    if provider.bills:
        return True
    one = Usage(input_tokens=1, output_tokens=1)
    return model_cost(provider, model, one, prices=prices_from(environ)).amount is not None
