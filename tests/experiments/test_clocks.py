"""A clock that is set by an hour, forwards or back, costs no run its worker and no run its time."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from tests.experiments.rows import make_experiment
from tests.experiments.test_resume import DOCUMENT, Calls, at_work, left_behind, queued_experiment
from workbench.experiments import lifecycle, sweeping
from workbench.experiments.clocks import Clock
from workbench.experiments.journal import event_read, event_text
from workbench.experiments.models import Run

HOUR = timedelta(hours=1)


class Hands:
    """A clock on the wall that a test sets, and the seconds that passed."""

    def __init__(self):
        self.wall, self.passed = 1e9, 100.0
        self.clock = Clock(lambda: self.wall, lambda: self.passed)

    def goes_on(self, seconds):
        self.wall += seconds
        self.passed += seconds


@pytest.mark.parametrize("hours", [1, -1])
def test_clock_that_is_set_is_seen_once(hours):
    hands = Hands()
    hands.goes_on(5)
    assert not hands.clock.was_set()

    hands.wall += hours * 3600

    assert hands.clock.was_set()
    hands.goes_on(5)
    assert not hands.clock.was_set()


@pytest.mark.django_db
def test_after_the_clock_was_set_forwards_every_worker_gets_its_time_to_say_that_it_lives(monkeypatch):
    hands = Hands()
    monkeypatch.setattr(sweeping, "clock", hands.clock)
    experiment = make_experiment(runs=1, run={"status": "running", "owner": "alive", "attempt": 1})
    Run.objects.update(heartbeat_at=timezone.now() - HOUR)  # what it said before looks an hour old
    hands.wall += 3600

    sweeping.sweep()
    assert experiment.runs.get().status == "running"

    lifecycle.runs_beat("alive", [experiment.runs.get().pk])
    hands.goes_on(5)
    sweeping.sweep()
    assert experiment.runs.get().status == "running"


@pytest.mark.django_db
@pytest.mark.parametrize(("ahead", "status"), [(HOUR, "queued"), (timedelta(minutes=1), "running")])
def test_worker_that_died_before_the_clock_was_set_back_is_missed(ahead, status):
    experiment = make_experiment(runs=1, run={"status": "running", "owner": "dead", "attempt": 1})
    Run.objects.update(heartbeat_at=timezone.now() + ahead)

    lifecycle.runs_sweep()

    assert experiment.runs.get().status == status


@pytest.mark.django_db(transaction=True)
def test_hour_that_only_the_clock_says_is_no_working_time(settings, tmp_path):
    settings.WORKSPACES = tmp_path / "workspaces"
    run, calls = queued_experiment({**DOCUMENT, "limits": {"seconds": 600}}, size=1).runs.get(), Calls()
    at_work(run, calls, 12)
    for row in run.events.filter(sequence__gt=6):
        event = event_read(row.data)
        row.data = event_text(event.model_copy(update={"at": event.at + 3600}))
        row.save()
    left_behind(run)

    at_work(run, calls)

    assert run.status == "succeeded", run.reason
    assert run.seconds < 600
