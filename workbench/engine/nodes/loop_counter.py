from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from workbench.engine.events import MessageData
from workbench.engine.nodes import Emitted, Node, NodeConfig
from workbench.engine.spec import Text


class LoopCounterConfig(NodeConfig):
    count: int = Field(10, ge=1, description="At which visit it emits; then it counts from the start again.")
    message: Text | None = Field(None, description="What it emits; left out, a sentence with the count.")


class LoopCounter(Node):
    """Emits only at its Nth visit, then starts again; until then it is silent and none of its edges fires.

    It counts within one entry of the loop it stands in: a fresh entry starts at zero.
    """

    Config = LoopCounterConfig

    @property
    def waits(self) -> bool:
        return False

    def wire(self, inbox: Sequence[MessageData], state: dict[str, Any]) -> Emitted:
        state["seen"] = state.get("seen", 0) + 1
        if state["seen"] < self.config.count:
            return Emitted(())
        state["seen"] = 0
        text = self.config.message
        return Emitted((self.message(text if text is not None else f"Visited {self.config.count} times."),))
