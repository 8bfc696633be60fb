"""What the JSON may say: topologies, agents and conditions as frozen pydantic classes, unknown keys refused.

Formats `workbench.topology/1` and `workbench.agent/1`. Only shape is checked here; what names mean is `validation.py`'s.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

TOPOLOGY_FORMAT = "workbench.topology/1"
AGENT_FORMAT = "workbench.agent/1"

NODE_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
RESERVED_IDS = frozenset({"start", "end", "instance", "vars", "inbox", "nodes", "run", "visit"})

Json = Any


def shown_as(what: str) -> Any:
    """Marks a field for forms: what a person chooses or writes in it. `hidden`: planning writes it, nobody else."""
    return Field(json_schema_extra={"x-input": what})


Name = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
ModelName = Annotated[str, StringConstraints(min_length=3, max_length=300, pattern=r"^[a-z_]+/.+$"), shown_as("model")]
Text = Annotated[str, StringConstraints(max_length=1_000_000)]
Prompt = Annotated[Text, shown_as("prompt")]
AgentName = Annotated[str, shown_as("agent")]
ToolName = Annotated[str, shown_as("tool")]
NodeName = Annotated[str, shown_as("node")]
ConditionJson = Annotated[dict[str, Json], shown_as("condition")]


class Spec(BaseModel):
    """A JSON document, or a part of one, once read."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Params(Spec):
    """Sampling and window of a model call; what is absent is the provider's default."""

    temperature: float | None = Field(None, ge=0, le=5)
    top_p: float | None = Field(None, ge=0, le=1)
    top_k: int | None = Field(None, ge=1)
    seed: int | None = None
    stop: tuple[str, ...] | None = None
    num_ctx: int | None = Field(None, ge=1, description="The context window asked of a local model, in tokens.")
    max_output_tokens: int | None = Field(None, ge=1)
    thinking: bool | Literal["low", "medium", "high"] | None = None

    def merged(self, other: Params | None) -> Params:
        """These, overridden by those that `other` sets."""
        return self if other is None else self.model_copy(update=other.model_dump(exclude_none=True))


class Defaults(Spec):
    """What agents use that say nothing themselves."""

    model: ModelName | None = None
    params: Params = Params()


class Limits(Spec):
    """What a run may spend; null is no limit. They stand above retries and nested topologies."""

    model_calls: int | None = Field(500, ge=0)
    tokens: int | None = Field(2_000_000, ge=0, description="Read and written, all calls together.")
    output_tokens: int | None = Field(None, ge=0)
    cost_usd: float | None = Field(None, ge=0, description="Every model needs a price then.")
    seconds: float | None = Field(1800, gt=0, description="Working time; waiting for a person does not count.")
    visits_per_node: int | None = Field(100, ge=1)


class NodeSpec(BaseModel):
    """A node: its type, what all types share, and the type's own fields in `config` (checked against the type's schema)."""

    model_config = ConfigDict(frozen=True, extra="allow")

    type: str
    label: Annotated[str, StringConstraints(max_length=500)] | None = Field(None, description="What people read.")
    join: Literal["settled", "all", "first"] = Field(
        "settled", description="It waits for all that can still come (settled), for every source, or for the first."
    )
    on_error: Literal["fail", "continue"] = Field("fail", description="Whether the run fails with it, or goes on.")
    retries: int = Field(0, ge=0, le=100, description="How often it is tried again when it fails.")

    @property
    def config(self) -> dict[str, Json]:
        """The fields that belong to the node's type."""
        return dict(self.model_extra or {})


class EdgeSpec(Spec):
    """A passage from one node to another; §1 "Edges" of the format says what each field does."""

    source: NodeName = Field(alias="from")
    target: NodeName = Field(alias="to")
    when: ConditionJson | None = Field(None, description="What its source must have said for it to fire.")
    trigger: bool = Field(True, description="It may start its target; without this it only carries data.")
    carry: bool = Field(True, description="It puts what its source said into the target's inbox.")
    keep: bool = Field(False, description="The message stays in the target's inbox over its visits.")
    clear: Literal["inbox", "kept", "all"] | None = Field(
        None, description="What is taken out of the target's inbox before the message comes in."
    )
    transform: dict[str, Json] | None = Field(None, description="What is made of the message on its way.")
    map: dict[str, Json] | None = Field(None, description="The target runs once for each part of the message.")
    reduce: dict[str, Json] | None = Field(None, description="The parts are brought together again, layer by layer.")
    max: int | None = Field(None, ge=1, description="How often it may fire in one run.")


class WorkspaceSpec(Spec):
    """What holds for the files of a run. Visits that run side by side and change files work in folders of their own. What
    they left is joined where their branches meet, at the latest at the end of the run, in the order in which their nodes
    are declared.

    `three_way` takes what each of them changed and joins changes of one file line by line; what contradicts each other
    is a failure (`merge_conflict`), with the conflict shown. `first` takes the files of the first that changed any, as a
    whole. `vote` takes the files that most of those came to which changed any, as a whole; on a draw, of the first.
    """

    merge: Literal["first", "vote", "three_way"] = "three_way"


class TopologySpec(Spec):
    """A topology: nodes and edges, one JSON document."""

    format: Literal["workbench.topology/1"]
    name: Name
    description: Text = ""
    start: tuple[NodeName, ...]
    end: tuple[NodeName, ...]
    defaults: Defaults = Defaults()
    limits: Limits = Limits()
    vars: Annotated[dict[str, Json], shown_as("map")] = {}
    nodes: dict[str, NodeSpec]
    edges: tuple[EdgeSpec, ...] = ()
    workspace: WorkspaceSpec | None = None
    layout: dict[str, tuple[float, float]] = {}


def targets_of(edges: Iterable[EdgeSpec]) -> dict[str, tuple[str, ...]]:
    """Node → the targets of its trigger edges, each once, in edge order."""
    found: dict[str, dict[str, None]] = {}
    for edge in edges:
        if edge.trigger:
            found.setdefault(edge.source, {})[edge.target] = None
    return {source: tuple(targets) for source, targets in found.items()}


def sources_of(nodes: Mapping[str, NodeSpec], edges: Iterable[EdgeSpec]) -> dict[str, dict[str, NodeSpec]]:
    """Node → the other nodes whose messages may come to it, in edge order."""
    sources: dict[str, dict[str, NodeSpec]] = {}
    for edge in edges:
        if edge.carry and edge.source != edge.target and edge.source in nodes:
            sources.setdefault(edge.target, {})[edge.source] = nodes[edge.source]
    return sources


class OutputSpec(Spec):
    """The form of an agent's answer: a JSON Schema, and how often a wrong answer is sent back to be mended."""

    json_schema: dict[str, Json]
    repairs: int = Field(2, ge=0, le=10)


class Provenance(Spec):
    """Where an agent comes from: project, its licence and commit, and what was taken."""

    project: str = ""
    licence: str = ""
    commit: str = ""
    taken: str = ""


class AgentSpec(Spec):
    """An entry of the catalogue: a role, prompts, a model, tools, where it comes from."""

    format: Literal["workbench.agent/1"]
    name: Name
    title: Annotated[str, StringConstraints(max_length=200)] = ""
    role: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    description: Text = ""
    system: Text = ""
    prompt: Text = ""
    model: ModelName | None = None
    params: Params = Params()
    tools: tuple[str, ...] = ()
    output: Literal["text"] | OutputSpec = "text"
    expects: Text = ""
    gives: Text = ""
    tags: tuple[str, ...] = ()
    provenance: Provenance = Provenance()
