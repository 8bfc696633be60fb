"""A call that is abandoned while the model answers is counted, as one of unknown cost, and made again later."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.engine.support import asks, planned, run, topology
from workbench.engine.context import RunInput
from workbench.engine.events import MemoryJournal
from workbench.engine.providers import Providers
from workbench.engine.providers.scripted import ScriptedProvider
from workbench.engine.runtime import run_plan
from workbench.experiments.totals import Totals

DOCUMENT = topology({"a": asks(), "b": asks()}, [("a", "b")])


class Stopping(ScriptedProvider):
    """While the second node waits for its answer, somebody stops the run."""

    async def chat(self, request, on_text=None):
        if request.node == "b":
            self.stop.set()
            await asyncio.Event().wait()
        return await super().chat(request, on_text)


def stopped():
    """A run that is stopped in its second call."""
    provider, journal = Stopping(lambda request: "done"), MemoryJournal()

    async def main():
        provider.stop = asyncio.Event()
        providers = Providers({}, only=provider)
        return await run_plan(
            planned(DOCUMENT),
            RunInput("input"),
            providers=providers,
            journal=journal,
            workspace=Path("."),
            stop=provider.stop,
            run_id="r1",
        )

    return asyncio.run(main()), journal


def test_a_call_that_a_stop_cuts_off_is_counted_as_one_of_unknown_usage():
    result, journal = stopped()

    totals = Totals()
    for event in journal.events:
        totals.add(event)
    (cut,) = [event for event in journal.events if event.kind == "model_called" and event.status == "cut_off"]
    assert (result.status, cut.node) == ("stopped", "b")
    for counted in (result.usage, totals):
        assert (counted.model_calls, counted.unknown_usage_calls, counted.unpriced_calls) == (2, 1, 2)
    assert journal.events[-1].kind == "run_ended"


def test_it_is_made_again_when_the_run_goes_on():
    _, journal = stopped()

    result, later = run(DOCUMENT, {"nodes": {"b": ["now"]}}, journal=MemoryJournal(recorded=journal.events))

    assert (result.status, result.output) == ("succeeded", "now")
    assert [event.node for event in later.events if event.kind == "model_called"] == ["b"]
