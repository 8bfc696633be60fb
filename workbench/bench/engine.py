"""What the engine costs: medians of compiling, planning and running topologies of known shapes.

*Compile* is reading, validating, planning and building the graph; *plan* the search for components and layers alone, of
every scope that a run enters; *execute* a run without models. The journal is in memory but for `agent_chain_*`, whose
events are committed to SQLite as in life.
"""

from __future__ import annotations

import asyncio
import gc
import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from workbench.bench import shapes
from workbench.bench.home import own_home
from workbench.engine.compiler import CompiledPlan, compile_plan
from workbench.engine.context import RunInput
from workbench.engine.documents import read_json
from workbench.engine.errors import InvalidDocument
from workbench.engine.events import Journal, MemoryJournal
from workbench.engine.nodes import NoAgents
from workbench.engine.planning import RunPlan, plan_topology
from workbench.engine.providers import ModelRequest, Providers
from workbench.engine.providers.scripted import Answer, ScriptedProvider
from workbench.engine.runtime import RunResult, run_plan
from workbench.engine.scheduling import Graph
from workbench.engine.spec import TopologySpec
from workbench.engine.validation import read_shape

LOOPS = (1, 2, 4, 8, 16, 64, 256)
WARM_UP = 3


def engine_figures(repeat: int, loops: Sequence[int] = ()) -> dict[str, Any]:
    """Everything that `workbench bench engine` prints."""
    gc.collect()
    gc.freeze()  # what was imported is not gone through again and again, as in a worker
    return {
        "loops": {str(count): phases(shapes.loops(count), fewer(repeat, count)) for count in loops or LOOPS},
        "chain_900": phases(shapes.wiring_chain(900), fewer(repeat, 64)),
        "wiring_1000": {"us_per_visit": wiring(1000, repeat)},
        "fan_100x50ms": {"ms": wall(shapes.fan(100), answer_after(0.05), fewer(repeat, 16)) * 1e3},
        "unequal_branches": {"s": wall(shapes.unequal_branches(), answer_unequally, 1)},
        **journalled(fewer(repeat, 64)),
    }


def fewer(repeat: int, size: int) -> int:
    """Large shapes are measured less often."""
    return max(3, repeat // max(1, size // 8)) if repeat >= 3 else repeat


def compiled(document: shapes.Document) -> CompiledPlan:
    """From the text of a file to what can be run."""
    return CompiledPlan(planned(document))


def planned(document: shapes.Document) -> RunPlan:
    """A topology's plan, read from text and checked as every topology is before it runs."""
    read = read_json(json.dumps(document))
    spec, problems = read_shape(read.data, TopologySpec, "topology")
    if spec is None:
        raise InvalidDocument(read.problems + problems)
    return plan_topology(spec, NoAgents())


def phases(document: shapes.Document, repeat: int) -> dict[str, float]:
    """Compile, plan and execute."""
    plan = planned(document)
    taken = measure(lambda: run(plan), repeat)
    graph = compile_plan(plan).graph  # it has run: its scopes are known
    return {
        "compile_ms": rounded(measure(lambda: compiled(document), repeat) * 1e3),
        "plan_us": rounded(measure(lambda: replanned(graph), repeat) * 1e6),
        "execute_ms": rounded(taken * 1e3),
    }


def replanned(graph: Graph) -> Graph:
    """Components and layers of the outermost graph and of every scope, worked out anew."""
    fresh = Graph(graph.size, graph.edges, graph.starts, graph.watched, graph.joins)
    for members, entries in graph._regions:  # nobody else has to know which there are
        fresh.region(members, entries)
    return fresh


def measure(work: Callable[[], Any], repeat: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """The median of some measurements after some that do not count."""
    taken = []
    for number in range(WARM_UP + repeat):
        began = clock()
        work()
        if number >= WARM_UP:
            taken.append(clock() - began)
    return median(taken)


def run(plan: RunPlan, answer: Answer | None = None) -> RunResult:
    """Run it to its end, told to memory."""
    only = ScriptedProvider(answer) if answer else None
    done = asyncio.run(run_once(plan, MemoryJournal(), Providers({}, only=only)))
    assert done.status == "succeeded", done.reason
    return done


async def run_once(plan: RunPlan, journal: Journal, providers: Providers) -> RunResult:
    """One run as a worker does it."""
    return await run_plan(
        plan,
        RunInput(problem="go"),
        providers=providers,
        journal=journal,
        workspace=Path("."),
        stop=asyncio.Event(),
        run_id="bench",
    )


def wiring(length: int, repeat: int) -> float:
    """Microseconds for each visit of a chain of passthroughs."""
    plan = planned(shapes.wiring_chain(length))
    return rounded(measure(lambda: run(plan), repeat) / length * 1e6)


def wall(document: shapes.Document, answer: Answer, repeat: int) -> float:
    """Seconds by the clock for a run with models that take their time."""
    plan = planned(document)
    return rounded(median(timed(lambda: run(plan, answer)) for _ in range(repeat)))


def timed(work: Callable[[], Any]) -> float:
    """Seconds by the clock."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def answer_after(seconds: float) -> Answer:
    """A model that takes so long."""
    from workbench.engine.providers.scripted import Entry

    entry = Entry(text="yes", latency_s=seconds)
    return lambda request: entry


def answer_unequally(request: ModelRequest) -> Any:
    """Slow nodes take a second, quick ones a tenth of it."""
    return answer_after(1.0 if request.node.startswith("slow") else 0.1)(request)


def journalled(repeat: int) -> dict[str, dict[str, float]]:
    """CPU for each visit of agents in a row, their journal committed to SQLite; flat however long the row is."""
    with TemporaryDirectory(prefix="workbench-bench-") as folder, own_home(Path(folder)):
        from workbench.bench.journal import run_in_database

        found = {}
        for length, times in ((100, repeat), (2000, 1)):
            plan = planned(shapes.agent_chain(length))
            taken = measure_cpu(partial(run_in_database, plan, answer_after(0.0)), times)
            found[f"agent_chain_{length}"] = {"cpu_ms_per_visit": rounded(taken / length * 1e3)}
        return found


def measure_cpu(work: Callable[[], Any], repeat: int) -> float:
    """The median CPU time of this process, all of its threads, after one that does not count."""
    work()
    taken = []
    for _ in range(repeat):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return median(taken)


def rounded(value: float) -> float:
    """Four digits: more is noise."""
    return float(f"{value:.4g}")
