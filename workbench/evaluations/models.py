"""Evaluations: one evaluator applied to the runs of an experiment, any number of times, beside the runs."""

from __future__ import annotations

from django.db import models
from django.urls import reverse


class Evaluation(models.Model):
    """One evaluator with its options and version over the ended runs of an experiment."""

    class Status(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        FINISHED = "finished"
        FAILED = "failed"

    experiment = models.ForeignKey("experiments.Experiment", on_delete=models.CASCADE, related_name="evaluations")
    evaluator = models.CharField(max_length=60)
    evaluator_version = models.CharField(max_length=60)
    options = models.JSONField(default=dict, blank=True)
    include_partial = models.BooleanField(default=False)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.QUEUED)
    reason = models.TextField(blank=True)
    metrics = models.JSONField(default=dict, blank=True, help_text="Configuration id → what the evaluator summarised.")
    owner = models.CharField(max_length=120, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    author = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.evaluator} of {self.experiment}"

    def get_absolute_url(self) -> str:
        return reverse("evaluation_detail", args=[self.pk])

    @property
    def is_open(self) -> bool:
        """Whether there is more to come."""
        return self.status in (self.Status.QUEUED, self.Status.RUNNING)


class RunScore(models.Model):
    """The verdict on one run's prediction; `value` null: not scored, and `details["reason"]` says why."""

    evaluation = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="scores")
    run = models.ForeignKey("experiments.Run", on_delete=models.CASCADE, related_name="scores")
    value = models.FloatField(null=True, blank=True)
    passed = models.BooleanField(null=True, blank=True)
    details = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["run_id"]
        constraints = [models.UniqueConstraint(fields=["evaluation", "run"], name="score_once")]

    def __str__(self) -> str:
        return f"{self.value} for {self.run}"
