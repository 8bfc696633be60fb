from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest

from tests.experiments.rows import make_run
from workbench.engine.events import MessageData, ModelCalled, ToolCalled, VisitEnded, VisitStarted
from workbench.experiments.journal import DatabaseJournal, Past, journal_past
from workbench.experiments.models import Run, RunEvent
from workbench.experiments.totals import Totals
from workbench.experiments.writer import Fenced, Held, Writer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def writer():
    made = Writer()
    yield made
    made.close()


def journal_of(run, writer) -> DatabaseJournal:
    events, past = journal_past(run)
    return DatabaseJournal(writer, Held(run.pk, run.attempt, run.owner), events, past)


def called(**fields) -> ModelCalled:
    made = {"at": 1.0, "node": "writer", "visit": 1, "call": 1, "model": "scripted/echo", "content": "Hello."}
    return ModelCalled(**{**made, **fields})


def ended(visit=1) -> VisitEnded:
    return VisitEnded(
        at=2.0,
        node="writer",
        visit=visit,
        status="succeeded",
        messages=(MessageData(text="Hi"),),
        fired=(0, 1),
        seconds=0.5,
    )


def append_all(journal, *events) -> None:
    async def go() -> None:
        for event in events:
            await journal.append(event)

    asyncio.run(go())


def test_events_stand_in_the_database_in_order_once_they_are_acknowledged(writer):
    run = make_run()

    append_all(journal_of(run, writer), VisitStarted(at=1.0, node="writer", visit=1), called(), ended())

    rows = list(run.events.values_list("sequence", "kind", "node", "visit", "status", "fired", "attempt"))
    assert rows == [
        (1, "visit_started", "writer", 1, "", "", 1),
        (2, "model_called", "writer", 1, "ok", "", 1),
        (3, "visit_ended", "writer", 1, "succeeded", "0,1", 1),
    ]


def test_totals_of_the_run_are_written_with_its_events(writer):
    run = make_run()
    priced = called(input_tokens=10, output_tokens=5, cost_usd=Decimal("0.000123456"), seconds=0.25)
    unknown = called(call=2, seconds=0.5)
    tool = ToolCalled(at=1.5, node="writer", visit=1, call=1, tool="read_file")

    append_all(journal_of(run, writer), priced, unknown, tool, ended())

    run.refresh_from_db()
    assert (run.visits, run.model_calls, run.tool_calls) == (1, 2, 1)
    assert (run.input_tokens, run.output_tokens, run.unknown_usage_calls) == (10, 5, 1)
    assert (run.cost_usd, run.unpriced_calls) == (Decimal("0.000123456"), 1)
    assert run.model_seconds == pytest.approx(0.75)


def test_tokens_that_no_call_told_stay_unknown(writer):
    run = make_run()

    append_all(journal_of(run, writer), called())

    run.refresh_from_db()
    assert run.input_tokens is None
    assert run.cost_usd is None


@pytest.mark.parametrize(
    "text", ["NUL \x00 in it", "half \ud83d of a pair", "\x1b[31mred\x1b[0m", "\u202eabc", "x" * 1_000_000]
)
def test_hostile_text_comes_back_as_it_was(writer, text):
    run = make_run()
    event = called(content=text, request={"messages": [text]})

    append_all(journal_of(run, writer), event)

    events, _ = journal_past(run)
    assert events == [event]
    stored = run.events.get().data
    assert "\0" not in stored, "no database takes NUL"
    assert stored.encode(), "nor half a pair"


def test_a_later_attempt_finds_what_was_done_and_goes_on_counting(writer):
    run = make_run()
    append_all(journal_of(run, writer), called(input_tokens=3, output_tokens=4), ended())
    Run.objects.filter(pk=run.pk).update(attempt=2, owner="there")
    run.refresh_from_db()

    journal = journal_of(run, writer)
    append_all(journal, called(visit=2, input_tokens=10, output_tokens=20))

    run.refresh_from_db()
    assert [event.kind for event in journal.recorded] == ["model_called", "visit_ended"]
    assert list(run.events.values_list("sequence", "attempt")) == [(1, 1), (2, 1), (3, 2)]
    assert (run.model_calls, run.input_tokens, run.output_tokens) == (2, 13, 24)


@pytest.mark.parametrize("change", [{"attempt": 2}, {"owner": "another"}, {"status": "queued"}, {"status": "stopped"}])
def test_an_attempt_that_lost_its_run_can_write_nothing_more(writer, change):
    run = make_run()
    journal = journal_of(run, writer)
    append_all(journal, called())
    Run.objects.filter(pk=run.pk).update(**change)

    with pytest.raises(Fenced):
        append_all(journal, called(call=2))

    with pytest.raises(Fenced):
        append_all(journal, called(call=3))
    assert run.events.count() == 1
    assert isinstance(journal.lost, Fenced)
    assert Run.objects.get(pk=run.pk).model_calls == 1


def test_a_later_attempt_writes_what_an_earlier_one_was_refused(writer):
    run = make_run()
    lost, long = journal_of(run, writer), called(content="All work. " * 8000)
    Run.objects.filter(pk=run.pk).update(attempt=2)
    run.refresh_from_db()

    with pytest.raises(Fenced):
        append_all(lost, long)
    append_all(journal_of(run, writer), long)

    assert journal_past(run)[0] == [long]


def test_a_run_that_is_stopping_still_writes_down_what_ends(writer):
    run = make_run(status="stopping")

    append_all(journal_of(run, writer), ended())

    assert run.events.count() == 1


def test_many_runs_share_commits_and_one_fenced_run_harms_no_other(writer):
    runs = [make_run() for _ in range(40)]
    fenced = runs[7]
    Run.objects.filter(pk=fenced.pk).update(owner="another")
    journals = [journal_of(run, writer) for run in runs]

    async def go():
        works = [journal.append(called(call=call)) for call in range(1, 6) for journal in journals]
        return await asyncio.gather(*works, return_exceptions=True)

    results = asyncio.run(go())

    assert sum(isinstance(result, Fenced) for result in results) == 5
    assert RunEvent.objects.count() == 39 * 5
    assert not fenced.events.exists()
    assert list(runs[0].events.values_list("sequence", flat=True)) == [1, 2, 3, 4, 5]


def test_work_on_the_writers_thread_comes_after_what_was_written_before_it(writer):
    run = make_run()
    journal = journal_of(run, writer)

    async def go():
        writes = [asyncio.ensure_future(journal.append(called(call=call))) for call in range(1, 101)]
        await asyncio.sleep(0)
        seen = await writer.call(run.events.count)
        await asyncio.gather(*writes)
        return seen

    assert asyncio.run(go()) == 100


def test_seconds_go_on_from_earlier_attempts():
    totals = Totals(seconds_before=100.0)

    assert 100 <= totals.seconds < 101
    assert Past(0, totals).totals is totals
