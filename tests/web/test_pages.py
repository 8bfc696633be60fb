"""The frame that every page stands in: reachable, readable in both themes, honest when something is wrong."""

from __future__ import annotations

import pytest
from django.urls import path

from workbench.engine.errors import InvalidDocument, Problem, WorkbenchError
from workbench.urls import urlpatterns as pages


@pytest.mark.browser
@pytest.mark.parametrize("address", ["/", "/parts/", "/no-such-page/"])
def test_page_is_usable_in_both_themes_and_at_360_pixels(live, page, well_made, address):
    page.goto(live + address)

    well_made(page)


@pytest.mark.browser
def test_keyboard_skips_the_navigation(live, page):
    page.goto(live + "/")

    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    assert page.evaluate("document.activeElement.id") == "content"


@pytest.mark.browser
def test_chosen_theme_stays_and_leads_back_to_the_page(live, page):
    page.goto(live + "/parts/")

    page.get_by_role("button", name="Dark").click()

    assert page.url == live + "/parts/"
    assert page.locator("html").get_attribute("data-theme") == "dark"
    page.goto(live + "/")
    assert page.get_by_role("button", name="Dark").get_attribute("aria-pressed") == "true"


def test_theme_never_leads_to_another_site(client):
    answer = client.post("/theme/", {"theme": "dark", "next": "https://evil.example/"})

    assert answer["Location"] == "/"


def test_unknown_theme_changes_nothing(client):
    answer = client.post("/theme/", {"theme": "<script>", "next": "/"})

    assert "theme" not in answer.cookies


def test_every_answer_carries_the_content_policy(client):
    for address in ("/parts/", "/no-such-page/", "/static/web/workbench.css"):
        policy = client.get(address)["Content-Security-Policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy


def test_pages_hold_no_inline_script_or_style(client):
    text = client.get("/parts/").content.decode()

    assert "style=" not in text
    assert "<style" not in text
    assert "<script>" not in text


@pytest.mark.parametrize(
    ("address", "status", "sentence"),
    [
        ("/no-such-page/", 404, "Nothing stands at this address"),
        ("/broken/", 500, "This is our mistake, not yours"),
        ("/refused/", 400, "Ollama is not running."),
        ("/invalid/", 400, "There is no node &lt;b&gt;."),
        ("/forbidden/", 403, "You may not do this here"),
    ],
)
def test_failure_is_a_page_with_a_sentence(client, settings, address, status, sentence):
    settings.ROOT_URLCONF = __name__
    client.raise_request_exception = False

    answer = client.get(address)

    assert answer.status_code == status
    text = answer.content.decode()
    assert sentence in text
    assert 'id="sentence"' in text
    assert "Go to the start page" in text


def test_form_without_its_token_says_that_nothing_was_changed(client):
    client.handler.enforce_csrf_checks = True

    answer = client.post("/theme/", {"theme": "dark"})

    assert answer.status_code == 403
    assert "nothing was changed" in answer.content.decode()


def test_server_answers_without_a_database(client):
    assert client.get("/alive/").content == b"alive\n"


def broken(request):
    raise ZeroDivisionError


def refused(request):
    raise WorkbenchError("Ollama is not running. Start it, or set OLLAMA_URL.")


def invalid(request):
    raise InvalidDocument([Problem("error", "unknown_node", "/edges/0/to", "There is no node <b>.")])


def forbidden(request):
    from django.core.exceptions import PermissionDenied

    raise PermissionDenied


urlpatterns = [
    *pages,
    path("broken/", broken),
    path("refused/", refused),
    path("invalid/", invalid),
    path("forbidden/", forbidden),
]


@pytest.mark.parametrize(
    ("address", "status"), [("/topologies/a%00b/", 404), ("/datasets/%00/", 404), ("/runs/?topology=a%00", 200)]
)
def test_address_with_a_nul_leads_nowhere_and_a_filter_finds_nothing(client, db, address, status):
    assert client.get(address).status_code == status
