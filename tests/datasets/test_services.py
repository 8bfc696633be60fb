"""Versions: added all or nothing, never changed, found by name and number."""

from __future__ import annotations

import json
import time

import pytest

from workbench.datasets import services
from workbench.datasets.models import Dataset, DatasetVersion, Instance
from workbench.datasets.selectors import UnknownDataset, instance_of_version
from workbench.datasets.services import dataset_import, dataset_version
from workbench.engine.errors import InvalidDocument

pytestmark = pytest.mark.django_db


def lines(*ids):
    return "".join(
        json.dumps({"id": key, "problem": f"Problem {key}", "reference": "r"}) + "\n" for key in ids
    ).encode()


def test_import_keeps_instances_in_the_order_of_the_file():
    version = dataset_import("mine", lines("b", "a", "c"), "folder/mine.jsonl", "My own")

    assert str(version) == "mine@1"
    assert (version.count, version.source, version.dataset.title) == (3, "mine.jsonl", "My own")
    assert [instance.key for instance in version.instances.all()] == ["b", "a", "c"]
    assert version.instances.first().references == ["r"]


def test_new_content_makes_the_next_version_and_leaves_the_earlier_one_alone():
    first = dataset_import("mine", lines("a"), "mine.jsonl", "Title")

    second = dataset_import("mine", lines("a", "b"), "mine.jsonl")

    assert (first.number, second.number) == (1, 2)
    assert [instance.key for instance in first.instances.all()] == ["a"]
    assert Dataset.objects.get().title == "Title"


def test_same_content_as_the_newest_version_adds_nothing():
    first = dataset_import("mine", lines("a"), "mine.jsonl")

    again = dataset_import("mine", b'{"reference": ["r"], "problem": "Problem a", "id": "a"}', "other.jsonl")

    assert again == first
    assert DatasetVersion.objects.count() == 1


def test_going_back_to_earlier_content_is_a_version_of_its_own():
    for ids in (["a"], ["b"], ["a"]):
        version = dataset_import("mine", lines(*ids), "mine.jsonl")

    assert version.number == 3
    assert version.hash == dataset_version("mine@1").hash


def test_one_bad_line_imports_nothing():
    with pytest.raises(InvalidDocument):
        dataset_import("mine", lines("a", "b") + b"nonsense\n", "mine.jsonl")

    assert not Dataset.objects.exists()
    assert not Instance.objects.exists()


@pytest.mark.parametrize("name", ["", "with space", "a/b", "a@1", "import", "x" * 101, "é"])
def test_name_that_can_not_stand_in_an_address_is_refused(name):
    with pytest.raises(InvalidDocument) as caught:
        dataset_import(name, lines("a"), "mine.jsonl")

    assert "name" in caught.value.problems[0].message
    assert "fix-mini" in caught.value.problems[0].hint


def test_version_is_found_by_name_and_number_and_the_newest_by_name_alone():
    first, second = (dataset_import("mine", lines(key), "mine.jsonl") for key in "ab")

    assert dataset_version("mine") == second
    assert dataset_version("mine@1") == first


@pytest.mark.parametrize(
    ("reference", "sentence"),
    [
        ("min", "There is no data set 'min'. Did you mean 'mine'? There is mine."),
        ("mine@3", "mine has no version '3'. There is mine@1, mine@2."),
        ("mine@two", "mine has no version 'two'."),
        ("mine@", "mine has no version ''."),
    ],
)
def test_reference_that_leads_nowhere_is_answered_with_what_there_is(reference, sentence):
    for key in "ab":
        dataset_import("mine", lines(key), "mine.jsonl")

    with pytest.raises(UnknownDataset) as caught:
        dataset_version(reference)

    assert str(caught.value).startswith(sentence)


def test_empty_workbench_says_that_there_is_no_data_set():
    with pytest.raises(UnknownDataset, match="There is none yet"):
        dataset_version("mine")


def test_instance_that_is_not_there_is_answered_with_the_nearest():
    version = dataset_import("mine", lines("sentence-01"), "mine.jsonl")

    assert instance_of_version(version, "sentence-01").problem == "Problem sentence-01"
    with pytest.raises(UnknownDataset, match=r"mine@1 has no instance 'sentence-1'. Did you mean 'sentence-01'"):
        instance_of_version(version, "sentence-1")


def test_ten_thousand_instances_are_imported_in_few_queries(django_assert_max_num_queries):
    data = lines(*(str(number) for number in range(10_000)))
    start = time.perf_counter()

    with django_assert_max_num_queries(200):
        version = dataset_import("large", data, "large.jsonl")

    assert version.count == version.instances.count() == 10_000
    assert time.perf_counter() - start < 30  # about 1 s when the machine is quiet


def test_title_and_description_change_only_where_new_ones_are_given():
    services.dataset_import("mine", lines("a"), "mine.jsonl", "Old", description="What it is")

    services.dataset_import("mine", lines("b"), "mine.jsonl", "New")

    dataset = Dataset.objects.get()
    assert (dataset.title, dataset.description) == ("New", "What it is")
