"""What the database knows of topologies. Their JSON lives in the Git repository (`store.py`), which is the truth."""

from __future__ import annotations

from django.db import models
from django.urls import reverse


class Topology(models.Model):
    """A topology of the repository, as of its newest commit; a row can be made again from the repository at any time."""

    name = models.CharField(max_length=100, unique=True)
    description = models.TextField(blank=True)
    commit = models.CharField(max_length=40)
    blob = models.CharField(max_length=40)
    nodes = models.PositiveIntegerField(default=0)
    edges = models.PositiveIntegerField(default=0)
    errors = models.PositiveIntegerField(default=0)
    agents = models.JSONField(default=list, help_text="Names of the agents it uses.")
    ships = models.BooleanField(default=False)
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
