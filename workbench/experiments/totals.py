"""What a run has spent, added up from its events as they are written. Unknown stays unknown: None, never 0."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, ClassVar

from workbench.engine.events import ModelCalled, ToolCalled, VisitEnded


def plus(total: Any, more: Any) -> Any:
    """The sum of what is known of two."""
    if more is None:
        return total
    return more if total is None else total + more


@dataclass
class Totals:
    """Sums over all attempts; `seconds` goes on from earlier attempts by this process's clock."""

    COLUMNS: ClassVar[tuple[str, ...]] = (
        "visits", "model_calls", "tool_calls", "input_tokens", "output_tokens", "unknown_usage_calls", "cost_usd",
        "unpriced_calls", "model_seconds", "seconds",
    )  # fmt: skip

    visits: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    unknown_usage_calls: int = 0
    cost_usd: Decimal | None = None
    unpriced_calls: int = 0
    model_seconds: float = 0.0
    seconds_before: float = 0.0
    began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Working time until now."""
        return self.seconds_before + time.monotonic() - self.began

    def add(self, event: Any) -> None:
        """Count one event."""
        if isinstance(event, ModelCalled):
            self._add_call(event)
        elif isinstance(event, ToolCalled):
            self.tool_calls += 1
        elif isinstance(event, VisitEnded):
            self.visits += 1

    def _add_call(self, event: ModelCalled) -> None:
        self.model_calls += 1
        self.model_seconds += event.seconds
        self.input_tokens = plus(self.input_tokens, event.input_tokens)
        self.output_tokens = plus(self.output_tokens, event.output_tokens)
        self.unknown_usage_calls += event.input_tokens is None and event.output_tokens is None
        self.cost_usd = plus(self.cost_usd, event.cost_usd)
        self.unpriced_calls += event.cost_usd is None

    def row(self, connection: Any) -> tuple[Any, ...]:
        """The values of `COLUMNS`, as the database's driver takes them."""
        cost = connection.ops.adapt_decimalfield_value(self.cost_usd, 18, 9)
        return tuple(cost if name == "cost_usd" else getattr(self, name) for name in self.COLUMNS)
