"""Runs a plan again with nothing but what is recorded: no provider, no tool, no workspace, no clock.

Every visit does its work again, but takes each answer from the record; before it does, what it asks is compared with what
was asked then. A visit that would ask something else stays open, and so does all that waits for it: what is left open is
what a run with this plan would have to make. Visits that are *trusted* are taken whole, without a look at what they ask.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.engine.context import RetryPolicy, RunInput, RunServices
from workbench.engine.people import Desk
from workbench.engine.planning import RunPlan
from workbench.engine.providers import ModelReply, ModelRequest, ProbeResult, Provider, Providers
from workbench.engine.recorded import Place, Record
from workbench.engine.replay_run import Replay, Replayed
from workbench.engine.replay_shared import BarePlan, ReplayShared, edges_moved

__all__ = ["Replayed", "edges_moved", "replay"]


def replay(
    plan: RunPlan,
    given: RunInput,
    events: Sequence[Any],
    *,
    recorded_plan: RunPlan | None = None,
    run_id: str,
    repetition: int = 1,
    hold: Place | None = None,
    trusted: Callable[[Place], bool] = lambda place: False,
) -> Replayed:
    """Replay `events`, which a run of `recorded_plan` wrote down (without it: of the same plan). The visit `hold` is left
    open, whatever is recorded of it. Not for a thread in which an event loop runs."""
    shared = ReplayShared(Record(events), recorded_plan or plan, hold, trusted)
    run = Replay(BarePlan(plan), shared)
    with tempfile.TemporaryDirectory(prefix="replay-") as folder:
        services = RunServices(
            given=given,
            vars=plan.vars,
            run_id=run_id,
            repetition=repetition,
            budget=shared.budget,
            providers=Providers({}, only=Nobody()),
            workspace=Path(folder),
            append=shared.log.append,
            write=shared.log.write,
            recorded=shared.log.recorded,
            retry=RetryPolicy(),
            seconds_left=run.seconds_left,
            nested=run.nest,
            emitted=run.emitted,
            desk=Desk(fetch=_by_name),
        )
        asyncio.run(run.drive(services))
    return run.replayed()


async def _by_name(sha256: str) -> bytes:
    """In place of a file of a person's answer: only its name counts here, and that it is another than others."""
    return sha256.encode()


class Nobody(Provider):
    """In the place of every provider: in a replay nobody is asked."""

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Nobody:
        return cls()

    async def chat(self, request: ModelRequest, on_text: Any = None) -> ModelReply:
        raise AssertionError("A replay asks no model.")

    async def probe(self) -> ProbeResult:
        return ProbeResult(ok=False, message="A replay asks no model.")
