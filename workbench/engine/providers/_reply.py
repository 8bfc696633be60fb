"""A reply as it grows, whatever the dialect: text, reasoning and calls are gathered, then made into a `ModelReply`."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from workbench.engine.errors import ProviderError
from workbench.engine.providers import ModelReply, ModelRequest, ToolCall, Usage
from workbench.engine.providers._estimate import estimated_tokens
from workbench.engine.providers._http import Watch
from workbench.engine.providers._text import ReasoningFilter, Repetition, calls_from_text, split_reasoning
from workbench.engine.under_way import Heard, Said

OUTPUT_TOKENS = 4096
"""The limit of an answer that sets none: no call goes out without one."""
TRUNCATION_FROM, TRUNCATION_BELOW = 500, 0.8


class Growing:
    """What came so far. Raises `ProviderError` with the code `runaway` once it repeats itself."""

    def __init__(self, request: ModelRequest, watch: Watch, on_text: Callable[[str], None] | None) -> None:
        self.request, self.watch, self._on_text = request, watch, on_text
        if isinstance(on_text, Heard):
            on_text.follow(self.said)
            self._on_text = None
        self.calls: list[ToolCall] = []
        self.finish, self.model, self.usage = "", "", Usage()
        self.cost_usd: Decimal | None = None
        self.load_seconds: float | None = None
        self.flags: list[str] = []
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._filter, self._repetition = ReasoningFilter(), Repetition()

    @property
    def text(self) -> str:
        """The content as received, reasoning inside it included."""
        return "".join(self._content)

    @property
    def reasoning(self) -> str:
        """The reasoning that came apart from the content."""
        return "".join(self._reasoning)

    def said(self) -> Said:
        """What came so far, for whoever looks on."""
        text = ReasoningFilter().feed(self.text)
        reasoning = self.reasoning or ("" if text else split_reasoning(self.text).reasoning)
        return Said(text, reasoning, self.watch.quiet_seconds)

    def add(self, content: str, reasoning: str) -> None:
        """Take in a piece."""
        if reasoning:
            self._reasoning.append(reasoning)
        if content:
            self._content.append(content)
            if self._on_text and (shown := self._filter.feed(content)):
                self._on_text(shown)
        if content or reasoning:
            self.watch.token()
            if self._repetition.add(reasoning + content):
                raise ProviderError(
                    f"{self.request.model!r} repeats one phrase without end; the call was ended.",
                    code="runaway",
                    partial=split_reasoning(self.text).content,
                )

    def reply(self, *, body: dict[str, Any], raw: dict[str, Any]) -> ModelReply:
        """The whole, once it is complete."""
        if self._on_text and (shown := self._filter.rest()):
            self._on_text(shown)
        inline, content = split_reasoning(self.text)
        calls = tuple(self.calls)
        if not calls and self.request.json_schema is None:
            calls = calls_from_text(content, [tool.name for tool in self.request.tools])
            if calls:
                content, self.flags = "", [*self.flags, "tool_call_from_text"]
        if _truncated(self.request, self.usage):
            self.flags.append("truncated_input")
        return ModelReply(
            content=content,
            reasoning="\n".join(part for part in (self.reasoning, inline) if part),
            tool_calls=calls,
            finish="tool_calls" if calls else self.finish or "stop",
            usage=self.usage,
            model=self.model or self.request.model,
            request=body,
            raw=raw,
            seconds=self.watch.seconds,
            first_token_seconds=self.watch.first_token_seconds,
            load_seconds=self.load_seconds,
            flags=tuple(dict.fromkeys(self.flags)),
            cost_usd=self.cost_usd,
        )


def _truncated(request: ModelRequest, usage: Usage) -> bool:
    """Whether the server counted far fewer tokens than it was sent: it cut the prompt and kept silent about it."""
    if usage.input_tokens is None:
        return False
    sent = sum(estimated_tokens(" ".join(message.content.split())) for message in request.messages)
    return sent >= TRUNCATION_FROM and usage.input_tokens < TRUNCATION_BELOW * sent
