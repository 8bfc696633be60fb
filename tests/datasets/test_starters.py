"""The data sets that ship are what their descriptions say."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from pathlib import Path

import pytest

from workbench.datasets import services
from workbench.datasets.models import Dataset, DatasetVersion
from workbench.datasets.reading import instances_read

NAMES = ["fix-mini", "labels-mini", "translation-mini"]


def shipped(name):
    path = services.STARTERS / f"{name}.jsonl"
    return instances_read(path.read_bytes(), path.name)


def compiles(line):
    """Whether the line is Python where such a line may stand."""
    body = f"{line}\n    pass" if line.endswith(":") else line
    if line.startswith(("else", "elif")):
        body = f"if x:\n    pass\n{body}"
    try:
        compile("def context():\n" + textwrap.indent(body, "    "), "line", "exec")
    except SyntaxError:
        return False
    return True


def test_there_are_three_each_with_title_and_description():
    assert sorted(path.stem for path in services.STARTERS.glob("*.jsonl")) == NAMES
    for name in NAMES:
        about = json.loads((services.STARTERS / f"{name}.json").read_text(encoding="utf-8"))
        assert about.keys() == {"title", "description"}
        assert str(len(shipped(name))) in about["description"]


def test_labels_mini_is_balanced_mixed_and_unambiguous_in_form():
    instances = shipped("labels-mini")
    labels = [instance.references[0] for instance in instances]

    assert len(instances) >= 40
    assert set(Counter(labels).values()) == {len(labels) // 3}
    assert all(instance.references == [label] for instance, label in zip(instances, labels, strict=True))
    assert all(instance.metadata["label_set"] == ["question", "request", "statement"] for instance in instances)
    assert all((instance.problem[-1] == "?") == (instance.references == ["question"]) for instance in instances)
    assert set(labels[:8]) == set(labels)
    assert all(len(set(labels[start : start + 4])) > 1 for start in range(len(labels) - 3))
    assert len({instance.problem for instance in instances}) == len(instances)


def test_fix_mini_lines_are_faulty_and_every_reference_compiles():
    instances = shipped("fix-mini")

    assert len(instances) >= 20
    for instance in instances:
        line, blank, context = instance.problem.split("\n")
        assert line == instance.metadata["faulty_line"]
        assert (blank, context[-1]) == ("", ".")
        assert not compiles(line), line
        assert instance.references
        assert line not in instance.references
        for reference in instance.references:
            assert compiles(reference), reference


def test_translation_mini_has_two_directions_of_equal_size_and_one_to_three_references():
    instances = shipped("translation-mini")

    assert len(instances) >= 20
    assert set(Counter(instance.split for instance in instances).values()) == {len(instances) // 2}
    for instance in instances:
        source, target = instance.metadata["source"], instance.metadata["target"]
        assert {source, target} == {"English", "French"}
        assert instance.split == f"{source[:2].lower()}-{target[:2].lower()}"
        assert 1 <= len(instance.references) <= 3
        assert len(set(instance.references)) == len(instance.references)


@pytest.mark.django_db
def test_loading_adds_what_is_missing_and_touches_nothing_else():
    services.starters_load()
    Dataset.objects.filter(name="labels-mini").update(title="Mine")
    services.dataset_import("labels-mini", b'{"id": "mine", "problem": "My own."}', "mine.jsonl")

    services.starters_load()

    assert list(Dataset.objects.values_list("name", flat=True)) == NAMES
    assert Dataset.objects.get(name="labels-mini").title == "Mine"
    assert services.dataset_version("labels-mini").count == 1
    assert DatasetVersion.objects.count() == 4
    assert Dataset.objects.get(name="fix-mini").ships


def test_files_can_be_read_by_eye():
    text = (services.STARTERS / "translation-mini.jsonl").read_text(encoding="utf-8")

    assert "Où sont mes clés" in text
    assert Path(services.STARTERS / "translation-mini.jsonl").read_bytes().endswith(b"\n")
