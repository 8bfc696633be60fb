"""Five minutes to the first result, as a newcomer goes through them: real processes, a real browser, a real model."""

from __future__ import annotations

import re

import pytest

from tests.supervised import Up, until

pytestmark = [pytest.mark.browser, pytest.mark.embedded]

SENTENCES = 8
RUNS = 4 * SENTENCES
PATIENCE_MS = 300_000


def test_ready_made_experiment_is_started_watched_judged_and_compared(tmp_path, page, axe, screenshot):
    with Up(tmp_path / "home") as up:
        page.goto(up.address)
        page.get_by_text("Ready to run, nothing to set up").wait_for()
        page.get_by_text("smollm2:135m").first.wait_for()
        screenshot(page, "home")

        page.get_by_role("link", name="See the plan first").click()
        page.get_by_role("link", name="Change").click()
        page.get_by_label("Only the first").check()
        page.get_by_label("How many").fill(str(SENTENCES))
        page.get_by_role("button", name="Save and see the plan").click()
        screenshot(page, "plan")

        page.get_by_role("button", name=f"Start {RUNS} runs").click()
        page.locator(".page-head .badge-running").wait_for()
        page.get_by_text(re.compile(r"\b[1-9]\d* succeeded")).first.wait_for(timeout=PATIENCE_MS)
        screenshot(page, "watching")

        page.locator(".page-head .badge-finished").wait_for(timeout=PATIENCE_MS)
        page.get_by_role("row", name="exact_match").get_by_text("finished").wait_for(timeout=PATIENCE_MS)
        axe(page)

        page.get_by_role("link", name="Results", exact=True).click()
        table = page.get_by_role("table").filter(has_text="Instances judged")
        for name in ("single_agent", "schema_answer", "few_shot", "vote_of_three"):
            assert f"{SENTENCES} of {SENTENCES}" in table.get_by_role("row", name=name).inner_text()
        page.get_by_role("heading", name="Outcome and what it took").evaluate("element => element.scrollIntoView()")
        drawn = "[...document.images].every(image => image.complete && image.naturalWidth > 0)"
        assert until(lambda: page.evaluate(drawn), 30)
        screenshot(page, "results")
        axe(page)

        page.goto(f"{up.address}/runs/{RUNS}/")
        page.get_by_role("list", name="Scores of this run").get_by_text("exact_match").wait_for()
        screenshot(page, "run")
        axe(page)

    assert up.errors == ""
