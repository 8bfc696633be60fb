"""A run plan as a LangGraph StateGraph. The only importer of LangGraph (seconds to load): workers and the CLI reach it.

Every node that waits for something stands in the graph under its own id, so that LangGraph's drawing and streams show
the topology. Its loop triggers only one node more, `run`, which drives the scheduler: work starts at once, as a task that
the run owns, and is then *shown* under its node's id. All of it happens in one superstep, so branches have no barrier
between them. After some visits `run` goes to itself, because LangGraph's list of pending writes costs quadratic time in a
superstep. State lives in the driver, not in channels: there is nothing to checkpoint, one graph serves many runs at once.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, Protocol

from langchain_core.runnables import RunnableConfig
from langgraph.func import task
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command
from typing_extensions import TypedDict

from workbench.engine.nodes import Node
from workbench.engine.planning import RunPlan
from workbench.engine.scheduling import Graph

DRIVER = "run"
KEPT = 64

Show = Callable[[str, "asyncio.Task[Any]", "asyncio.Future[None]"], Awaitable[Any]]
"""Shows a work under its node's id until it ends, or until the turn of the superstep does."""


class Driver(Protocol):
    """One run under way, as the graph drives it."""

    async def proceed(self, show: Show) -> bool:
        """Go on for a bounded number of visits; whether there is more to do."""


class State(TypedDict):
    """Empty: a run's state is its driver's."""


class CompiledPlan:
    """A plan ready to run any number of times at once."""

    def __init__(self, plan: RunPlan) -> None:
        self.plan = plan
        self.nodes: list[Node] = plan.made_nodes()
        self.graph: Graph = plan.graph()
        self.ids = list(plan.nodes)
        self._shown = {node.node: Shown.under(node.node) for node in self.nodes if node.waits}
        self.state_graph = self._state_graph()

    def _state_graph(self) -> Any:
        builder = StateGraph(State)
        after: dict[str, dict[str, None]] = {name: {} for name in self._shown}
        for edge in self.graph.edges:
            source = self.ids[edge.source]
            if source in after:
                for target in self._waiting_after(edge.target):
                    after[source][target] = None
        for name in self._shown:
            builder.add_node(
                graph_id(name), _never, destinations=tuple(graph_id(target) for target in after[name]) or (END,)
            )
        first = dict.fromkeys(name for start in self.graph.starts for name in self._waiting_after(start))
        builder.add_node(DRIVER, self._drive, destinations=(DRIVER, END, *(graph_id(name) for name in first)))
        builder.add_edge(START, DRIVER)
        return builder.compile()

    def _waiting_after(self, node: int) -> list[str]:
        """The waiting nodes that come next, through wiring."""
        found, seen, waiting = [], {node}, [node]
        while waiting:
            current = waiting.pop()
            if self.ids[current] in self._shown:
                found.append(self.ids[current])
                continue
            for index in self.graph.out[current]:
                target = self.graph.edges[index].target
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
        return found

    async def _drive(self, state: State, config: RunnableConfig) -> Command[str]:
        driver: Driver = config["configurable"]["driver"]
        more = await driver.proceed(self._show)
        return Command(goto=DRIVER if more else END)

    def _show(self, node: str, work: asyncio.Task[Any], turn: asyncio.Future[None]) -> Awaitable[Any]:
        return self._shown[node](work, turn)

    async def execute(self, driver: Driver, steps: int) -> None:
        """Run it. `steps` bounds LangGraph's supersteps; the run's own limits come first."""
        await self.state_graph.ainvoke({}, {"configurable": {"driver": driver}, "recursion_limit": steps})


def graph_id(node: str) -> str:
    """A node's name in LangGraph, made from its id and never equal to one of LangGraph's own."""
    return f"{node}_" if node == DRIVER else node


ShowsWork = Callable[["asyncio.Task[Any]", "asyncio.Future[None]"], Awaitable[Any]]


class Shown:
    """What shows works, by the names of nodes, the same for all plans: LangGraph prepares a function at each call anew
    (0.1 ms) unless it finds it in its module by its qualified name."""

    MOST = 10_000
    tasks: ClassVar[dict[str, ShowsWork]] = {}

    @classmethod
    def under(cls, name: str) -> ShowsWork:
        """What shows a work as the node of this name."""
        if name not in cls.tasks:
            if len(cls.tasks) == cls.MOST:
                return cls._made(name)
            cls.tasks[name] = cls._made(name)
        return cls.tasks[name]

    @classmethod
    def _made(cls, name: str) -> ShowsWork:
        async def shown(work: asyncio.Task[Any], turn: asyncio.Future[None]) -> None:
            await asyncio.wait([work, turn], return_when=asyncio.FIRST_COMPLETED)

        if len(cls.tasks) < cls.MOST:
            shown.__qualname__ = f"{cls.__qualname__}.as_{name}"
            setattr(cls, f"as_{name}", staticmethod(shown))
        return task(shown, name=graph_id(name))  # type: ignore[call-overload, no-any-return]


async def _never(state: State) -> State:
    raise AssertionError("Only the driver is ever triggered.")


_compiled: OrderedDict[str, CompiledPlan] = OrderedDict()


def compile_plan(plan: RunPlan) -> CompiledPlan:
    """The compiled plan; the last few are kept by hash, because an experiment runs the same plan many times."""
    found = _compiled.get(plan.hash)
    if found is None:
        found = _compiled[plan.hash] = CompiledPlan(plan)
        while len(_compiled) > KEPT:
            _compiled.popitem(last=False)
    _compiled.move_to_end(plan.hash)
    return found
