from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from workbench.engine.events import MessageData
from workbench.engine.nodes import Emitted, Node, NodeConfig


class PassthroughConfig(NodeConfig):
    all: bool = Field(False, description="Forward every message of the inbox, each by itself, not only the last.")


class Passthrough(Node):
    """Forwards its inbox: the last message, or all of them. With an empty inbox it emits one empty message."""

    Config = PassthroughConfig

    @property
    def waits(self) -> bool:
        return False

    def wire(self, inbox: Sequence[MessageData], state: dict[str, Any]) -> Emitted:
        taken = inbox if self.config.all else inbox[-1:]
        forwarded = tuple(message.by(self.node) for message in taken)
        return Emitted(forwarded or (self.message(""),))
