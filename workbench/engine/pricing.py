"""What a call cost. (To be completed.)"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, NamedTuple

from workbench.engine.providers import Usage


class Cost(NamedTuple):
    amount: Decimal | None
    source: str


def call_cost(
    provider: str, model: str, usage: Usage, *, at: float, free: bool, billed: Decimal | None, reference: Any = None
) -> Cost:
    if billed is not None:
        return Cost(billed, "billed")
    return Cost(Decimal(0), "free") if free else Cost(None, "unknown")


def model_has_price(model: str) -> bool:
    return False
