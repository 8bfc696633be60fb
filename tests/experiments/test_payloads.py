"""Long events are taken apart: their parts are kept once, compressed, and come back as they were."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.experiments.rows import make_run
from workbench.engine.events import ModelCalled
from workbench.experiments.journal import DatabaseJournal, event_json, event_text, journal_past
from workbench.experiments.models import Payload, PayloadUse, RunEvent
from workbench.experiments.payloads import MOST, packed, whole
from workbench.experiments.writer import Held, Writer

TEXTS = st.text(max_size=20) | st.sampled_from(["\x01v" + "0" * 64, "\x01=x", "~", "x" * 3000, "\ud83d" + "ü" * 40_000])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | TEXTS,
    lambda inner: st.lists(inner, max_size=40) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
    max_leaves=60,
)


def journal_of(run, writer) -> DatabaseJournal:
    events, past = journal_past(run)
    return DatabaseJournal(writer, Held(run.pk, run.attempt, run.owner), events, past)


def append_all(run, *events) -> None:
    writer = Writer()
    journal = journal_of(run, writer)

    async def go() -> None:
        for event in events:
            await journal.append(event)

    try:
        asyncio.run(go())
    finally:
        writer.close()


def called(number=1, **fields) -> ModelCalled:
    made = {"at": 1.0, "node": "writer", "visit": 1, "call": number, "model": "scripted/echo", "content": "Hello."}
    return ModelCalled(**{**made, **fields})


def conversation(calls: int) -> list[ModelCalled]:
    """An agent's visit: each call carries everything that was said before it."""
    said = [{"role": "user", "content": f"Step {number}: " + "x" * 500} for number in range(2 * calls)]
    return [
        called(number, messages=said[: 2 * number], request={"messages": said[: 2 * number], "model": "echo"})
        for number in range(1, calls + 1)
    ]


@given(JSON)
def test_any_value_comes_back_and_no_row_is_long(value):
    text = json.dumps({"value": value, "more": "y" * MOST})

    made = packed(text)

    assert whole(made.data, made.payloads) == json.loads(text)
    assert len(made.data) <= MOST + 1
    assert made.data.isascii()


def test_json_that_is_nested_absurdly_deep_is_kept_whole():
    text = '{"a": ' + "[" * 800 + '"' + "x" * MOST + '"' + "]" * 800 + "}"

    made = packed(text)

    assert json.dumps(whole(made.data, made.payloads)) == json.dumps(json.loads(text))


def test_short_events_stay_as_they_are():
    text = event_text(called())

    assert packed(text) == (text, {})


@pytest.mark.django_db(transaction=True)
def test_a_text_that_many_events_hold_is_kept_once_for_all_runs():
    novel = "Call me Ishmael. " * 10_000
    runs = [make_run(), make_run()]
    events = [called(number, content=novel, request={"prompt": novel}, reply={"said": novel}) for number in (1, 2, 3)]

    for run in runs:
        append_all(run, *events)

    assert Payload.objects.count() == 1
    assert Payload.objects.get().size == len(novel) + 2
    assert len(Payload.objects.get().data) < len(novel) / 10
    assert set(PayloadUse.objects.values_list("run", flat=True)) == {run.pk for run in runs}
    assert journal_past(runs[1])[0] == events
    row = RunEvent.objects.filter(run=runs[0]).first()
    assert len(row.data) < 1000
    assert json.loads(event_json(row.data)) == json.loads(event_text(events[0]))


@pytest.mark.django_db(transaction=True)
def test_what_a_long_conversation_takes_grows_with_what_was_said_not_with_its_square():
    sizes = {}
    for calls in (60, 240):
        run = make_run()
        append_all(run, *conversation(calls))
        rows = sum(len(data) for data in run.events.values_list("data", flat=True))
        kept = Payload.objects.filter(uses__run=run)
        sizes[calls] = rows + sum(size for size in kept.values_list("size", flat=True))
        assert journal_past(run)[0] == conversation(calls)

    assert sizes[240] < 5 * sizes[60]
    raw = sum(len(event_text(event)) for event in conversation(240))
    assert sizes[240] < raw / 20


@pytest.mark.django_db(transaction=True)
def test_a_page_and_an_export_show_a_long_event_whole(client):
    run = make_run()
    append_all(run, called(content="z" * 100_000))

    raw = client.get(f"/runs/{run.pk}/events/1/").json()
    visit = client.get(f"/runs/{run.pk}/visits/writer/1/").content.decode()

    assert raw["content"] == "z" * 100_000
    assert "z" * 1000 in visit
    journal = client.get(f"/runs/{run.pk}/events/").content.decode()
    assert "a long part, kept apart" in journal
