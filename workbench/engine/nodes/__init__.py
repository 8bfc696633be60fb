"""Node types. The contract: one `Node` in a file of its own beside this one; its docstring is what the user reads.

A node that waits for something (a model, a tool) implements `run`; one that only rearranges messages, `wire`.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

from pydantic import BaseModel

from workbench.engine.context import Context
from workbench.engine.errors import Problem
from workbench.engine.events import MessageData, VisitEnded
from workbench.engine.plugins import Plugins
from workbench.engine.spec import AgentSpec, Defaults, NodeSpec, Spec, TopologySpec, sources_of, targets_of

Json = Any


class NodeConfig(Spec):
    """A node type's own fields; their JSON Schema makes the form."""


class Emitted(NamedTuple):
    """What a visit brought: its messages, and for a router the ids of the targets that it chose. `reason` and `code` are
    of the first unit of a map that failed."""

    messages: tuple[MessageData, ...]
    targets: tuple[str, ...] | None = None
    reason: str = ""
    code: str = ""


class Catalogue(Protocol):
    """Where agents are found by `name` or `name@version`."""

    def agent(self, reference: str) -> AgentSpec | None:
        """The agent, or None where there is none."""

    def names(self) -> list[str]:
        """The names of all agents, for hints."""


class NoAgents:
    """A catalogue with nothing in it."""

    def agent(self, reference: str) -> AgentSpec | None:
        return None

    def names(self) -> list[str]:
        return []


class Surroundings(NamedTuple):
    """What a node may know of its topology when it is checked or resolved."""

    node: str
    defaults: Defaults
    catalogue: Catalogue
    targets: tuple[str, ...]
    """The targets of its trigger edges, each once, in edge order."""
    sources: Mapping[str, NodeSpec] = {}
    """The nodes whose messages may come to it, in edge order."""
    nodes: Mapping[str, NodeSpec] = {}
    """All nodes of the topology, in declared order."""


def surroundings_of(spec: TopologySpec, catalogue: Catalogue) -> dict[str, Surroundings]:
    """What each node may know of its topology."""
    targets, sources = targets_of(spec.edges), sources_of(spec.nodes, spec.edges)
    return {
        name: Surroundings(name, spec.defaults, catalogue, targets.get(name, ()), sources.get(name, {}), spec.nodes)
        for name in spec.nodes
    }


class Node(ABC):
    """A node type. `config` is its `Config`, checked and, in a run, resolved: nothing is looked up any more."""

    Config: ClassVar[type[NodeConfig]]
    timed: ClassVar[bool] = False
    """Whether the clock decides what a wiring visit emits, so that a replay must take it from the journal."""

    nests: ClassVar[bool] = False
    """Whether a visit is made of visits: a replay goes through them again, each taken from the journal."""

    def __init__(self, node: str, config: Any, targets: Sequence[str] = ()) -> None:
        self.node, self.config, self.targets = node, config, tuple(targets)

    @property
    def waits(self) -> bool:
        """Whether a visit waits for something outside; else it is wiring, done at once."""
        return True

    async def run(self, inbox: Sequence[MessageData], context: Context) -> Emitted:
        """A visit that waits. Raises a `WorkbenchError` when it fails; a failure never travels as content."""
        raise NotImplementedError

    def wire(self, inbox: Sequence[MessageData], state: dict[str, Any]) -> Emitted:
        """A visit that does not wait. `state` is the node's own, for this entry of the loop it stands in. Raises a
        `WorkbenchError` when it fails."""
        raise NotImplementedError

    def samples(self) -> Sequence[MessageData]:
        """All that a visit may say, where that is known beforehand: a dry run tries each."""
        return ()

    def recall(self, state: dict[str, Any], ended: VisitEnded, calls: Sequence[Any]) -> None:
        """Bring `state` to where a visit left it whose outcome, and whose calls, are taken from the journal."""
        del state, ended, calls

    def given(self, text: str, inbox: Sequence[MessageData]) -> Emitted:
        """What a visit emits whose answer a person gives in its place. Raises `NodeFailed` where it can't be one."""
        del inbox
        return Emitted((self.message(text),))

    @classmethod
    def asks_model(cls, config: Mapping[str, Json]) -> bool:
        """Whether a node with these fields (not yet checked) asks a language model."""
        return False

    @classmethod
    def problems(cls, config: Any, around: Surroundings) -> Iterator[Problem]:
        """What is wrong beyond shape; paths begin at the node (`/prompt`)."""
        return iter(())

    @classmethod
    def resolve(cls, config: Any, around: Surroundings) -> Any:
        """The config with every name looked up: all that is needed to run it again."""
        return config

    @classmethod
    def writes_files(cls, config: Any) -> bool:
        """Whether a visit may change files of the workspace; `config` is resolved."""
        return False

    @classmethod
    def prompts(cls, config: Any) -> Mapping[str, str]:
        """The templates in it, field → text, for the check of the names they use."""
        return {}

    @classmethod
    def reads(cls, config: Any) -> Sequence[str]:
        """The nodes whose earlier messages it reads, besides those that its prompts name."""
        return ()

    def message(self, text: str, data: Json = None, *, structured: bool = False) -> MessageData:
        """A message from this node."""
        return MessageData(text=text, source=self.node, data=data, structured=structured)


def json_schema(kind: type[BaseModel]) -> dict[str, Json]:
    """The JSON Schema of a config, for forms and docs."""
    return kind.model_json_schema()


NODES = Plugins("workbench.engine.nodes", Node, "node type")

Rule = Callable[..., Iterator[Problem]]
