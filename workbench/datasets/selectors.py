"""Finding data sets, versions and instances."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from django.db.models import OuterRef, Q, QuerySet, Subquery

from workbench.datasets.models import Dataset, DatasetVersion, Instance
from workbench.engine.errors import WorkbenchError
from workbench.engine.plugins import nearest


class DatasetRow(NamedTuple):
    """A data set as a list shows it; None where it has no version yet."""

    name: str
    title: str
    ships: bool
    number: int | None
    instances: int | None
    added_at: datetime | None


class UnknownDataset(WorkbenchError):
    """A data set, a version or an instance that is not there; the sentence lists what is."""

    code = "unknown_dataset"


def dataset_version(reference: str) -> DatasetVersion:
    """The version that `name@number` names; `name` alone is the newest. Raises `UnknownDataset`."""
    name, at, number = reference.strip().partition("@")
    versions = list(DatasetVersion.objects.select_related("dataset").filter(dataset__name=name))
    if not versions:
        raise UnknownDataset(no_dataset(name))
    if not at:
        return versions[0]
    for version in versions:
        if number == str(version.number):
            return version
    known = ", ".join(str(version) for version in reversed(versions))
    raise UnknownDataset(f"{name} has no version {number!r}. There is {known}.")


def no_dataset(name: str) -> str:
    """That there is no such data set, and which there are."""
    names = list(Dataset.objects.filter(versions__isnull=False).distinct().values_list("name", flat=True))
    known = f" There is {', '.join(names[:20])}{' …' if len(names) > 20 else ''}." if names else " There is none yet."
    return f"There is no data set {name!r}.{nearest(name, names)}{known}"


def instance_of_version(version: DatasetVersion, key: str) -> Instance:
    """The instance with that id. Raises `UnknownDataset`."""
    instance = version.instances.filter(key=key).first()
    if instance is None:
        keys = list(version.instances.values_list("key", flat=True)[:5000])
        raise UnknownDataset(f"{version} has no instance {key!r}.{nearest(key, keys)}")
    return instance


def datasets_listed() -> list[DatasetRow]:
    """Every data set with its newest version's number, size and date, in one query."""
    newest = DatasetVersion.objects.filter(dataset=OuterRef("pk")).order_by("-number")
    columns = [Subquery(newest.values(column)[:1]) for column in ("number", "count", "created_at")]
    return [DatasetRow(*row) for row in Dataset.objects.values_list("name", "title", "ships", *columns)]


def splits_of(version: DatasetVersion) -> list[str]:
    """The names of the version's splits, in order."""
    found = version.instances.exclude(split="").order_by("split").values_list("split", flat=True).distinct()
    return list(found)


def instances_found(version: DatasetVersion, *, words: str = "", split: str = "") -> QuerySet[Instance]:
    """The version's instances whose id or problem holds the words, without what a list does not show."""
    instances = version.instances.defer("files", "metadata")
    if split:
        instances = instances.filter(split=split)
    if words:
        instances = instances.filter(Q(key__icontains=words) | Q(problem__icontains=words))
    return instances


def neighbours(instance: Instance) -> tuple[Instance | None, Instance | None]:
    """The instances before and after it in its version."""
    others = Instance.objects.filter(version_id=instance.version_id).only("key", "position", "version_id")
    before = others.filter(position__lt=instance.position).order_by("-position").first()
    return before, others.filter(position__gt=instance.position).first()
