"""What the database knows of topologies. Their JSON lives in the Git repository (`store.py`), which is the truth."""

from __future__ import annotations

from django.db import models
from django.urls import reverse


class Topology(models.Model):
    """A topology of the repository, as of its newest commit; a row can be made again from the repository."""

    name = models.CharField(max_length=100, unique=True)
    description = models.TextField(blank=True)
    commit = models.CharField(max_length=40)
    blob = models.CharField(max_length=40)
    nodes = models.PositiveIntegerField(default=0)
    edges = models.PositiveIntegerField(default=0)
    errors = models.PositiveIntegerField(default=0)
    warnings = models.PositiveIntegerField(default=0)
    agents = models.JSONField(default=list, help_text="Names of the agents it uses.")
    ships = models.BooleanField(default=False, help_text="It came with the workbench and was never changed here.")
    changed_at = models.DateTimeField(null=True, blank=True, help_text="When it was last committed.")
    changed_by = models.CharField(max_length=200, blank=True)
    message = models.TextField(blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name"]
        verbose_name_plural = "topologies"

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("topology_detail", args=[self.name])
