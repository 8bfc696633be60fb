"""Questions in a real browser: seen from any page, answered on their own page and on the run's, by keyboard and by two."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from tests.experiments.rows import make_run
from tests.experiments.test_questions import make_question, status_of
from workbench.experiments.questions import Given, question_answer

pytestmark = pytest.mark.browser
NOTED = """const Real = window.Notification;
window.Notification = class {
  constructor(title, more) { document.documentElement.dataset.told = more.body; }
  static get permission() { return Real.permission; }
  static requestPermission() { return Promise.resolve(Real.permission); }
};"""
LONG = "Shall this be published?\n\nIt says something that somebody may not like, in a word as long as " + "a" * 120


def test_every_page_of_questions_is_usable_by_everybody(live, page, well_made):
    choices = ["publish", "send it back", "ask somebody else, who knows more of this than any of us " * 3]
    question = make_question(
        text=LONG, choices=choices, free=False, told="A draft.\n" * 40, deadline=timezone.now() + timedelta(hours=2),
        default="publish",
    )  # fmt: skip
    make_question(text="Which colour?", choices=["red", "blue"], asker="ask_human")
    past = make_question(text="An older one?")
    question_answer(past, Given(text="Yes, and " * 30), by="Ada")

    for path in (reverse("question_list"), question.get_absolute_url(), past.get_absolute_url(),
                 question.run.get_absolute_url()):  # fmt: skip
        page.goto(live + path)
        page.wait_for_load_state("networkidle")
        well_made(page)


def test_a_question_shows_on_any_page_and_is_answered_on_the_run_s(live, page):
    run = make_run(started_at=timezone.now())
    page.goto(live + run.get_absolute_url())
    page.wait_for_load_state("networkidle")
    before = page.title()

    question = make_question(run, choices=["yes", "no"], free=False)
    page.wait_for_selector("#run-questions button[value=yes]", timeout=10000)
    page.wait_for_selector(".site-nav .nav-count", timeout=15000)
    assert page.title() == f"(1) {before}"

    box = page.locator(f"#text-{question.pk}")
    box.fill("Only the")
    make_question(make_run(status="waiting", owner=""))
    expect(page).to_have_title(re.compile(r"^\(2\) "), timeout=15000)
    assert box.input_value() == "Only the"  # what is typed outlives what comes meanwhile
    box.fill("Only the first part.")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Answered.")

    question.refresh_from_db()
    assert (question.choice, question.answer) == ("yes", "Only the first part.")
    assert page.url == live + run.get_absolute_url()
    assert not page.query_selector("#run-questions form")


def test_two_people_one_answer(live, page, browser):
    question = make_question(choices=["yes", "no"])
    other = browser.new_page()
    for one in (page, other):
        one.goto(live + question.get_absolute_url())

    other.click("button[value=no]")
    other.wait_for_selector("text=Answered.")
    page.fill(f"#text-{question.pk}", "My own reasons")
    page.click("button[value=yes]")
    page.wait_for_selector("[role=alert]:has-text('Your answer was not taken.')")
    assert "My own reasons" in page.inner_text("main")
    other.close()

    question.refresh_from_db()
    assert (question.choice, status_of(question.run_id)) == ("no", "queued")


def test_whoever_wants_it_is_notified_of_a_new_question(live, page):
    page.context.grant_permissions(["notifications"], origin=live)
    page.add_init_script(NOTED)
    page.goto(live + reverse("question_list"))
    page.wait_for_load_state("networkidle")
    page.click("text=Notify me")
    page.wait_for_selector("text=Notify me no more")

    make_question(text="Publish now?")
    page.wait_for_selector("html[data-told*='asks: Publish now?']", timeout=15000, state="attached")

    page.wait_for_selector("text=Somebody asks something new.", timeout=10000)


def test_nothing_needs_a_script(live, browser):
    question = make_question(choices=["yes", "no"], free=False)
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(live + reverse("question_list"))
    page.set_input_files(f"#files-{question.pk}", {"name": "a.txt", "mimeType": "text/plain", "buffer": b"hello"})
    page.click("button[value=no]")
    page.wait_for_selector("text=Answered.")
    context.close()

    question.refresh_from_db()
    assert (question.choice, [file["name"] for file in question.files]) == ("no", ["a.txt"])
