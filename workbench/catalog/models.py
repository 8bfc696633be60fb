"""Agents: each a chain of immutable versions. The newest version is what `agent: name` means, `name@3` pins one. And how
providers have answered over time."""

from __future__ import annotations

from django.db import models
from django.urls import reverse


class Agent(models.Model):
    """An entry of the catalogue."""

    name = models.SlugField(max_length=100, unique=True)
    role = models.CharField(max_length=100, db_index=True)
    ships = models.BooleanField(default=False, help_text="It came with the workbench and was never edited here.")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["role", "name"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("agent_detail", args=[self.name])


class AgentVersion(models.Model):
    """What an agent said at one time; never changed. `spec` is `workbench.agent/1`."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    spec = models.JSONField()
    hash = models.CharField(max_length=64)
    message = models.CharField(max_length=500, blank=True)
    author = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["agent", "number"], name="agent_version_once")]

    def __str__(self) -> str:
        return f"{self.agent.name}@{self.number}"


class ProviderState(models.Model):
    """How a provider answered from one time that it was asked until another; a new row whenever that changes."""

    provider = models.CharField(max_length=60)
    answers = models.BooleanField()
    message = models.TextField(blank=True)
    began_at = models.DateTimeField()
    seen_at = models.DateTimeField()

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["provider", "began_at"])]

    def __str__(self) -> str:
        return f"{self.provider} {'answers' if self.answers else 'away'} since {self.began_at:%F %T}"
