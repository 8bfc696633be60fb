"""What takes a worker seconds to import is there before its first tickets, or every run would wait for it."""

from __future__ import annotations

import asyncio
import gc
import importlib
from pathlib import Path

from workbench.engine.context import RunInput
from workbench.engine.events import MemoryJournal
from workbench.engine.nodes import NoAgents
from workbench.engine.planning import plan_topology
from workbench.engine.providers import Providers
from workbench.engine.providers.scripted import Entry, ScriptedProvider
from workbench.engine.runtime import run_plan
from workbench.engine.spec import TopologySpec

CLIENTS = ("openai", "openai.resources.chat", "openai.resources.models", "distro", "httpx_aiohttp", "ollama")
SMALLEST = {
    "format": "workbench.topology/1",
    "name": "smallest",
    "start": ["a"],
    "end": ["a"],
    "nodes": {"a": {"type": "agent", "model": "scripted/echo", "prompt": "{{ inbox }}"}},
    "edges": [],
}


def preload() -> None:
    """The clients of model servers, and by a run that nobody sees what LangGraph loads with its first one."""
    for name in CLIENTS:
        importlib.import_module(name)
    asyncio.run(smallest_run())
    gc.collect()
    gc.freeze()  # what was loaded stays: not to be gone through in each collection


async def smallest_run() -> None:
    """One agent, one answer."""
    await run_plan(
        plan_topology(TopologySpec.model_validate(SMALLEST), NoAgents()),
        RunInput(problem="Ready?"),
        providers=Providers({}, only=ScriptedProvider(lambda request: Entry(text="Ready."))),
        journal=MemoryJournal(),
        workspace=Path(),
        stop=asyncio.Event(),
        run_id="smallest",
    )
