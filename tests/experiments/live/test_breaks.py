"""A run is watched through everything that breaks under it: a real worker, web server and Redis, and a real browser."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time

import pytest
from playwright.sync_api import expect

from tests import servers
from tests.experiments.workbenches import ROOT, chain, running_workbench

pytestmark = pytest.mark.browser

SOON = 30_000
WORDS = [f"word{number}" for number in range(400)]


class Web:
    """The web server of a bench, on a port that it comes back to."""

    def __init__(self, bench) -> None:
        self._bench, self.port = bench, servers.free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "uvicorn", "workbench.asgi:application", "--port", str(self.port)]
        command += ["--lifespan", "off", "--log-level", "warning", "--timeout-graceful-shutdown", "2"]
        with (self._bench.home / "worker-web.log").open("a") as log:
            self.process = subprocess.Popen(command, cwd=ROOT, env=self._bench.environ, stdout=log, stderr=log)

    def end(self, how: signal.Signals) -> float:
        """Seconds that it took."""
        began = time.monotonic()
        self.process.send_signal(how)
        self.process.wait(20)
        return time.monotonic() - began


@pytest.fixture
def watched(tmp_path, template):
    """A workbench with a Redis of its own, where a model speaks for minutes; the page of that run, and its parts."""
    with (
        servers.Redis() as redis,
        running_workbench(tmp_path / "home", template, REDIS_URL=redis.url, WORKBENCH_RUN_STALE_S="20") as bench,
    ):
        (bench.scripts / "talk.json").write_text(json.dumps({"default": " ".join(WORDS), "latency_s": 400}))
        text = json.dumps(chain("talking", "scripted/talk", 2))
        bench.python(
            "from workbench.topologies.services import topology_save\n"
            f"topology_save('talking', {text!r}, 'For the test', 'test')"
        )
        web = Web(bench)
        bench.worker()
        try:
            bench.start(dataset="twenty", instances=["i000"], configurations=[{"topology": "talking"}])
            bench.wait_for("SELECT COUNT(*) FROM experiments_runevent WHERE kind = 'visit_started'", 1)
            yield bench, web, redis
        finally:
            web.process.kill()
            web.process.wait(10)


def told(server) -> list[bytes]:
    """The runs that workers tell of."""
    import redis

    with redis.Redis.from_url(server.url) as client:
        return client.keys("workbench:run:*")


def heard(page) -> int:
    """The newest word that stands on the page."""
    return int(re.findall(r"word(\d+)", page.inner_text(".now-text"))[-1])


def hears_more(page, than: int) -> int:
    page.wait_for_function(
        f"() => Number(document.querySelector('.now-text')?.textContent.match(/word(\\d+)$/)?.[1]) > {than}",
        timeout=SOON,
    )
    return heard(page)


def test_a_run_is_watched_through_deaths_of_web_server_and_redis_until_it_is_stopped(watched, page):
    bench, web, redis = watched
    (run,) = bench.rows("SELECT id FROM experiments_run")[0]
    assert told(redis) == [], "nobody watches yet"
    page.goto(f"{web.address}/runs/{run}/")
    expect(page.locator("#run-link")).to_have_attribute("data-state", "live", timeout=SOON)
    word = hears_more(page, 0)

    web.end(signal.SIGKILL)
    web.start()
    word = hears_more(page, word)

    assert web.end(signal.SIGTERM) < 5, "a viewer holds it up"
    web.start()
    word = hears_more(page, word)

    redis.restart(signal.SIGKILL, away=1)
    word = hears_more(page, word)
    assert page.inner_text(".now-text").count(f"word{word - 1} ") == 1
    expect(page.locator(".now-call")).to_have_count(1)

    page.click("text=Stop")
    expect(page.locator("text=Stopped by a person.")).to_be_visible(timeout=5000)
    expect(page.locator("#run")).not_to_have_attribute("data-stream", re.compile(".*"))
    assert bench.rows("SELECT kind FROM experiments_runevent ORDER BY sequence DESC LIMIT 1") == [("run_ended",)]
