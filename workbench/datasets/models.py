"""Sets of problems. A dataset has immutable versions; an instance belongs to one version."""

from __future__ import annotations

from django.db import models
from django.urls import reverse


class Dataset(models.Model):
    """A set of problems under one name."""

    name = models.SlugField(max_length=100, unique=True)
    title = models.CharField(max_length=200, blank=True)
    description = models.TextField(blank=True)
    ships = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("dataset_detail", args=[self.name])


class DatasetVersion(models.Model):
    """One state of a dataset, never changed; written `name@number`. `hash` is over its instances."""

    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    hash = models.CharField(max_length=64)
    count = models.PositiveIntegerField()
    source = models.CharField(max_length=300, blank=True, help_text="The file it came from, in words.")
    author = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["dataset", "number"], name="dataset_version_once")]

    def __str__(self) -> str:
        return f"{self.dataset.name}@{self.number}"


class Instance(models.Model):
    """One problem. `references` are the accepted answers, hidden from agents; `files`: path → text."""

    version = models.ForeignKey(DatasetVersion, on_delete=models.PROTECT, related_name="instances")
    position = models.PositiveIntegerField()
    key = models.CharField(max_length=200, help_text="The instance's id, unique in its version.")
    problem = models.TextField()
    files = models.JSONField(default=dict, blank=True)
    references = models.JSONField(default=list, blank=True)
    metadata = models.JSONField(default=dict, blank=True)
    split = models.CharField(max_length=50, blank=True)

    class Meta:
        ordering = ["position"]
        constraints = [models.UniqueConstraint(fields=["version", "key"], name="instance_key_once")]

    def __str__(self) -> str:
        return self.key
