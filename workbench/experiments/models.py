"""Experiments, their configurations, runs and events. The row of a run is the truth, a Celery task is its ticket."""

from __future__ import annotations

from django.db import models
from django.urls import reverse
from django.utils import timezone


class Plan(models.Model):
    """A run plan, kept once by its hash: all that is needed to repeat a run (`workbench.plan/1`)."""

    hash = models.CharField(max_length=64, unique=True)
    data = models.JSONField()
    topology = models.CharField(max_length=100)
    commit = models.CharField(max_length=40, blank=True)
    blob = models.CharField(max_length=40, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.topology} {self.hash[:8]}"


class Experiment(models.Model):
    """Configurations × instances × repetitions under one question; frozen at its start."""

    class Status(models.TextChoices):
        DRAFT = "draft"
        RUNNING = "running"
        STOPPING = "stopping"
        STOPPED = "stopped"
        FINISHED = "finished"

    name = models.CharField(max_length=200)
    question = models.TextField(blank=True)
    dataset_version = models.ForeignKey("datasets.DatasetVersion", on_delete=models.PROTECT, related_name="experiments")
    instance_keys = models.JSONField(null=True, blank=True, help_text="The chosen instances; null is all of them.")
    repetitions = models.PositiveIntegerField(default=1)
    limits = models.JSONField(default=dict, blank=True, help_text="Override the topologies' own limits, key by key.")
    evaluators = models.JSONField(default=list, blank=True, help_text='[{"name", "options"}], run when all runs ended.')
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.DRAFT, db_index=True)
    ships = models.BooleanField(default=False)
    forked_from = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="forks", help_text="Its runs are forks."
    )
    fork = models.JSONField(default=dict, blank=True, help_text='{"node", "visit", "change"}, of a forked experiment.')
    author = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    warming_at = models.DateTimeField(null=True, blank=True, help_text="Its models were still being loaded then.")

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("experiment_detail", args=[self.pk])


class Configuration(models.Model):
    """A topology version plus overrides (`model`, `params`, `vars`). Its plan is made when the experiment starts."""

    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="configurations")
    position = models.PositiveIntegerField()
    label = models.CharField(max_length=200)
    topology = models.CharField(max_length=100)
    commit = models.CharField(max_length=40, blank=True, help_text="Empty until the start: the newest then.")
    overrides = models.JSONField(default=dict, blank=True)
    plan = models.ForeignKey(Plan, null=True, blank=True, on_delete=models.PROTECT, related_name="configurations")

    class Meta:
        ordering = ["position"]
        constraints = [models.UniqueConstraint(fields=["experiment", "position"], name="configuration_once")]

    def __str__(self) -> str:
        return self.label


class Run(models.Model):
    """One execution of one plan on one instance (one repetition), or, outside experiments, on a typed input."""

    class Status(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        WAITING = "waiting"
        STOPPING = "stopping"
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        LIMIT_REACHED = "limit_reached", "limit reached"
        INCOMPLETE = "incomplete"
        STOPPED = "stopped"
        LOST = "lost"

    ENDED = (Status.SUCCEEDED, Status.FAILED, Status.LIMIT_REACHED, Status.INCOMPLETE, Status.STOPPED)
    OPEN = (Status.QUEUED, Status.RUNNING, Status.WAITING, Status.STOPPING, Status.LOST)
    HELD = (Status.RUNNING, Status.STOPPING)

    experiment = models.ForeignKey(Experiment, null=True, blank=True, on_delete=models.CASCADE, related_name="runs")
    configuration = models.ForeignKey(
        Configuration, null=True, blank=True, on_delete=models.CASCADE, related_name="runs"
    )
    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="runs")
    instance = models.ForeignKey(
        "datasets.Instance", null=True, blank=True, on_delete=models.PROTECT, related_name="runs"
    )
    input = models.TextField(blank=True, help_text="What was typed, for a run without an instance.")
    parent = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="forks",
        help_text="What it is a fork of.",
    )
    fork_node = models.CharField(max_length=500, blank=True, help_text="Where it left its parent.")
    fork_visit = models.PositiveIntegerField(default=0)
    fork = models.JSONField(default=dict, blank=True, help_text="What was changed there.")
    pruned_at = models.DateTimeField(null=True, blank=True, help_text="Since then its journal holds no bodies.")
    scripted = models.BooleanField(default=False, help_text="Played from a script: no worker could go on with it.")
    repetition = models.PositiveIntegerField(default=1)
    status = models.CharField(max_length=15, choices=Status.choices, default=Status.QUEUED)
    reason = models.TextField(blank=True)
    code = models.CharField(max_length=60, blank=True, help_text="Kind of the failure, for the table.")

    attempt = models.PositiveIntegerField(default=0, help_text="Fences every write: a stalled worker can't write.")
    owner = models.CharField(max_length=120, blank=True, help_text="Unique per start of a worker process.")
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    losses = models.PositiveIntegerField(default=0, help_text="How many workers went away while they held it.")
    queued_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    output = models.TextField(null=True, blank=True, help_text="The prediction. Null: there is none.")  # noqa: DJ001
    outputs = models.JSONField(default=dict, blank=True)
    partial = models.BooleanField(default=False, help_text="The prediction was cut short: not scored unless asked for.")

    visits = models.PositiveIntegerField(default=0)
    model_calls = models.PositiveIntegerField(default=0)
    tool_calls = models.PositiveIntegerField(default=0)
    input_tokens = models.PositiveBigIntegerField(null=True, blank=True, help_text="Null: no call told.")
    output_tokens = models.PositiveBigIntegerField(null=True, blank=True)
    unknown_usage_calls = models.PositiveIntegerField(default=0)
    cost_usd = models.DecimalField(null=True, blank=True, max_digits=18, decimal_places=9, help_text="Of priced calls.")
    unpriced_calls = models.PositiveIntegerField(default=0)
    model_seconds = models.FloatField(default=0)
    seconds = models.FloatField(default=0, help_text="Working time, over all attempts.")
    truncated_calls = models.PositiveIntegerField(default=0, help_text="Whose prompt the server seems to have cut.")
    compute_seconds = models.FloatField(null=True, blank=True, help_text="Null: no server told.")
    machine_usd = models.DecimalField(
        null=True, blank=True, max_digits=18, decimal_places=9, help_text="An estimate, beside the cost."
    )
    machine_wh = models.FloatField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["configuration", "instance", "repetition"], name="run_once"),
        ]
        indexes = [
            models.Index(fields=["experiment", "status"]),
            models.Index(fields=["status", "heartbeat_at"]),
        ]

    def __str__(self) -> str:
        return f"run {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("run_detail", args=[self.pk])

    @property
    def seconds_now(self) -> float:
        """Working time until now: a running row's own is as old as its last event."""
        if self.status in self.HELD and self.attempt == 1 and self.started_at is not None:
            return max(self.seconds, (timezone.now() - self.started_at).total_seconds())
        return self.seconds

    @property
    def has_ended(self) -> bool:
        """Whether nothing will happen in it any more. A lost run of the command line has no queue to go back to."""
        return self.status in self.ENDED or (self.status == self.Status.LOST and not self.goes_back)

    @property
    def goes_back(self) -> bool:
        """Whether workers go on with it when its own went away: `lifecycle.GOES_BACK` for one row."""
        queued_before = self.parent_id is not None or self.attempt > 1
        return self.experiment_id is not None or (queued_before and not self.scripted)


class RunEvent(models.Model):
    """One thing that happened in a run; append-only. `data` is the event as JSON text in ASCII (`workbench.event/1`),
    so that any database keeps every character; large parts of it are in `Payload`, see `payloads.py`. The columns before
    it repeat what pages add up: nothing is parsed. `attempt` 0 is what a fork has from its parent.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="events")
    sequence = models.PositiveIntegerField()
    attempt = models.PositiveIntegerField()
    kind = models.CharField(max_length=20)
    node = models.CharField(max_length=500, blank=True)
    visit = models.PositiveIntegerField(default=0)
    at = models.FloatField(help_text="Seconds since the epoch.")
    status = models.CharField(max_length=60, blank=True, help_text="Of calls and ended visits.")
    fired = models.TextField(blank=True, help_text="Of an ended visit: the edges that fired, `0,3`.")
    seconds = models.FloatField(null=True, blank=True)
    input_tokens = models.PositiveBigIntegerField(null=True, blank=True)
    output_tokens = models.PositiveBigIntegerField(null=True, blank=True)
    waited = models.FloatField(null=True, blank=True, help_text="Of a model call: seconds until it had its turn.")
    data = models.TextField()

    class Meta:
        ordering = ["sequence"]
        constraints = [models.UniqueConstraint(fields=["run", "sequence"], name="event_once")]
        indexes = [models.Index(fields=["run", "kind", "sequence"])]

    def __str__(self) -> str:
        return f"{self.sequence} {self.kind}"


class Payload(models.Model):
    """A large part of events, kept once by its content (SHA-256 of its JSON), compressed."""

    sha256 = models.CharField(max_length=64, primary_key=True)
    data = models.BinaryField()
    size = models.PositiveIntegerField(help_text="Bytes, before it was compressed.")

    def __str__(self) -> str:
        return self.sha256


class PayloadUse(models.Model):
    """A run whose events, or whose payloads, refer to a payload: it is kept as long as there is one."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="payload_uses")
    payload = models.ForeignKey(Payload, on_delete=models.PROTECT, related_name="uses")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "payload"], name="payload_use_once")]

    def __str__(self) -> str:
        return f"{self.payload_id[:8]} of run {self.run_id}"


class Question(models.Model):
    """What a run asks a person. It is open until somebody answers it, its time is up, or its run ends; the run's journal
    holds the same as `asked` and `answered`."""

    class Status(models.TextChoices):
        OPEN = "open"
        ANSWERED = "answered"
        TIMED_OUT = "timed_out", "time was up"

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="questions")
    key = models.CharField(max_length=40, help_text="Its name in the journal.")
    node = models.CharField(max_length=500)
    visit = models.PositiveIntegerField()
    unit = models.PositiveIntegerField(null=True, blank=True, help_text="Of a map, from 0.")
    asker = models.CharField(max_length=40, help_text="The node type or the tool that asks.")
    text = models.TextField()
    told = models.TextField(blank=True, help_text="What its node was told.")
    choices = models.JSONField(default=list, blank=True)
    free = models.BooleanField(default=True, help_text="Something else than a choice may be said.")
    default = models.TextField(null=True, blank=True, help_text="What is taken when the time is up.")  # noqa: DJ001
    asked_at = models.DateTimeField()
    deadline = models.DateTimeField(null=True, blank=True)

    status = models.CharField(max_length=10, choices=Status.choices, default=Status.OPEN)
    choice = models.TextField(null=True, blank=True)  # noqa: DJ001
    answer = models.TextField(blank=True)
    files = models.JSONField(default=list, blank=True, help_text='[{"name", "size", "sha256"}]')
    answered_by = models.CharField(max_length=200, blank=True)
    answered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["run", "key"], name="question_once")]
        indexes = [models.Index(fields=["status", "deadline"])]

    def __str__(self) -> str:
        return f"question {self.pk} of run {self.run_id}"

    def get_absolute_url(self) -> str:
        return reverse("question_detail", args=[self.pk])


class Upload(models.Model):
    """A file that came with an answer, kept once by its content: a fork of the run may need it again."""

    sha256 = models.CharField(max_length=64, unique=True)
    data = models.BinaryField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.sha256
