from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from pydantic import Field

from workbench.engine.events import MessageData, VisitEnded
from workbench.engine.nodes import Emitted, Node, NodeConfig
from workbench.engine.spec import Text


class LoopTimerConfig(NodeConfig):
    seconds: float = Field(60, gt=0, description="How long after its first visit it emits; then it starts again.")
    message: Text | None = Field(None, description="What it emits; left out, a sentence with the time.")
    forward: bool = Field(False, description="Until then, forward its last message instead of keeping silent.")


class LoopTimer(Node):
    """Emits only once its time is over, then starts again; until then it is silent, or forwards its last message.

    Its clock starts at its first visit in one entry of the loop it stands in. What it decided is journalled: a replay
    takes it from there.
    """

    Config = LoopTimerConfig
    timed = True

    @property
    def waits(self) -> bool:
        return False

    def wire(self, inbox: Sequence[MessageData], state: dict[str, Any]) -> Emitted:
        now = time.time()
        since = state.setdefault("since", now)
        if now - since >= self.config.seconds:
            state["since"] = now
            text = self.config.message
            return Emitted((self.message(text if text is not None else f"{self.config.seconds:g} seconds are over."),))
        if self.config.forward and inbox:
            return Emitted((inbox[-1].by(self.node),))
        return Emitted(())

    def recall(self, state: dict[str, Any], ended: VisitEnded, calls: Sequence[Any]) -> None:
        """The clock as it stood: it starts at the first visit, and again when its time was over."""
        state.setdefault("since", ended.at)
        if ended.at - state["since"] >= self.config.seconds:
            state["since"] = ended.at
