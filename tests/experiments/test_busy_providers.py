"""Limits of providers in a whole workbench: real workers, a real Redis, and a model server that has too much to do."""

from __future__ import annotations

import json
import time

from tests.experiments.test_worker import some
from tests.experiments.workbenches import chain
from tests.fake_models import Raw, Says, fake_models  # noqa: F401

CALLS = "SELECT data FROM experiments_runevent WHERE kind = 'model_called'"


def calls(bench) -> list[dict]:
    return [json.loads(data) if isinstance(data, str) else data for (data,) in bench.rows(CALLS)]


def most_at_once(made: list[dict]) -> int:
    """How many calls were under way together, but for those that only met: `at` is when the event was made, a moment
    after the end."""
    begun = [(call["at"] - call["seconds"] + 0.1, 1) for call in made]
    marks = sorted(begun + [(call["at"] - 0.1, -1) for call in made])
    now = most = 0
    for _, step in marks:
        now += step
        most = max(most, now)
    return most


def test_two_workers_keep_to_one_limit_and_waiting_is_no_model_time(bench):
    bench.environ |= {"WORKBENCH_PROVIDER_LIMITS": "scripted=3", "WORKBENCH_RUNS_AT_ONCE": "3"}
    bench.worker()
    bench.worker()

    bench.start(**some(12, "slow"))  # enough for a worker that is up later
    bench.wait_for("SELECT COUNT(DISTINCT owner) FROM experiments_run WHERE status = 'running'", 2)
    bench.wait_for("SELECT status FROM experiments_experiment", "finished")

    made = calls(bench)
    assert len(made) == 60
    assert most_at_once(made) == 3
    assert sum(call["waited_seconds"] > 0.2 for call in made) > 5
    assert max(call["seconds"] for call in made) < 1


def test_a_killed_worker_leaves_its_share_to_the_other(bench):
    bench.environ["WORKBENCH_PROVIDER_LIMITS"] = "scripted=2"
    first = bench.worker()
    bench.start(**some(4, "slow"))
    bench.wait_for("SELECT COUNT(*) >= 2 FROM experiments_runevent WHERE kind = 'model_called'", 1)

    first.kill()
    first.wait(10)
    bench.worker()

    bench.wait_for("SELECT status FROM experiments_experiment", "finished")
    ended = bench.rows("SELECT DISTINCT status, reason FROM experiments_run")
    assert ended == [("succeeded", "")], bench.logs()


def test_a_server_that_says_429_fails_no_run_and_is_left_alone_as_long_as_it_asks(bench, fake_models):  # noqa: F811
    fake_models.default = Says("done", wait_headers=0.02)
    fake_models.replies.extend(
        Raw(status=429, body={"error": {"message": "Slow down."}}, headers={"Retry-After": "2"}) for _ in range(6)
    )
    bench.environ["OPENAI_COMPATIBLE_URL"] = fake_models.url
    bench.python(
        "from workbench.topologies.services import topology_save\n"
        f"topology_save('cloud', {json.dumps(chain('cloud', 'openai_compatible/tiny', 2))!r}, 'For the test', 'test')"
    )
    bench.worker()
    bench.worker()

    bench.start(**some(12, "cloud"))
    bench.wait_for("SELECT status FROM experiments_experiment", "finished")

    assert bench.rows("SELECT status, COUNT(*) FROM experiments_run GROUP BY status") == [("succeeded", 12)]
    made = calls(bench)
    refused = [call for call in made if call["status"] == "rate_limited"]
    assert len(refused) == 6
    first = min(call["at"] for call in refused)
    begun = [call["at"] - call["seconds"] for call in made if call["status"] == "ok"]
    assert not [at for at in begun if first + 0.7 < at < first + 1.9], "somebody called while it asked to be left alone"


def test_a_run_that_waits_for_its_turn_is_stopped_at_once(bench):
    bench.environ["WORKBENCH_PROVIDER_LIMITS"] = "scripted=1"
    bench.worker()
    number = bench.start(**some(3, "endless"))
    bench.wait_for("SELECT COUNT(*) FROM experiments_run WHERE status = 'running'", 3)
    asked = time.time()

    bench.python(
        "from workbench.experiments.models import Experiment\n"
        "from workbench.experiments.services import experiment_stop\n"
        f"experiment_stop(Experiment.objects.get(pk={number}))\n"
    )
    bench.wait_for("SELECT status FROM experiments_experiment", "stopped", 10)

    assert time.time() - asked < 6
    assert bench.rows("SELECT status, COUNT(*) FROM experiments_run GROUP BY status") == [("stopped", 3)]
    assert bench.rows("SELECT SUM(model_calls - unknown_usage_calls) FROM experiments_run") == [(0,)]


def test_time_in_the_queue_counts_against_the_limit_of_seconds(bench):
    bench.environ["WORKBENCH_PROVIDER_LIMITS"] = "scripted=1"
    bench.worker()

    bench.start(**some(2, "endless"), limits={"seconds": 2})
    bench.wait_for("SELECT status FROM experiments_experiment", "finished", 20)

    assert bench.rows("SELECT status, COUNT(*) FROM experiments_run GROUP BY status") == [("limit_reached", 2)]
