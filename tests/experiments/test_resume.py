"""A run that dies at every single event of it goes on from its journal in the database: the same prediction, the journal
up to there untouched, nothing repeated but what was in flight.

The death is a worker's: what was committed stays, nobody hears of it, nothing more is written. `DIE_TWICE=1` lets the
second attempt die too, at each of its events.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import NamedTuple

import pytest
from django.db import connection
from django.utils import timezone

from tests.engine.support import asks, topology
from tests.engine.test_replay import INNER
from tests.experiments.executing import OWNERS, queued_experiment, scripted
from workbench.engine.providers import Providers
from workbench.experiments import lifecycle, questions
from workbench.experiments.execution import run_execute, run_prepare
from workbench.experiments.models import Question, Run
from workbench.experiments.replaying import run_replay
from workbench.experiments.workspace import workspace_of
from workbench.experiments.writer import Writer, acknowledge

pytestmark = pytest.mark.django_db(transaction=True)

DOCUMENT = topology(
    {
        "plan": asks("Plan: {{ instance.problem }}"),
        "files": asks("{{ inbox }}", tools=["write_file", "read_file"]),
        "each": asks("Each: {{ inbox }}"),
        "inner": {"type": "topology", "topology": INNER},
        "person": {"type": "human", "question": "Go on with {{ inbox }}?", "choices": ["yes", "no"]},
        "after": asks("After {{ inbox }}"),
        "last": {"type": "passthrough", "all": True},
    },
    [
        ("plan", "files"),
        ("files", "each", {"map": {"split": {"regex": r"[^,]+"}}}),
        ("plan", "inner"),
        ("plan", "person"),
        ("person", "after", {"when": {"field": "choice", "equals": "yes"}}),
        ("each", "last"),
        ("inner", "last"),
        ("after", "last"),
    ],
)
WRITE = {"text": "", "tool_calls": [{"name": "write_file", "arguments": {"path": "a.txt", "content": "A"}}]}
READ = {"text": "", "tool_calls": [{"name": "read_file", "arguments": {"path": "a.txt"}}]}
SCRIPT = {
    "nodes": {
        "files": [WRITE, READ, "one,two"],
        "each": ["1", "1"],
        "draft": ["d1", "d2"],
        "check": ['{"verdict": "revise"}', '{"verdict": "accept"}'],
    },
    "default": "x",
}


class Dead(Exception):
    """Nobody is there any more."""


class MortalWriter(Writer):
    """Dies right after the commit of its `last` event: nothing is acknowledged any more, nothing more is written."""

    def __init__(self, last: int) -> None:
        self.left, self.died = last, threading.Event()
        super().__init__()

    def _write(self, batch):
        if self.died.is_set():
            return
        if len(batch) < self.left:
            self.left -= len(batch)
            super()._write(batch)
            return
        super()._write([write._replace(done=None, loop=None) for write in batch[: self.left]])
        self.died.set()

    def _do(self, job):
        if self.died.is_set():
            acknowledge([(job.done, job.loop, None, Dead())])
        else:
            super()._do(job)


class Calls:
    """A scripted provider that remembers which calls were begun."""

    def __init__(self) -> None:
        self.begun: Counter[tuple] = Counter()
        self.provider = scripted(SCRIPT)
        answer = self.provider.chat

        async def chat(request, on_text=None):
            self.begun[request.node, request.visit, request.call, request.messages[-1].content] += 1
            return await answer(request, on_text)

        self.provider.chat = chat


class Left(NamedTuple):
    """What a death left behind: the rows of the journal, and the calls that it holds."""

    rows: list[tuple]
    calls: Counter[tuple]


def attempt(run: Run, calls: Calls, dies_at: int | None) -> bool:
    """One attempt of a worker, in a thread of its own; whether it died, `dies_at` events after its beginning."""
    claimed = lifecycle.run_claim(run.pk, f"worker-{next(OWNERS)}")
    assert claimed is not None, run.status
    prepared = run_prepare(claimed)

    async def go() -> bool:
        writer = Writer() if dies_at is None else MortalWriter(dies_at)
        providers = Providers({}, only=calls.provider)
        work = asyncio.ensure_future(run_execute(prepared, providers=providers, writer=writer, stop=asyncio.Event()))
        try:
            while not work.done() and not (dies_at is not None and writer.died.is_set()):
                await asyncio.wait([work], timeout=0.005)
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            if dies_at is None and not work.cancelled() and work.exception() is not None:
                raise work.exception()
            return dies_at is not None and writer.died.is_set()
        finally:
            writer.close()

    return asyncio.run(go())


def at_work(run: Run, calls: Calls, dies_at: int | None = None) -> None:
    """Attempts until the run has ended, or died: what it asks is answered, and whoever died is swept."""
    with ThreadPoolExecutor(1) as thread:
        try:
            while True:
                left = None if dies_at is None else dies_at - run.events.count()
                died = thread.submit(attempt, run, calls, left).result()
                run.refresh_from_db()
                if run.status == "waiting":
                    for question in Question.objects.filter(run=run, status="open"):
                        questions.question_answer(question, questions.Given(choice="yes"), by="Ann")
                if died or run.has_ended:
                    return
                run.refresh_from_db()
        finally:
            thread.submit(lambda: connection.close()).result()


def left_behind(run: Run) -> Left:
    """What a dead worker left; then the sweep finds the run."""
    rows = list(run.events.order_by("sequence").values_list("sequence", "attempt", "kind", "data"))
    calls = Counter(run.events.filter(kind="model_called", status="ok").values_list("node", "visit", "data"))
    Run.objects.filter(pk=run.pk, status="running").update(heartbeat_at=timezone.now() - timedelta(hours=1))
    lifecycle.runs_sweep()
    run.refresh_from_db()
    return Left(rows, calls)


def fresh_run() -> Run:
    return queued_experiment(DOCUMENT, size=1).runs.get()


def made(run: Run) -> Counter[tuple]:
    """The calls that were answered, by their place: each once."""
    rows = run.events.filter(kind__in=("model_called", "tool_called"), status="ok").order_by("sequence")
    return Counter((row.kind, row.node, row.visit, *place(row)) for row in rows)


def place(row) -> tuple:
    event = json.loads(row.data)
    return event["unit"], event["call"]


@pytest.fixture(autouse=True)
def here(settings, tmp_path):
    settings.WORKSPACES = tmp_path / "workspaces"


@pytest.fixture
def whole():
    """The run that nothing happens to."""
    run, calls = fresh_run(), Calls()
    at_work(run, calls)
    assert run.status == "succeeded", run.reason
    return run, calls


def went_on(run: Run, calls: Calls, left: Left, whole) -> None:
    """The promises to a run that died and went on."""
    undisturbed, _ = whole
    assert run.status == "succeeded", run.reason
    assert (run.output, run.outputs) == (undisturbed.output, undisturbed.outputs)
    rows = list(run.events.order_by("sequence").values_list("sequence", "attempt", "kind", "data"))
    assert rows[: len(left.rows)] == left.rows
    assert made(run) == made(undisturbed)
    assert set(made(run).values()) == {1}
    assert (workspace_of(run) / "a.txt").read_text() == "A"


def test_run_that_dies_at_any_event_of_it_goes_on_and_repeats_only_what_was_in_flight(whole):
    undisturbed, all_calls = whole
    events = undisturbed.events.count()
    assert events >= 40

    for last in range(1, events):
        run, calls = fresh_run(), Calls()
        at_work(run, calls, last)
        left = left_behind(run)
        in_flight = calls.begun.total() - sum(left.calls.values())
        if not run.has_ended:
            at_work(run, calls)

        went_on(run, calls, left, whole)
        assert calls.begun.total() - all_calls.begun.total() <= in_flight, last
        if os.environ.get("DIE_TWICE") and last % 3 == 0:
            die_again(last, whole)


def die_again(last, whole) -> None:
    for second in range(1, 12):
        run, calls = fresh_run(), Calls()
        at_work(run, calls, last)
        left_behind(run)
        if not run.has_ended:
            at_work(run, calls, last + second)
            left = left_behind(run)
            if not run.has_ended:
                at_work(run, calls)
            went_on(run, calls, left, whole)


def test_run_that_was_put_together_from_two_attempts_replays_as_one(whole):
    run, calls = fresh_run(), Calls()
    at_work(run, calls, 17)
    left_behind(run)
    at_work(run, calls)

    done = run_replay(run)

    assert done.replayed.same, done.replayed.differences
    assert done.same_prediction
