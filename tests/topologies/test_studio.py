"""The editor in a real browser: what is typed is kept by itself, and canvas, list, text and panel stay in step."""

from __future__ import annotations

import json
import re

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from workbench.catalog.services import starters_load as agents_load
from workbench.topologies.models import TopologyDraft
from workbench.topologies.services import shipped_topologies, topology_save

pytestmark = pytest.mark.browser

NAME = "write_and_review"


@pytest.fixture
def edit(live, repository, page):
    """`edit("?view=list")` opens the editor of a topology that has no problems."""
    agents_load()
    topology_save(NAME, shipped_topologies()[NAME])

    def open_(query: str = "", on=page):
        on.goto(live + reverse("topology_edit", args=[NAME]) + query)
        expect(on.locator("html")).to_have_class(re.compile("studio-live"))
        return on

    return open_


@pytest.fixture
def document(live, page):
    """`document()`: the draft as the server has it."""

    def read():
        return page.request.get(live + reverse("topology_edit_state", args=[NAME])).json()["document"]

    return read


def kept(page):
    expect(page.locator("#studio-kept")).to_have_text(re.compile("All changes kept|As committed"))


def test_what_is_typed_in_the_panel_is_kept_without_a_click(edit, document):
    page = edit("?view=list&node=writer")

    page.get_by_label("Prompt", exact=True).fill("{{ instance.problem }} now")
    page.get_by_label("Max steps").fill("7")
    page.get_by_label("Max steps").blur()
    kept(page)

    assert document()["nodes"]["writer"]["prompt"] == "{{ instance.problem }} now"
    assert document()["nodes"]["writer"]["max_steps"] == 7
    page.reload()
    assert page.get_by_label("Prompt", exact=True).input_value() == "{{ instance.problem }} now"


def test_list_text_and_panel_stay_in_step_and_undo_goes_through_all_of_them(edit, document):
    page = edit("?view=list")
    before = document()

    page.locator("#copy-writer").click()
    expect(page.locator("#row-writer2")).to_be_visible()
    expect(page.locator("#studio-panel h2")).to_have_text("writer2")
    page.get_by_label("Id", exact=True).last.fill("author")
    page.get_by_label("Id", exact=True).last.blur()
    expect(page.locator("#row-author")).to_be_visible()
    page.get_by_role("link", name="Text", exact=True).click()
    source = page.locator("#studio-source")
    expect(source).to_have_value(re.compile('"author": {'))
    source.fill(source.input_value().replace('"max": 4', '"max": 9'))
    kept(page)
    page.get_by_role("link", name="List", exact=True).click()
    expect(page.locator("#view-list").get_by_text("max 9")).to_be_visible()

    for _ in range(3):
        page.locator("#studio-undo").click()
        kept(page)
    expect(page.locator("#row-author")).to_have_count(0)
    expect(page.locator("#studio-undo")).to_be_disabled()
    assert document() == before
    for _ in range(3):
        page.locator("#studio-redo").click()
        kept(page)
    expect(page.locator("#row-author")).to_be_visible()
    assert document()["edges"][1]["max"] == 9


def test_a_problem_is_said_while_one_types_leads_to_its_field_and_is_mended_by_a_click(edit, document):
    page = edit("?view=list&node=writer")

    page.get_by_label("Prompt", exact=True).fill("{{ nodes.reviwer.output }}")
    expect(page.locator("[data-at='/prompt']")).to_contain_text("reviwer")
    expect(page.locator("#studio-problems")).to_contain_text("1 error")
    page.get_by_role("link", name="publish", exact=True).first.click()
    expect(page.locator("#studio-panel h2")).to_have_text("publish")
    page.locator(".studio-jump", has_text="writer").click()

    expect(page.get_by_label("Prompt", exact=True)).to_be_focused()
    page.get_by_role("button", name="Change reviwer to reviewer").click()
    expect(page.locator("#studio-problems")).not_to_contain_text("does not exist")
    assert document()["nodes"]["writer"]["prompt"].startswith("{{ nodes.reviewer.output")


def test_the_line_of_an_error_is_marked_and_a_broken_text_survives_the_reload(edit):
    page = edit("?view=text")
    source = page.locator("#studio-source")

    source.fill(source.input_value().replace('"max": 4', '"maxx": 4'))
    expect(page.locator("#text-marks")).to_contain_text("There is no key 'maxx'")
    line = int(re.search(r"Line (\d+)", page.locator("#text-marks").inner_text())[1])
    assert '"maxx"' in source.input_value().split("\n")[line - 1]
    expect(page.locator("#text-gutter .line-error")).to_have_text(f"{line}\n")
    source.fill('{"format": ')
    expect(page.locator("#text-marks")).to_contain_text("not JSON")
    kept(page)
    page.reload()

    expect(page.locator("#studio-source")).to_have_value('{"format": ')
    page.get_by_role("button", name="Drop this text").click()
    expect(page.locator("#studio-source")).to_have_value(re.compile("maxx"))


def test_of_two_tabs_the_later_one_is_asked_and_nothing_is_overwritten(edit, document, context):
    first, second = edit("?view=list&node=writer"), context.new_page()
    edit("?view=list&node=writer", on=second)
    first.get_by_label("Prompt", exact=True).fill("first")
    kept(first)

    second.get_by_label("Label", exact=True).fill("Second")
    expect(second.locator("#studio-trouble")).to_contain_text("Nothing was overwritten")
    assert "label" not in document()["nodes"]["writer"]
    second.get_by_role("button", name="Put my change on top").click()
    kept(second)

    writer = document()["nodes"]["writer"]
    assert (writer["prompt"], writer["label"]) == ("first", "Second")


def test_what_can_not_be_sent_is_kept_in_the_browser_and_done_after_the_reload(edit, document):
    page = edit("?view=list&node=writer")
    away = re.compile("/edit/form/")
    page.route(away, lambda route: route.abort())

    page.get_by_label("Label", exact=True).fill("Unsent")
    expect(page.locator("#studio-kept")).to_contain_text("Not saved: the server does not answer")
    page.on("dialog", lambda dialog: dialog.accept())
    page.reload()
    page.unroute(away)

    page.get_by_role("button", name="Do them now").click()
    kept(page)
    assert document()["nodes"]["writer"]["label"] == "Unsent"


def test_a_commit_takes_what_was_typed_last(edit, document, live):
    page = edit("?view=list&node=writer")

    page.get_by_label("What changed").fill("Shorter")
    page.get_by_label("Prompt", exact=True).fill("short")
    page.get_by_role("button", name="Commit", exact=True).click()

    page.wait_for_url(live + reverse("topology_detail", args=[NAME]))
    assert "Shorter" in page.locator("main").inner_text()
    assert document()["nodes"]["writer"]["prompt"] == "short"
    assert not TopologyDraft.objects.get().changed


def test_every_view_of_the_editor_is_well_made(edit, document, well_made, screenshot):
    page = edit("?view=list&edge=e2")
    page.locator(".studio-try summary").click()
    page.get_by_label("A sample output").fill('{"verdict": "revise"}')
    page.get_by_role("button", name="Would it fire?").click()
    expect(page.locator("[data-result]")).to_contain_text("It fires.")
    well_made(page)
    screenshot(page, "topology-list")
    edit("?view=list&node=reviewer")
    page.evaluate("document.querySelectorAll('.studio details').forEach(each => each.open = true)")
    expect(page.get_by_label("prompt as it is sent").first).to_be_visible()
    well_made(page)
    page.get_by_label("Prompt", exact=True).fill("{{ nodes.nobody.output }}")
    kept(page)
    edit("?view=text")
    well_made(page)
    screenshot(page, "topology-text")
    page.locator("#studio-source").fill(json.dumps(document())[:-1])
    expect(page.locator("#text-marks")).to_contain_text("not JSON")
    well_made(page)


def test_conflicts_trials_and_texts_to_copy_are_well_made(edit, live, well_made):
    page = edit("?view=list&node=writer")
    page.get_by_label("Label", exact=True).fill("Mine")
    kept(page)
    topology_save(NAME, shipped_topologies()[NAME].replace('"max": 4', '"max": 5'), "Five rounds", "Bob")
    page.get_by_label("What changed").fill("Mine")
    page.get_by_role("button", name="Commit", exact=True).click()
    expect(page.get_by_text("Nothing was overwritten")).to_be_visible()
    well_made(page)
    page.get_by_role("button", name="Merge it, mine stands").click()
    expect(page.get_by_text("Merged: both changes are in the draft now")).to_be_visible()
    page.get_by_role("link", name="Try it").click()
    expect(page.get_by_role("button", name="Run the draft")).to_be_visible()
    well_made(page)
    for name in ("topology_edit_fragment", "topology_edit_dry_run", "topology_trial"):
        page.goto(live + reverse(name, args=[NAME]))
        well_made(page)


def test_everything_opens_in_the_list_without_a_script(edit, browser, live, document):
    context = browser.new_context(java_script_enabled=False, viewport={"width": 360, "height": 740})
    page = context.new_page()
    page.goto(live + reverse("topology_edit", args=[NAME]) + "?view=list")

    page.get_by_label("New node").select_option("vote")
    page.get_by_role("button", name="Add", exact=True).click()
    assert page.url.endswith("?view=list&node=vote")
    page.get_by_label("Connect to").select_option("publish")
    page.get_by_role("button", name="Connect", exact=True).last.click()
    page.get_by_role("link", name="vote → publish").click()
    page.get_by_label("Max", exact=True).fill("2")
    page.get_by_role("button", name="Keep").click()
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Redo").click()

    assert document()["edges"][-1] == {"from": "vote", "to": "publish", "max": 2}
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    context.close()
