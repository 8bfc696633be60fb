from __future__ import annotations

import json
import re
import signal
import time
from pathlib import Path

import pytest

ENDED = "SELECT COUNT(*) FROM experiments_run WHERE status = 'succeeded'"


def some(number: int, topology: str) -> dict:
    """An experiment of one topology on the first so many instances."""
    keys = [f"i{place:03}" for place in range(number)]
    return {"dataset": "twenty", "instances": keys, "configurations": [{"topology": topology}]}


def calls_by_run(bench) -> dict[int, list[tuple]]:
    found: dict[int, list[tuple]] = {}
    for run, node, visit in bench.rows(
        "SELECT run_id, node, visit FROM experiments_runevent WHERE kind = 'model_called'"
    ):
        found.setdefault(run, []).append((node, visit))
    return found


def test_an_experiment_runs_is_judged_and_ends_once(bench):
    bench.worker()
    bench.worker("evaluations", "prefork")
    asked = some(4, "quick")
    asked["configurations"] += [{"topology": "quick", "label": "again"}]
    file = bench.experiment_file(**asked, evaluators=[{"name": "exact_match"}])

    command = bench.cli("experiment", "run", str(file), "--json")
    out, err = command.communicate(timeout=90)

    assert command.returncode == 0, out + err + bench.logs()
    report = json.loads(out)
    assert report["status"] == "finished"
    assert report["runs"] == {"succeeded": 8}
    (judged,) = report["evaluations"]
    assert [(row["configuration"], row["value"]) for row in judged["rows"]] == [("quick", 1.0), ("again", 1.0)]
    assert bench.rows("SELECT SUM(model_calls), MIN(output), MAX(attempt) FROM experiments_run") == [(40, "done", 1)]


def test_a_killed_worker_loses_nothing_and_repeats_no_call_that_was_answered(bench):
    first = bench.worker()
    bench.start(**some(20, "slow"))
    answered = "SELECT COUNT(*) >= 30 FROM experiments_runevent WHERE kind = 'model_called'"
    bench.wait_for(answered, 1)

    first.send_signal(signal.SIGKILL)
    first.wait(10)
    before = calls_by_run(bench)
    bench.worker()
    bench.wait_for("SELECT status FROM experiments_experiment", "finished")

    assert bench.rows(ENDED) == [(20,)]
    assert bench.rows("SELECT MIN(attempt), MAX(attempt) FROM experiments_run") == [(2, 2)]
    after = calls_by_run(bench)
    assert all(sorted(calls) == [(f"step{number}", 1) for number in range(1, 6)] for calls in after.values())
    assert all(after[run][: len(calls)] == calls for run, calls in before.items())
    assert bench.rows("SELECT MIN(model_calls), MAX(model_calls) FROM experiments_run") == [(5, 5)]
    assert bench.rows("SELECT COUNT(*) FROM experiments_runevent WHERE kind = 'run_ended'") == [(20,)]


def test_stop_cuts_calls_within_a_second_or_two_and_nothing_arrives_afterwards(bench):
    bench.environ["WORKBENCH_RUNS_AT_ONCE"] = "4"
    bench.worker()
    number = bench.start(**some(6, "endless"))
    bench.wait_for("SELECT COUNT(*) FROM experiments_run WHERE status = 'running'", 4)
    stop = (
        "import time\n"
        "from workbench.experiments.models import Experiment\n"
        "from workbench.experiments.services import experiment_stop\n"
        f"experiment, asked = Experiment.objects.get(pk={number}), time.monotonic()\n"
        "experiment_stop(experiment)\n"
        "while experiment.status != 'stopped' and time.monotonic() - asked < 10:\n"
        "    time.sleep(0.02)\n"
        "    experiment.refresh_from_db()\n"
        "print(time.monotonic() - asked)"
    )

    assert float(bench.python(stop)) < 2, bench.logs()
    assert bench.rows("SELECT status FROM experiments_experiment") == [("stopped",)]
    assert bench.rows("SELECT status, COUNT(*) FROM experiments_run GROUP BY status") == [("stopped", 6)]
    events = bench.rows("SELECT COUNT(*) FROM experiments_runevent")
    time.sleep(1)
    assert bench.rows("SELECT COUNT(*) FROM experiments_runevent") == events


def test_a_warm_shutdown_gives_runs_back_and_the_next_worker_goes_on(bench):
    bench.environ["WORKBENCH_RUN_DRAIN_S"] = "0.2"
    first = bench.worker()
    bench.start(**some(4, "slower"))
    bench.wait_for("SELECT COUNT(*) >= 4 FROM experiments_runevent WHERE kind = 'model_called'", 1)

    first.send_signal(signal.SIGTERM)
    first.wait(20)

    assert bench.rows("SELECT status, COUNT(*) FROM experiments_run GROUP BY status") == [("queued", 4)], bench.logs()
    bench.worker()
    bench.wait_for("SELECT status FROM experiments_experiment", "finished")
    assert bench.rows(ENDED) == [(4,)]
    told = "SELECT MIN(model_calls - unknown_usage_calls), MAX(model_calls - unknown_usage_calls) FROM experiments_run"
    assert bench.rows(told) == [(5, 5)]  # those that the shutdown cut off are counted besides
    assert bench.rows("SELECT SUM(unknown_usage_calls) >= 1 FROM experiments_run") == [(1,)]


def test_tickets_that_got_lost_are_sent_again(bench):
    bench.start(**some(3, "quick"))
    bench.python("from workbench.celery import app; print(app.control.purge())")

    bench.worker()

    bench.wait_for("SELECT status FROM experiments_experiment", "finished")
    assert bench.rows(ENDED) == [(3,)]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="The kernel tells no process's memory here.")
def test_two_hundred_runs_leave_a_worker_as_large_as_it_was_when_warm(bench):
    worker = bench.worker()
    sizes = []
    for repetitions in (2, 5, 5):
        bench.start(**some(20, "quick") | {"repetitions": repetitions})
        bench.wait_for("SELECT COUNT(*) FROM experiments_experiment WHERE status <> 'finished'", 0, seconds=120)
        sizes.append(resident_kb(worker.pid))

    assert bench.rows(ENDED) == [(240,)]
    assert sizes[2] <= 1.1 * sizes[0], sizes


def resident_kb(pid: int) -> int:
    return int(re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[1])
