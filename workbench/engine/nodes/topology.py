from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from workbench.engine.context import Context
from workbench.engine.errors import NodeFailed
from workbench.engine.events import MessageData
from workbench.engine.nodes import NODES, Emitted, Node, NodeConfig
from workbench.engine.spec import Json, Prompt

PROBLEM = "problem"


class TopologyConfig(NodeConfig):
    topology: str | dict[str, Json] = Field(description="A topology's name, name@commit, or a whole document.")
    inputs: dict[str, Prompt] = Field({}, description="A prompt for each var to set; `problem` is what it starts from.")
    plan: dict[str, Json] | None = Field(None, json_schema_extra={"x-input": "hidden"})
    """The topology once resolved; planning writes it."""


class Topology(Node):
    """Runs another topology as one step: it starts from this node's inbox, its result is this node's output.

    The limits, the stop and the trace of the run reach inside. One that ends otherwise than succeeded has failed.
    """

    Config = TopologyConfig
    nests = True

    async def run(self, inbox: Sequence[MessageData], context: Context) -> Emitted:
        rendered = {name: context.render(text) for name, text in self.config.inputs.items()}
        problem = rendered.pop(PROBLEM, "\n\n".join(message.text for message in inbox))
        result = await context.run_nested(self.config.plan, problem, rendered)
        if result.status != "succeeded":
            reason = result.reason or "it gave no output."
            raise NodeFailed(f"The topology in node {self.node!r} ended as {result.status}: {reason}", code=result.code)
        return Emitted(tuple(message.by(self.node) for message in result.messages))

    @classmethod
    def writes_files(cls, config: Any) -> bool:
        nodes = (config.plan or {}).get("nodes", {}).values()
        kinds = [(NODES.get(node["type"]), node["config"]) for node in nodes]
        return any(kind.writes_files(kind.Config.model_validate(inner)) for kind, inner in kinds)

    @classmethod
    def prompts(cls, config: Any) -> Mapping[str, str]:
        return {f"inputs/{name}": text for name, text in config.inputs.items()}
