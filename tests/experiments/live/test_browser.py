"""A run is watched in a real browser: what happens shows itself, to everybody alike, through breaks of every kind."""

from __future__ import annotations

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from tests.experiments.rows import make_run
from tests.experiments.test_run_pages import visit
from workbench.engine.under_way import Said
from workbench.experiments.models import Run

pytestmark = pytest.mark.browser

SOON = 8000


def started(**fields) -> Run:
    return make_run(started_at=timezone.now(), **fields)


def watch(page, live, run):
    """The page, once a worker has been heard on it."""
    page.goto(live + run.get_absolute_url())
    page.wait_for_selector("#run-link[data-state=live]", timeout=SOON)


def test_states_edges_and_figures_follow_the_run_and_its_end_shows_itself(live, page, tells):
    run = started()
    telling = tells(run)
    watch(page, live, run)
    begun, called, ended = visit("writer", 1, input_tokens=1200, output_tokens=34)

    telling.happens(begun)
    expect(page.locator('[data-node="writer"]')).to_have_class("tp-node tp-agent tp-is-running", timeout=SOON)
    telling.happens(called, ended, *visit("reviewer", 1, fired=(1,)), *visit("writer", 2))

    expect(page.locator('[data-node="writer"] .tp-status')).to_have_text("succeeded ×2")
    expect(page.locator('[data-node="writer"] .tp-tokens')).to_have_text("1,249 tokens")
    expect(page.locator("[data-words='1'] text")).to_have_text("verdict is revise · 1 of 3")
    expect(page.locator("[data-words='0'] text")).to_have_text("2×")
    expect(page.locator("[data-figure=tokens] dd")).to_contain_text("1,220 / 44")
    expect(page.locator("#run-feed > li").first).to_have_text("writer succeeded, went on to reviewer")
    expect(page.locator("#visits tbody tr")).to_have_count(3, timeout=SOON)

    telling.ends(status="succeeded", output="There it is", ended_at=timezone.now())

    expect(page.locator("text=There it is")).to_be_visible(timeout=SOON)
    expect(page.locator("#run-now")).to_have_count(0)
    expect(page.locator("#run-actions button")).to_have_count(0)


def test_what_a_model_says_is_read_as_it_says_it_also_by_who_comes_late_or_again(live, page, tells, context):
    run = started()
    telling = tells(run)
    call = telling.asks(said="Once upon a time <b>\x1b[31m")
    watch(page, live, run)
    expect(page.locator(".now-text")).to_have_text("Once upon a time <b>␛[31m", timeout=SOON)

    call.heard(" there was a fox")
    expect(page.locator(".now-text")).to_contain_text("there was a fox", timeout=SOON)
    late = context.new_page()
    watch(late, live, run)
    for reader in (page, late):
        expect(reader.locator(".now-text")).to_have_text("Once upon a time <b>␛[31m there was a fox", timeout=SOON)
    page.reload()
    call.heard(", who")
    for reader in (page, late):
        expect(reader.locator(".now-text")).to_have_text("Once upon a time <b>␛[31m there was a fox, who", timeout=SOON)

    telling.under_way.end(call)
    expect(page.locator(".now-none")).to_be_visible(timeout=SOON)


def test_what_nobody_told_is_read_from_the_journal(live, page, tells):
    run = started()
    telling = tells(run)
    watch(page, live, run)

    telling.happens(*visit("writer", 1), told=False)
    telling.happens(*visit("reviewer", 1, fired=(1,)))

    expect(page.locator('[data-node="writer"] .tp-status')).to_have_text("succeeded", timeout=SOON)
    expect(page.locator('[data-node="reviewer"] .tp-status')).to_have_text("succeeded")


def test_offline_is_said_and_what_happened_meanwhile_is_there_once_when_the_line_is_back(live, page, tells, context):
    run = started()
    telling = tells(run)
    watch(page, live, run)
    context.set_offline(True)
    expect(page.locator("#run-link")).to_have_attribute("data-state", "offline", timeout=SOON)

    telling.happens(*visit("writer", 1), *visit("reviewer", 1, fired=(1,)), *visit("writer", 2))
    context.set_offline(False)

    expect(page.locator('[data-node="writer"] .tp-status')).to_have_text("succeeded ×2", timeout=SOON)
    expect(page.locator("[data-words='0'] text")).to_have_text("2×")
    expect(page.locator("#run-link")).to_have_attribute("data-state", "live", timeout=SOON)


def test_a_model_that_fell_silent_is_named(live, page, tells):
    run = started()
    telling = tells(run)
    telling.asks().heard.follow(lambda: Said("Well", "", 45.0))

    watch(page, live, run)

    expect(page.locator("#run-stalls")).to_contain_text(
        "No token for 40 s and longer from ollama/tiny (writer, visit 1)"
    )
    expect(page.locator(".now-phase")).to_contain_text("no token for 4")


def test_what_a_worker_said_last_does_not_outlive_it(live, page, tells):
    run = started()
    telling = tells(run)
    telling.asks(said="Well")
    watch(page, live, run)
    expect(page.locator(".now-text")).to_have_text("Well", timeout=SOON)

    telling.teller.close()

    expect(page.locator("#run-link")).to_have_text("looking every second", timeout=10_000)
    expect(page.locator(".now-text")).to_have_count(0)


def test_a_run_that_nobody_tells_of_is_looked_at_every_second(live, page, tells):
    run = started()
    telling = tells(run)
    telling.teller.close()
    page.goto(live + run.get_absolute_url())
    expect(page.locator("#run-link")).to_have_text("looking every second")

    telling.happens(*visit("writer", 1))

    expect(page.locator("#visits tbody tr")).to_have_count(1, timeout=3000)


def test_what_is_watched_is_usable_by_everybody(live, page, tells, well_made):
    run = started()
    telling = tells(run)
    telling.happens(*visit("writer", 1), *visit("reviewer", 1, fired=(1,)))
    telling.asks(said="Hm. " * 50)
    watch(page, live, run)
    telling.happens(visit("reviewer", 2)[0])
    expect(page.locator("#run-feed > li")).to_have_count(1, timeout=SOON)

    well_made(page)


def busy_seconds(page) -> float:
    """How long the page's process has worked so far: its own time, whatever else goes on on this machine."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable")
    metrics = devtools.send("Performance.getMetrics")["metrics"]
    return next(it["value"] for it in metrics if it["name"] == "ProcessTime")


def test_ten_thousand_events_stay_smooth(live, page, tells):
    run = started()
    telling = tells(run)
    telling.happens(*[event for number in range(1, 3301) for event in visit("writer", number)], told=False)
    watch(page, live, run)
    assert page.evaluate("document.querySelectorAll('*').length") < 4000

    busy = busy_seconds(page)
    for first in range(1, 301, 20):
        telling.happens(*[event for number in range(first, first + 20) for event in visit("reviewer", number)])
        page.wait_for_timeout(100)

    expect(page.locator('[data-node="reviewer"] .tp-status')).to_have_text("succeeded ×300", timeout=SOON)
    assert busy_seconds(page) - busy < 2, "half a second is usual, for 900 events"
    assert page.evaluate("document.querySelectorAll('*').length") < 4000
