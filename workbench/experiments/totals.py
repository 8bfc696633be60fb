"""What a run has spent, added up from its events as they are written. Unknown stays unknown: None, never 0."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from decimal import Decimal
from operator import attrgetter
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
        "unpriced_calls", "model_seconds", "seconds", "truncated_calls", "compute_seconds", "machine_usd", "machine_wh",
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
    truncated_calls: int = 0
    compute_seconds: float | None = None
    machine_usd: Decimal | None = None
    machine_wh: float | None = None
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
        self.truncated_calls += "truncated_input" in event.flags
        self.compute_seconds = plus(self.compute_seconds, event.compute_seconds)
        self.machine_usd = plus(self.machine_usd, event.machine_usd)
        self.machine_wh = plus(self.machine_wh, event.machine_wh)

    def row(self) -> tuple[Any, ...]:
        """The values of `COLUMNS`."""
        return _VALUES(self)


_VALUES = attrgetter(*Totals.COLUMNS)
