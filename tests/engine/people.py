"""Runs with people in them, without a server: an attempt ends when it only waits, the next one finds the answers."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from tests.engine.support import FAST, SHELF, planned
from workbench.engine.context import RunInput
from workbench.engine.events import MemoryJournal
from workbench.engine.people import Answer, Desk
from workbench.engine.providers import Providers
from workbench.engine.providers.scripted import Script, ScriptedProvider


def said(text="", choice=None, **fields) -> Answer:
    """What somebody answered."""
    return Answer(text, choice, **{"by": "ada", "at": time.time(), **fields})


class Mortal(MemoryJournal):
    """A journal whose process dies after so many events: nothing is written any more, and whoever waits for it waits."""

    def __init__(self, recorded, events):
        super().__init__(recorded)
        self.left, self.dead = events, asyncio.Event()

    def post(self, event):
        if self.left is not None and len(self.events) >= self.left:
            self.dead.set()
        else:
            super().post(event)

    async def append(self, event):
        self.post(event)
        if self.dead.is_set():
            await asyncio.Event().wait()


class Stage:
    """A run over its attempts. `answers` says what people answer, by node; `waits` are its attempts' statuses."""

    def __init__(self, document, script=None, *, workspace=None, given="input"):
        self.plan, self.given = planned(document, SHELF), given
        self.script = ScriptedProvider(Script.model_validate(script or {}))
        self.workspace = workspace or Path("nowhere")
        self.events = []
        self.asked = []
        self.attempts = 0

    def attempt(self, answers=None, *, during=None, stop_after=None, dies_after=None):
        """One attempt, with these answers (key → answer) known when it begins. `during(desk, asked)` is called on the
        loop when a question is about to wait. None: it died after so many events."""
        from workbench.engine.runtime import run_plan

        self.attempts += 1
        self.asked = []
        journal = Mortal(list(self.events), dies_after)

        async def opened(asked, told):
            self.asked.append((asked, told))
            if during is not None:
                during(desk, asked)

        async def fetch(sha256):
            return sha256.encode()

        async def main():
            nonlocal desk
            desk = Desk(answers, opened, fetch)
            stop = asyncio.Event()
            if stop_after is not None:
                asyncio.get_running_loop().call_later(stop_after, stop.set)
            run = asyncio.ensure_future(run_plan(
                self.plan, RunInput(self.given), providers=Providers({}, only=self.script), journal=journal,
                workspace=self.workspace, stop=stop, run_id="r1", attempt=self.attempts, retry=FAST, desk=desk,
            ))  # fmt: skip
            death = asyncio.ensure_future(journal.dead.wait())
            await asyncio.wait([run, death], return_when=asyncio.FIRST_COMPLETED)
            death.cancel()
            if journal.dead.is_set():
                run.cancel()
                await asyncio.wait([run])
                return None
            return await run

        desk = None
        result = asyncio.run(main())
        self.events += journal.events
        return result

    def key(self, node):
        """The key of the question that is open at a node."""
        return next(asked.key for asked, _ in self.asked if asked.node == node)

    def kinds(self, kind):
        return [event for event in self.events if event.kind == kind]
