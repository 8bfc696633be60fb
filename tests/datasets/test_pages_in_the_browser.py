"""The pages of data sets in Chromium: both themes, 360 px, keyboard and axe; and an import from file to instance."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from workbench.datasets import services

pytestmark = pytest.mark.browser

RICH = {
    "id": "repo/" + "x" * 120,
    "problem": "Fix the <b>bug</b> in " + "averylongword" * 30,
    "files": {"src/app.py": "x = 1\n" * 100, "src/" + "y" * 120: "z" * 30_000},
    "reference": ["x = 2\n", "x = 3\n"],
    "metadata": {"source": "English", "tags": ["a"]},
    "split": "test",
}


def test_list_data_set_instance_and_empty_pages_are_well_made(live, page, well_made):
    page.goto(live + reverse("dataset_list"))
    well_made(page)
    services.starters_load()
    many = "".join(
        json.dumps({"id": f"i{n}", "problem": "What? " * (n + 1), "split": "dev"}) + "\n" for n in range(120)
    )
    services.dataset_import("rich", many.encode(), "rich.jsonl")
    services.dataset_import("rich", json.dumps(RICH).encode() + b"\n" + many.encode(), "rich.jsonl", "Title " * 30)

    for address in (
        reverse("dataset_list"),
        reverse("dataset_detail", args=["rich"]),
        reverse("dataset_detail", args=["rich"]) + "?q=nothing",
        reverse("instance_detail", args=["rich", 2, RICH["id"]]),
        reverse("dataset_import"),
    ):
        page.goto(live + address)
        well_made(page)


def test_search_finds_as_one_types(live, page):
    services.starters_load()
    page.goto(live + reverse("dataset_detail", args=["labels-mini"]))

    page.get_by_label("Search").fill("umbrella")

    page.get_by_text("1 to 1 of 1").wait_for()
    assert "q=umbrella" in page.url
    page.reload()
    assert page.get_by_label("Search").input_value() == "umbrella"


def test_file_goes_from_refusal_over_preview_to_a_data_set(live, page, well_made):
    page.goto(live + reverse("dataset_import"))
    bad = {"name": "mine.jsonl", "mimeType": "application/json", "buffer": b"nonsense\n" * 130}
    page.get_by_label("File", exact=True).set_input_files(bad)
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("130 problems: nothing was imported").wait_for()
    well_made(page)

    good = {**bad, "buffer": json.dumps(RICH).encode()}
    page.get_by_label("File", exact=True).set_input_files(good)
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("heading", name="Look it over").wait_for()
    well_made(page)
    page.get_by_role("button", name="Import 1 instance").click()

    page.get_by_text("mine@1 holds 1 instance.").wait_for()
    assert services.dataset_version("mine").instances.get().key == RICH["id"]
