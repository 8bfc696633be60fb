"""What a run has spent and may still spend. The check comes before the visit or the call that would exceed a limit."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import NamedTuple

from workbench.engine.errors import LimitReached
from workbench.engine.events import ModelCalled
from workbench.engine.spec import Limits


class UsageTotals(NamedTuple):
    """What a run has used. Tokens are None when no call told them, money when no call has a price; the counters say how
    many calls are missing from the sums."""

    model_calls: int = 0
    tool_calls: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    unknown_usage_calls: int = 0
    cost_usd: Decimal | None = None
    unpriced_calls: int = 0
    model_seconds: float = 0.0


def add(known: int | None, more: int | None) -> int | None:
    """A sum in which unknown values are left out; unknown when all are."""
    return known if more is None else (known or 0) + more


class Budget:
    """The limits of one run against what it spent; above retries, tool loops and nested topologies.

    Calls in flight are counted from their start, so that parallel branches never make one call too many; tokens and
    money are known at the end of a call only, so they overshoot by at most the calls in flight.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.usage = UsageTotals()
        self.visits: Counter[str] = Counter()
        self._counted_tokens = 0
        self._counted_output = 0

    def admit_visit(self, node: str) -> None:
        """Count a visit of the node. Raises `LimitReached` before the one that would be too many."""
        most = self.limits.visits_per_node
        if most is not None and self.visits[node] >= most:
            raise LimitReached(
                "visits_per_node", f"Node {node!r} would be visited more than {most} times (limit visits_per_node)."
            )
        self.visits[node] += 1

    def admit_call(self) -> None:
        """Count a model call that is about to be made. Raises `LimitReached` before the one that would be too many."""
        limits, usage = self.limits, self.usage
        if limits.model_calls is not None and usage.model_calls >= limits.model_calls:
            raise LimitReached(
                "model_calls", f"The run has made its {limits.model_calls} model calls (limit model_calls)."
            )
        if limits.tokens is not None and self._counted_tokens >= limits.tokens:
            raise LimitReached(
                "tokens", f"The run has used {self._counted_tokens:,} of {limits.tokens:,} tokens (limit tokens)."
            )
        if limits.output_tokens is not None and self._counted_output >= limits.output_tokens:
            spent = f"{self._counted_output:,} of {limits.output_tokens:,}"
            raise LimitReached("output_tokens", f"The run has used {spent} output tokens (limit output_tokens).")
        if limits.cost_usd is not None and (usage.cost_usd or 0) >= limits.cost_usd:
            spent = f"${usage.cost_usd or 0:.4f} of ${limits.cost_usd:.4f}"
            raise LimitReached("cost_usd", f"The run has cost {spent} (limit cost_usd).")
        self.usage = usage._replace(model_calls=usage.model_calls + 1)

    def withdraw_call(self) -> None:
        """An admitted call was not made after all."""
        self.usage = self.usage._replace(model_calls=self.usage.model_calls - 1)

    def record_call(self, event: ModelCalled) -> None:
        """Add what an admitted call used. Where the provider told no tokens, the limits go by an estimate."""
        usage = self.usage
        unknown = event.input_tokens is None and event.output_tokens is None
        self.usage = usage._replace(
            input_tokens=add(usage.input_tokens, event.input_tokens),
            output_tokens=add(usage.output_tokens, event.output_tokens),
            unknown_usage_calls=usage.unknown_usage_calls + unknown,
            cost_usd=usage.cost_usd if event.cost_usd is None else (usage.cost_usd or Decimal(0)) + event.cost_usd,
            unpriced_calls=usage.unpriced_calls + (event.cost_usd is None),
            model_seconds=usage.model_seconds + event.seconds,
        )
        output = event.output_tokens if event.output_tokens is not None else len(event.content) // 4
        sent = sum(len(str(message.get("content", ""))) for message in event.messages) // 4
        self._counted_output += output
        self._counted_tokens += output + (event.input_tokens if event.input_tokens is not None else sent)

    def record_tool(self) -> None:
        self.usage = self.usage._replace(tool_calls=self.usage.tool_calls + 1)
