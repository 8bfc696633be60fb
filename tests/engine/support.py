"""What engine tests share: a catalogue of two agents, topologies in a line, and a run by script."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path

from workbench.engine.context import RetryPolicy, RunInput
from workbench.engine.errors import has_errors
from workbench.engine.events import MemoryJournal
from workbench.engine.planning import RunPlan, plan_topology
from workbench.engine.providers import Providers
from workbench.engine.providers.scripted import Script, ScriptedProvider
from workbench.engine.spec import AgentSpec
from workbench.engine.validation import check_topology

FAST = RetryPolicy(first_wait=0.001)


class Shelf:
    """A catalogue in memory."""

    def __init__(self, *agents):
        self.agents = {agent.name: agent for agent in agents}

    def agent(self, reference):
        return self.agents.get(reference.partition("@")[0])

    def names(self):
        return list(self.agents)


def agent(name, **fields):
    return AgentSpec(format="workbench.agent/1", name=name, role="Helper", **{"system": f"You are {name}.", **fields})


SHELF = Shelf(agent("writer"), agent("reviewer"))


def topology(nodes, edges=(), *, start=None, end=None, **fields):
    """A document; an edge is (from, to) or (from, to, {…})."""
    names = list(nodes)
    return {
        "format": "workbench.topology/1",
        "name": "test",
        "start": [names[0]] if start is None else start,
        "end": [names[-1]] if end is None else end,
        "nodes": nodes,
        "edges": [{"from": edge[0], "to": edge[1], **(edge[2] if len(edge) > 2 else {})} for edge in edges],
        **fields,
    }


def asks(prompt="{{ inbox }}", **fields):
    return {"type": "agent", "system": "S", "prompt": prompt, "model": "scripted/x", **fields}


def problems_of(document, shelf=SHELF):
    text = document if isinstance(document, str | bytes) else json.dumps(document)
    return check_topology(text, shelf).problems


def planned(document, shelf=SHELF, **kwargs):
    checked = check_topology(json.dumps(document), shelf)
    assert not has_errors(checked.problems), checked.problems
    return plan_topology(checked.spec, shelf, **kwargs)


def run(
    document,
    script=None,
    *,
    given="input",
    journal=None,
    stop_after=None,
    providers=None,
    workspace=None,
    quota=None,
    attempt=1,
    shelf=SHELF,
    **kwargs,
):
    """Run a document with a script; returns result and journal. Without a workspace, files go with the run."""
    from workbench.engine.runtime import run_plan

    plan = document if isinstance(document, RunPlan) else planned(document, shelf, **kwargs)
    journal = journal or MemoryJournal()

    async def main():
        stop = asyncio.Event()
        if stop_after is not None:
            asyncio.get_running_loop().call_later(stop_after, stop.set)
        asked = providers or Providers({}, only=ScriptedProvider(Script.model_validate(script or {})))
        try:
            return await run_plan(
                plan,
                given if isinstance(given, RunInput) else RunInput(given),
                providers=asked,
                journal=journal,
                workspace=workspace or Path(nowhere, "files"),
                stop=stop,
                run_id="r1",
                retry=FAST,
                quota=quota,
                attempt=attempt,
            )
        finally:
            await asked.close()

    with tempfile.TemporaryDirectory() as nowhere:
        return asyncio.run(main()), journal
