from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from tests.experiments.rows import make_experiment, make_run
from workbench.experiments import lifecycle
from workbench.experiments.models import Experiment, Run

LONG_AGO = timedelta(minutes=5)


def go_silent(**filters) -> None:
    Run.objects.filter(**filters).update(heartbeat_at=timezone.now() - LONG_AGO)


@pytest.mark.django_db(transaction=True)
def test_two_who_claim_one_run_are_one_too_many():
    experiment = make_experiment(runs=1)
    run_id = experiment.runs.get().pk
    barrier, got = threading.Barrier(8), []

    def claim(name: str) -> None:
        barrier.wait()
        got.append(lifecycle.run_claim(run_id, name))
        connection.close()

    threads = [threading.Thread(target=claim, args=(f"worker {number}",)) for number in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]

    (won,) = [run for run in got if run is not None]
    run = Run.objects.get(pk=run_id)
    assert (run.status, run.attempt, run.owner) == ("running", 1, won.owner)
    assert run.started_at is not None


@pytest.mark.django_db
class TestSweep:
    def test_a_run_whose_worker_went_away_is_queued_again_and_says_why(self):
        experiment = make_experiment(runs=1)
        run = lifecycle.run_claim(experiment.runs.get().pk, "dead")
        go_silent(pk=run.pk)

        assert lifecycle.runs_sweep().requeued == [run.pk]

        run.refresh_from_db()
        assert (run.status, run.owner) == ("queued", "")
        assert "went away" in run.reason
        again = lifecycle.run_claim(run.pk, "alive")
        assert again.attempt == 2
        assert again.reason == ""

    def test_a_run_with_a_heartbeat_is_left_alone(self):
        experiment = make_experiment(runs=1)
        run = lifecycle.run_claim(experiment.runs.get().pk, "alive")

        assert lifecycle.runs_sweep().requeued == []

        run.refresh_from_db()
        assert run.status == "running"

    def test_a_stopping_run_whose_worker_went_away_is_stopped(self):
        experiment = make_experiment(
            runs=1, status="stopping", run={"status": "stopping", "owner": "dead", "attempt": 1}
        )
        go_silent(experiment=experiment)

        lifecycle.runs_sweep()

        assert experiment.runs.get().status == "stopped"

    def test_a_lost_run_of_the_command_line_stays_lost_and_is_over(self):
        run = make_run()
        go_silent(pk=run.pk)

        assert lifecycle.runs_sweep().requeued == []

        run.refresh_from_db()
        assert run.status == "lost"
        assert run.has_ended

    def test_a_run_of_a_command_that_an_answer_has_brought_into_the_queue_goes_back_there(self):
        run, played = make_run(attempt=2), make_run(attempt=2, scripted=True)
        go_silent(pk__in=(run.pk, played.pk))

        assert lifecycle.runs_sweep().requeued == [run.pk]

        played.refresh_from_db()
        assert played.has_ended

    def test_a_run_that_kills_every_worker_fails_in_the_end(self):
        experiment = make_experiment(runs=1, run={"status": "running", "owner": "dead", "losses": 9})
        go_silent(experiment=experiment)

        assert lifecycle.runs_sweep().requeued == []

        run = experiment.runs.get()
        assert run.status == "failed"
        assert "10 workers" in run.reason


@pytest.mark.django_db
class TestEnds:
    def test_an_end_that_comes_too_late_changes_nothing(self):
        run = make_run()
        stale = Run.objects.get(pk=run.pk)
        Run.objects.filter(pk=run.pk).update(attempt=2, owner="another")

        assert not lifecycle.run_end(stale, status="failed", reason="Too late.")

        run.refresh_from_db()
        assert run.status == "running"

    def test_an_experiment_ends_once_and_only_when_no_run_is_open(self):
        experiment = make_experiment(runs=2)
        first, last = experiment.runs.all()
        Run.objects.filter(pk=first.pk).update(status="succeeded")
        assert lifecycle.experiment_settle(experiment.pk) is None

        Run.objects.filter(pk=last.pk).update(status="failed")
        answers = [lifecycle.experiment_settle(experiment.pk) for _ in range(3)]

        assert [answer.changed for answer in answers] == [True, False, False]
        experiment.refresh_from_db()
        assert experiment.status == Experiment.Status.FINISHED
        assert experiment.ended_at is not None

    def test_a_released_run_is_queued_again_unless_it_was_asked_to_stop(self):
        run, stopping = make_run(), make_run(status="stopping")

        assert lifecycle.run_release(run)
        assert not lifecycle.run_release(stopping)

        run.refresh_from_db()
        stopping.refresh_from_db()
        assert (run.status, run.owner) == ("queued", "")
        assert stopping.status == "stopped"


@pytest.mark.django_db
def test_a_heartbeat_tells_which_runs_are_to_stop():
    going, stopping, foreign = make_run(), make_run(status="stopping"), make_run(owner="another")
    go_silent()

    told = lifecycle.runs_beat("here", [going.pk, stopping.pk, foreign.pk])

    assert told == {stopping.pk}
    fresh = Run.objects.filter(heartbeat_at__gt=timezone.now() - timedelta(seconds=5))
    assert set(fresh.values_list("pk", flat=True)) == {going.pk, stopping.pk}


@pytest.mark.django_db
def test_queued_runs_without_a_ticket_are_found_by_experiment():
    old, fresh = make_experiment(runs=3), make_experiment(runs=1)
    old.runs.update(queued_at=timezone.now() - LONG_AGO)

    assert lifecycle.runs_waiting_long() == {old.pk: old.runs.first().pk}
    assert fresh.pk not in lifecycle.runs_waiting_long()
