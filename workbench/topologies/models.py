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
    tags = models.JSONField(default=list, help_text="What it shows, as its nodes and edges say: loop, router, map …")
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


class TopologyDraft(models.Model):
    """What somebody is changing in a topology and has not committed. One a person and topology; every change of it is a
    step, so that nothing typed is lost and everything can be undone."""

    name = models.CharField(max_length=100, help_text="The topology's name; it may be deleted meanwhile.")
    author = models.CharField(max_length=200)
    version = models.PositiveIntegerField(default=1, help_text="Counts every change; a change names the one it saw.")
    base_commit = models.CharField(max_length=40, blank=True, help_text="The commit that the draft began from.")
    base_blob = models.CharField(max_length=40, blank=True)
    base = models.BinaryField(help_text="What that commit holds, packed.")
    changed = models.BooleanField(default=False, help_text="It says something else than the commit it began from.")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-updated_at"]
        constraints = [models.UniqueConstraint(fields=["name", "author"], name="one_draft_a_person")]

    def __str__(self) -> str:
        return f"{self.name} by {self.author}"


class DraftStep(models.Model):
    """The draft at one version. `undone_to` and `redone_to` are the versions whose state undo and redo bring back."""

    draft = models.ForeignKey(TopologyDraft, on_delete=models.CASCADE, related_name="steps")
    version = models.PositiveIntegerField()
    state = models.BinaryField(help_text="Document, names of edges and unreadable text, packed.")
    label = models.CharField(max_length=200, blank=True, help_text="What was done, in words.")
    joins = models.CharField(max_length=300, blank=True, help_text="Typing on in the same place is one step.")
    undone_to = models.PositiveIntegerField(null=True, blank=True)
    redone_to = models.PositiveIntegerField(null=True, blank=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["draft", "version"]
        constraints = [models.UniqueConstraint(fields=["draft", "version"], name="one_step_a_version")]

    def __str__(self) -> str:
        return f"{self.draft} at {self.version}"
