from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.engine.events import MessageData
from workbench.engine.nodes import Emitted, Node, NodeConfig
from workbench.engine.spec import Text


class LiteralConfig(NodeConfig):
    content: Text


class Literal(Node):
    """Emits a fixed message, whatever it was sent."""

    Config = LiteralConfig

    @property
    def waits(self) -> bool:
        return False

    def wire(self, inbox: Sequence[MessageData], state: dict[str, Any]) -> Emitted:
        return Emitted((self.message(self.config.content),))
