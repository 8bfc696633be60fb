"""Adding data sets and versions. A version is never changed; new content makes a new version."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import NamedTuple

from django.db import transaction

from workbench.datasets.models import Dataset, DatasetVersion, Instance
from workbench.datasets.reading import InstanceData, instances_hash, instances_read
from workbench.datasets.selectors import UnknownDataset, dataset_version
from workbench.engine.errors import InvalidDocument, Problem

__all__ = [
    "Added",
    "UnknownDataset",
    "dataset_import",
    "dataset_name",
    "dataset_version",
    "starters_load",
    "version_add",
    "version_same",
]

STARTERS = Path(__file__).parent / "starters"
BATCH = 1000


class Added(NamedTuple):
    """The version that holds the content, and whether it is new; the same content as the newest is not added again."""

    version: DatasetVersion
    created: bool


def dataset_import(
    name: str, data: bytes, filename: str, title: str = "", *, description: str = "", author: str = ""
) -> DatasetVersion:
    """Import a `.jsonl` or `.csv` file, all or nothing; the same content as the newest version gives that version.

    Raises `InvalidDocument` with every bad line.
    """
    instances = instances_read(data, filename)
    return version_add(
        name, instances, title=title, description=description, source=PurePath(filename).name, author=author
    ).version


def version_add(
    name: str,
    instances: Sequence[InstanceData],
    *,
    title: str = "",
    description: str = "",
    source: str = "",
    author: str = "",
    ships: bool = False,
) -> Added:
    """Add the instances as the next version of the data set, which is made if it is not there.

    Title and description are changed where new ones are given.
    """
    dataset_name(name)
    content = instances_hash(instances)
    with transaction.atomic():
        made = {"title": title, "description": description, "ships": ships}
        dataset, is_new = Dataset.objects.get_or_create(name=name, defaults=made)
        # The lock makes two imports at once come one after the other: versions count without gaps.
        dataset = Dataset.objects.select_for_update().get(pk=dataset.pk)
        if not is_new and (title or description):
            dataset.title, dataset.description = title or dataset.title, description or dataset.description
            dataset.save(update_fields=["title", "description"])
        newest = dataset.versions.first()
        if newest is not None and newest.hash == content:
            return Added(newest, False)
        version = dataset.versions.create(
            number=newest.number + 1 if newest else 1,
            hash=content,
            count=len(instances),
            source=source[:300],
            author=author,
        )
        rows = (instance_row(version, position, instance) for position, instance in enumerate(instances))
        Instance.objects.bulk_create(rows, batch_size=BATCH)
    return Added(version, True)


def version_same(name: str, instances: Sequence[InstanceData]) -> DatasetVersion | None:
    """The newest version of that name if it holds exactly these instances."""
    newest = DatasetVersion.objects.filter(dataset__name=name).select_related("dataset").first()
    return newest if newest is not None and newest.hash == instances_hash(instances) else None


def dataset_name(name: str) -> str:
    """The name, if a data set may have it. Raises `InvalidDocument`."""
    if name == "import" or not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,99}", name):
        message = f"{name!r} can't be the name of a data set." if name else "The data set needs a name."
        hint = "Use up to 100 letters, digits, - and _, such as fix-mini."
        raise InvalidDocument([Problem("error", "name", "/name", message, hint)])
    return name


def starters_load() -> None:
    """Add the data sets that ship and are not there yet. What is there is left alone, whatever became of it."""
    present = set(Dataset.objects.values_list("name", flat=True))
    for path in sorted(STARTERS.glob("*.jsonl")):
        if path.stem in present:
            continue
        about = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        version_add(
            path.stem,
            instances_read(path.read_bytes(), path.name),
            title=about["title"],
            description=about["description"],
            source="Ships with the workbench",
            ships=True,
        )


def instance_row(version: DatasetVersion, position: int, instance: InstanceData) -> Instance:
    """The instance as a row that is not saved yet."""
    return Instance(
        version=version,
        position=position,
        key=instance.id,
        problem=instance.problem,
        files=instance.files,
        references=instance.references,
        metadata=instance.metadata,
        split=instance.split,
    )
