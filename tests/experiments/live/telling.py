"""A worker's share of a run that is watched, without the worker: its journal is written and told of as a worker does."""

from __future__ import annotations

from tests.experiments.test_run_pages import write
from workbench.engine.under_way import Call, Heard, UnderWay
from workbench.experiments.journal import event_row
from workbench.experiments.live.telling import Teller
from workbench.experiments.live.wire import redis_url
from workbench.experiments.totals import Totals
from workbench.experiments.writer import Held, Write


class Telling:
    """One run that goes on in this process."""

    def __init__(self, run) -> None:
        self.run, self.under_way, self.totals = run, UnderWay(), Totals()
        self.teller = Teller(redis_url(), lambda: None)
        self.teller.hold(run.pk, run.attempt, self.under_way)

    def happens(self, *events, told: bool = True) -> None:
        """Into the journal, and to whoever watches."""
        held = Held(self.run.pk, self.run.attempt, self.run.owner)
        first = self.run.events.count() + 1
        write(self.run, *events)
        writes = []
        for number, event in enumerate(events, first):
            self.totals.add(event)
            writes.append(Write(held, event_row(event, held, number), self.totals.row()))
        values = dict(zip(Totals.COLUMNS, self.totals.row(), strict=True))
        type(self.run).objects.filter(pk=self.run.pk).update(**values)
        if told:
            self.teller.committed(writes)

    def asks(self, node="writer", visit=1, said="", **fields) -> Call:
        """A model call begins; it has said something already."""
        heard = Heard()
        call = Call((), node, visit, None, "model", "ollama/tiny", phase="turn", **fields)
        self.under_way.begin(call).enters("answer", heard)
        if said:
            heard(said)
        return call

    def ends(self, **fields) -> None:
        """The run's row, then the last word to whoever watches."""
        type(self.run).objects.filter(pk=self.run.pk).update(**fields)
        self.teller.let_go(self.run.pk, fields["status"])

    def close(self) -> None:
        self.teller.close()
