"""The stream of a run over HTTP, and what it costs those whom nobody watches."""

from __future__ import annotations

import asyncio
import http.client
import json
import time
from urllib.parse import urlsplit

import pytest
import redis
from django.urls import reverse
from django.utils import timezone

from tests.experiments.rows import make_run
from tests.experiments.test_run_pages import visit, write
from workbench.engine.under_way import Call, Heard, UnderWay
from workbench.experiments.live.hub import QUEUED, current, run_frames
from workbench.experiments.live.wire import bell_name, redis_url, stream_key

PATIENCE_S, FLOOD = 10, QUEUED + 50


class Watching:
    """A browser's share: one stream, read until something is there."""

    def __init__(self, live, run, last_id=None) -> None:
        self.line = http.client.HTTPConnection(urlsplit(live).netloc, timeout=PATIENCE_S)
        headers = {} if last_id is None else {"Last-Event-ID": str(last_id)}
        self.line.request("GET", reverse("run_stream", args=[run.pk]), headers=headers)
        self.answer = self.line.getresponse()
        self.frames: list[dict] = []

    def until(self, there) -> dict:
        """The first frame for which it holds."""
        while line := self.answer.readline():
            if line.startswith(b"data: "):
                self.frames.append(json.loads(line[6:]))
                if there(self.frames[-1]):
                    return self.frames[-1]
        raise AssertionError(f"The stream ended: {self.frames}")

    def close(self) -> None:
        self.answer.close()
        self.line.close()

    @property
    def sequences(self) -> list[int]:
        return [event["sequence"] for frame in self.frames for event in frame.get("events", ())]


@pytest.fixture
def watches(live):
    """`watches(run)`: another viewer."""
    made = []

    def make(run, **options) -> Watching:
        made.append(Watching(live, run, **options))
        return made[-1]

    yield make
    for watching in made:
        watching.close()


def test_a_stream_begins_after_the_event_that_is_known_and_tells_each_later_one_once(watches, tells):
    run = make_run(started_at=timezone.now())
    telling = tells(run)
    telling.happens(*visit("writer", 1), told=False)
    watching = watches(run, last_id=1)
    assert watching.answer.getheader("Content-Type") == "text/event-stream"
    watching.until(lambda frame: "calls" in frame)

    telling.happens(*visit("reviewer", 1, fired=(1,)))
    telling.happens(*visit("writer", 2))
    watching.until(lambda frame: frame["last"] == 9)
    telling.ends(status="stopped", ended_at=timezone.now())

    end = watching.until(lambda frame: frame.get("ended"))
    assert watching.sequences == [2, 3, 4, 5, 6, 7, 8, 9]
    assert end["status"] == "stopped"
    assert watching.answer.read().strip() == b""
    assert watches(run).answer.status == 204


def test_many_viewers_share_one_subscription_and_hear_the_same(watches, tells):
    run = make_run(started_at=timezone.now())
    telling = tells(run)
    watching = [watches(run) for _ in range(5)]
    for one in watching:
        one.until(lambda frame: "calls" in frame)

    telling.happens(*visit("writer", 1))
    for one in watching:
        one.until(lambda frame: frame["last"] == 3)

    assert all(one.sequences == [1, 2, 3] for one in watching)
    with redis.Redis.from_url(redis_url()) as client:
        mine = str(client.connection_pool.connection_kwargs.get("db", 0))
        reading = [it for it in client.client_list() if it["cmd"] == "xread" and it["db"] == mine]
    assert len(reading) == 1


def flood(client, bell, run) -> None:
    """Once somebody watches: more than waits for a viewer."""
    while bell.get_message(timeout=PATIENCE_S) is None:
        pass
    for number in range(1, FLOOD + 1):
        entry = {"attempt": 1, "now": {"calls": [], "more": number}, "last": 3}
        client.xadd(stream_key(run.pk), {"entry": json.dumps(entry)})


@pytest.mark.django_db(transaction=True)
def test_a_viewer_who_does_not_read_is_sent_away_and_finds_the_rest_when_it_comes_back():
    run = make_run(started_at=timezone.now())
    write(run, *visit("writer", 1))

    async def watched(client, bell) -> list[bytes]:
        frames = run_frames(run.pk, 0)
        met = [await anext(frames), await anext(frames)]
        await asyncio.to_thread(flood, client, bell, run)
        while current().channel(run.pk).so_far.more < FLOOD:  # noqa: ASYNC110  nobody tells a test
            await asyncio.sleep(0.01)
        met += [frame async for frame in frames]
        back = run_frames(run.pk, 1)
        met += [await anext(back), await anext(back)]
        await back.aclose()
        return met

    with redis.Redis.from_url(redis_url()) as client, client.pubsub(ignore_subscribe_messages=True) as bell:
        bell.subscribe(bell_name(redis_url()))
        bell.get_message(timeout=PATIENCE_S)
        met = asyncio.run(watched(client, bell))

    assert b"event: behind" in met[2]
    assert len(met) == 5
    assert [event["sequence"] for event in json.loads(met[4].partition(b"data: ")[2])["events"]] == [2, 3]


@pytest.mark.django_db
def test_an_unwatched_run_costs_a_call_next_to_nothing_and_writes_nothing(tells):
    run = make_run()
    telling = tells(run)
    telling.happens(*visit("writer", 1))
    under_way, number = UnderWay(), 2000

    began = time.thread_time()
    for _ in range(number):
        call = under_way.begin(Call((), "writer", 1, None, "model", "ollama/tiny", phase="turn"))
        call.enters("turn")
        call.enters("answer", Heard())
        under_way.end(call)
    taken = (time.thread_time() - began) / number

    assert taken < 50e-6
    with redis.Redis.from_url(redis_url()) as client:
        assert not client.exists(stream_key(run.pk))
