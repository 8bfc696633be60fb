"""Pages of data sets: the list, one data set, one instance, the import with its preview."""

from __future__ import annotations

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from workbench.datasets import services, uploads
from workbench.datasets.models import Dataset, DatasetVersion
from workbench.datasets.services import dataset_import

pytestmark = pytest.mark.django_db


def lines(count, **fields):
    rows = ({"id": f"task-{n:03}", "problem": f"Problem number {n}", **fields} for n in range(count))
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def upload(client, data, filename="set.jsonl", **fields):
    form = {"file": SimpleUploadedFile(filename, data), "step": "preview", **fields}
    return client.post(reverse("dataset_import"), form)


def hidden(response):
    preview = response.context["preview"]
    fields = {key: preview[key] for key in ("name", "title", "filename")}
    return {**fields, "upload": preview["token"], "step": "import"}


def test_list_of_nothing_says_how_to_begin(client):
    assert "No datasets yet" in client.get(reverse("dataset_list")).text


def test_list_shows_each_data_set_in_a_fixed_number_of_queries(client, django_assert_num_queries):
    services.starters_load()
    for number in range(10):
        dataset_import(f"set-{number}", lines(number + 1), "set.jsonl")

    with django_assert_num_queries(1):
        page = client.get(reverse("dataset_list")).text

    assert "labels-mini" in page
    assert "shipped" in page
    assert "set-9" in page


def test_long_data_set_is_paged_searched_and_filtered(client, django_assert_max_num_queries):
    dataset_import(
        "long", lines(120, split="test") + b'{"id": "odd one", "problem": "Other", "split": "dev"}', "a.jsonl"
    )
    address = reverse("dataset_detail", args=["long"])

    with django_assert_max_num_queries(7):
        first = client.get(address).text
    last = client.get(address, {"page": 3}).text
    found = client.get(address, {"q": "NUMBER 7", "split": "test"}).text
    dev = client.get(address, {"split": "dev"}).text

    assert "1 to 50 of 121" in first
    assert "101 to 121 of 121" in last
    assert "1 to 11 of 11" in found
    assert "odd one" in dev
    assert "task-001" not in dev
    assert "Nothing found" in client.get(address, {"q": "nowhere\0"}).text
    assert "101 to 121" in client.get(address, {"page": "99999999999"}).text


def test_search_by_htmx_gets_the_list_alone(client):
    dataset_import("set", lines(3), "set.jsonl")

    page = client.get(
        reverse("dataset_detail", args=["set"]), {"q": "task-002"}, HTTP_HX_REQUEST="true", HTTP_HX_TARGET="instances"
    ).text

    assert page.strip().startswith('<div id="instances">')
    assert "task-002" in page
    assert "task-001" not in page


def test_earlier_version_stays_readable_and_one_that_is_not_there_is_404(client):
    dataset_import("set", lines(1), "old.jsonl")
    dataset_import("set", lines(2), "new.jsonl")
    address = reverse("dataset_detail", args=["set"])

    assert "new.jsonl" in client.get(address).text
    assert "old.jsonl" in client.get(address, {"version": 1}).text
    for number in ("3", "x", "²", "9" * 30):
        assert client.get(address, {"version": number}).status_code == 404
    assert client.get(reverse("dataset_detail", args=["other"])).status_code == 404


def test_instance_shows_problem_files_references_and_metadata_as_text(client):
    row = {
        "id": "repo/fix 1?#",
        "problem": "<script>alert(1)</script>",
        "files": {"src/a.py": "x = '<b>'\n", "big.txt": "z" * 30_000},
        "reference": ["first", "second"],
        "metadata": {"level": 3},
    }
    dataset_import("set", lines(1) + json.dumps(row).encode(), "set.jsonl")

    page = client.get(reverse("instance_detail", args=["set", 1, row["id"]])).text

    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert" not in page
    assert "hidden from agents" in page
    assert "x = &#x27;&lt;b&gt;&#x27;" in page
    assert "The first 20,000 of 30,000 characters." in page
    assert "&quot;level&quot;: 3" in page
    assert reverse("instance_detail", args=["set", 1, "task-000"]) in page
    assert client.get(reverse("instance_detail", args=["set", 1, "nothing"])).status_code == 404
    assert client.get(f"/datasets/set/{'9' * 30}/task-000/").status_code == 404


def test_import_shows_what_it_understood_before_it_adds_anything(client):
    preview = upload(
        client, b'id,problem,reference\na,What?,"[""x"", ""y""]"\n', "My set.csv", name="mine", title="My own"
    )

    assert "mine@1" in preview.text
    assert "Import 1 instance<" in preview.text
    assert not Dataset.objects.exists()

    done = client.post(reverse("dataset_import"), hidden(preview), follow=True)

    assert "mine@1 holds 1 instance." in done.text
    version = services.dataset_version("mine")
    assert (version.source, version.dataset.title) == ("My set.csv", "My own")
    assert version.instances.get().references == ["x", "y"]


def test_name_is_the_files_where_none_is_given_and_one_that_does_not_do_is_refused(client):
    assert upload(client, lines(1), "fix-it.jsonl").context["preview"]["name"] == "fix-it"

    refused = upload(client, lines(1), "fix it.jsonl")

    assert "can&#x27;t be the name of a data set" in refused.text
    assert "preview" not in refused.context


def test_every_bad_line_is_named_and_the_rest_counted(client):
    page = upload(client, b"nonsense\n" * 150).text

    assert "150 problems: nothing was imported" in page
    assert "Line 100: this is not JSON" in page
    assert "Line 101:" not in page
    assert "… and 50 more." in page
    assert not Dataset.objects.exists()


def test_same_content_as_the_newest_version_is_said_before_and_after(client):
    dataset_import("set", lines(2), "set.jsonl")

    preview = upload(client, lines(2), name="set")
    done = client.post(reverse("dataset_import"), hidden(preview), follow=True)

    assert "holds exactly what set@1 holds" in preview.text
    assert "there is no new version" in done.text
    assert DatasetVersion.objects.count() == 1


def test_name_that_exists_is_told_to_become_the_next_version(client):
    dataset_import("set", lines(2), "set.jsonl")

    page = upload(client, lines(3), name="set").text

    assert "set@2" in page
    assert "Its version 1 has 2 instances and stays as it is." in page
    assert 'value="set"' in client.get(reverse("dataset_import"), {"name": "set"}).text


@pytest.mark.parametrize(
    ("data", "filename", "sentence"),
    [
        (b"", "set.jsonl", "The file holds no instance."),
        (b"x", "set.xlsx", "set.xlsx is neither .jsonl nor .csv."),
        (b"\xff\xfei\x00d\x00", "set.csv", "The file is UTF-16, not UTF-8."),
        (b'{"id": "\x00"}', "set.jsonl", "there is a NUL character"),
        (b"x" * (50 * 1024 * 1024 + 1), "set.jsonl", "50 MB is the most"),
    ],
)
def test_file_that_can_not_be_read_is_a_sentence(client, data, filename, sentence):
    response = upload(client, data, filename)

    assert response.status_code == 200
    assert sentence in response.text


@pytest.mark.parametrize("token", ["../../secret-key", "0" * 64 + ".jsonl", "x"])
def test_upload_that_is_gone_or_never_was_is_asked_for_again(client, token):
    page = client.post(
        reverse("dataset_import"), {"upload": token, "filename": "a.jsonl", "name": "a", "step": "import"}
    )

    assert "no longer here. Choose it again." in page.text


def test_nothing_chosen_is_asked_for(client):
    assert "Choose a file." in client.post(reverse("dataset_import"), {"step": "preview"}).text


def test_uploads_of_other_days_are_removed(client, monkeypatch):
    upload(client, lines(1, metadata={"kept": "for a day"}))
    kept = set(uploads.folder().iterdir())
    monkeypatch.setattr(uploads, "KEPT_SECONDS", -60)

    upload(client, lines(2, metadata={"kept": "later"}))

    assert not kept & set(uploads.folder().iterdir())
