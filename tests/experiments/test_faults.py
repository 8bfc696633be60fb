"""What happens to an experiment when something under it breaks: real workers, real servers, real signals.

Always the same promise: each run ends once, and no call that was answered and written down is made again.
"""

from __future__ import annotations

import json
import resource
import signal
import sqlite3
import sys
import time
from collections import Counter
from contextlib import closing
from random import Random
from string import ascii_letters

import pytest

from tests import servers
from tests.experiments.workbenches import Workbench, chain, fill, running_workbench
from tests.supervised import Up, processes_of

STEPS = [f"step{number}" for number in range(1, 6)]
STATUSES = "SELECT status, COUNT(*) FROM experiments_run GROUP BY status"
CALLS = "SELECT run_id, node, visit FROM experiments_runevent WHERE kind = 'model_called' AND status = 'ok'"
EXPERIMENT = "SELECT status FROM experiments_experiment"


@pytest.fixture
def postgres():
    if not servers.program("initdb"):
        pytest.skip("There is no PostgreSQL here. On Debian: apt install postgresql")
    with servers.PostgreSQL() as postgres:
        yield postgres


def start(bench, topology, runs):
    """An experiment of so many runs: ten instances, or fewer."""
    instances = next(number for number in (10, 7, 5, 4, 3, 2) if runs % number == 0)
    return bench.start(
        dataset="twenty",
        instances=[f"i{place:03}" for place in range(instances)],
        configurations=[{"topology": topology}],
        repetitions=runs // instances,
    )


def calls_answered(bench, number):
    bench.wait_for(f"SELECT COUNT(*) >= {number} FROM experiments_runevent WHERE kind = 'model_called'", 1)


def every_run_ended_once(bench, runs):
    """All of them succeeded, each with one end and with each of its five calls made and counted once."""
    assert bench.rows(STATUSES) == [("succeeded", runs)], bench.logs()
    assert bench.rows("SELECT COUNT(*) FROM experiments_runevent WHERE kind = 'run_ended'") == [(runs,)]
    calls = Counter(bench.rows(CALLS))
    assert set(calls.values()) == {1}, [call for call, times in calls.items() if times > 1]
    assert Counter(run for run, _, _ in calls) == Counter(
        {run: len(STEPS) for (run,) in bench.rows("SELECT id FROM experiments_run")}
    )
    assert bench.rows("SELECT MIN(model_calls), MAX(model_calls) FROM experiments_run") == [(5, 5)]


# Workers


def test_two_kills_in_the_middle_of_fifty_runs_lose_nothing_and_repeat_nothing(bench):
    worker = bench.worker()
    start(bench, "slow", 50)
    for answered in (60, 150):
        calls_answered(bench, answered)
        before = Counter(bench.rows(CALLS))
        worker.send_signal(signal.SIGKILL)
        worker.wait(10)
        worker = bench.worker()
        assert before <= Counter(bench.rows(CALLS))
    bench.wait_for(EXPERIMENT, "finished")

    every_run_ended_once(bench, 50)
    assert bench.rows("SELECT COUNT(*) > 0 FROM experiments_run WHERE attempt > 1") == [(1,)]


def test_two_workers_and_three_tickets_for_each_run_make_one_attempt(bench):
    bench.worker()
    bench.worker()
    start(bench, "quick", 20)
    bench.python(
        "from workbench.experiments import tickets\n"
        "from workbench.experiments.models import Run\n"
        "ids = list(Run.objects.values_list('pk', flat=True))\n"
        "tickets.send([(tickets.RUN, (pk,)) for pk in ids + ids])"
    )

    bench.wait_for(EXPERIMENT, "finished")

    every_run_ended_once(bench, 20)
    assert bench.rows("SELECT MIN(attempt), MAX(attempt) FROM experiments_run") == [(1, 1)]


def test_a_worker_that_slept_through_its_time_finds_its_runs_taken_and_writes_nothing(bench):
    sleeper = bench.worker()
    start(bench, "slower", 4)
    calls_answered(bench, 4)
    fall_asleep(bench, sleeper)
    bench.worker()
    bench.wait_for("SELECT MIN(attempt) FROM experiments_run", 2)
    bench.wait_for("SELECT COUNT(*) >= 4 FROM experiments_runevent WHERE attempt = 2 AND kind = 'model_called'", 1)

    sleeper.send_signal(signal.SIGCONT)
    bench.wait_for(EXPERIMENT, "finished")

    every_run_ended_once(bench, 4)
    first, second = (
        bench.rows(f"SELECT run_id, {of}(sequence) FROM experiments_runevent WHERE attempt = {attempt} GROUP BY run_id")
        for of, attempt in (("MAX", 1), ("MIN", 2))
    )
    taken = dict(second)
    assert all(last < taken[run] for run, last in first), "the first attempt wrote after the second had begun"
    assert bench.rows("SELECT MAX(attempt) FROM experiments_run") == [(2,)]


def fall_asleep(bench, worker):
    """Stop it, but not in the middle of a transaction: that would hold up everybody, which is another test's story."""
    while True:
        worker.send_signal(signal.SIGSTOP)
        if can_write(bench):
            return
        worker.send_signal(signal.SIGCONT)
        time.sleep(0.02)


def can_write(bench) -> bool:
    if bench.environ["DATABASE_URL"]:
        idle = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND xact_start IS NOT NULL"
        return bench.rows(f"{idle} AND pid <> pg_backend_pid()") == [(0,)]
    with closing(sqlite3.connect(bench.home / "workbench.sqlite3", timeout=0.2, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        connection.execute("ROLLBACK")
        return True


@pytest.mark.postgres
def test_two_workbenches_on_one_database_and_queue_share_the_work(on_postgres, tmp_path):
    shared = {name: on_postgres.environ[name] for name in ("DATABASE_URL", "REDIS_URL", "WORKBENCH_SCRIPTS")}
    homes, owners = (on_postgres.home, tmp_path / "other"), set()
    one, other = (Up(home, WORKBENCH_RUNS_AT_ONCE="8", **shared) for home in homes)
    with one, other:
        number, give_up = start(on_postgres, "slow", 50), time.monotonic() + 90
        while on_postgres.rows(f"{EXPERIMENT} WHERE id = {number}") != [("finished",)]:
            assert time.monotonic() < give_up, on_postgres.rows(STATUSES)
            owners |= set(on_postgres.rows("SELECT owner FROM experiments_run WHERE status = 'running'"))
            time.sleep(0.1)
        workers = [{pid for pid, command in processes_of(home).items() if " runs" in command} for home in homes]

    every_run_ended_once(on_postgres, 50)
    assert on_postgres.rows("SELECT MAX(attempt) FROM experiments_run") == [(1,)]
    took = {int(owner.split(":")[1]) for (owner,) in owners}
    assert all(took & pids for pids in workers), (took, workers)


# The queue


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_queue_that_restarts_empty_holds_runs_up_and_loses_none(tmp_path, template, how):
    with (
        servers.Redis() as redis,
        running_workbench(tmp_path / "home", template, REDIS_URL=redis.url, WORKBENCH_RUNS_AT_ONCE="5") as bench,
    ):
        bench.worker()
        start(bench, "slow", 20)
        calls_answered(bench, 3)

        redis.restart(how, away=1)

        bench.wait_for(EXPERIMENT, "finished")
        every_run_ended_once(bench, 20)
        assert bench.rows("SELECT MAX(attempt) FROM experiments_run") == [(1,)], "what ran went on without the queue"


# The database


@pytest.fixture
def on_postgres(postgres, tmp_path):
    """A workbench on a PostgreSQL that may be restarted, and a queue of its own."""
    with servers.Redis() as redis:
        bench = Workbench(tmp_path / "home", DATABASE_URL=postgres.url, REDIS_URL=redis.url)
        fill(bench)
        yield bench
        bench.end()


@pytest.mark.postgres
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT])
def test_postgresql_that_restarts_holds_runs_up_and_loses_none(on_postgres, postgres, how):
    on_postgres.worker()
    start(on_postgres, "slow", 10)
    calls_answered(on_postgres, 12)

    postgres.restart(how, away=1)

    on_postgres.wait_for(EXPERIMENT, "finished")
    every_run_ended_once(on_postgres, 10)


@pytest.mark.postgres
def test_runs_whose_postgresql_stays_away_longer_than_patience_are_taken_up_again(on_postgres, postgres):
    on_postgres.worker()
    start(on_postgres, "slow", 10)
    calls_answered(on_postgres, 12)

    postgres.restart(signal.SIGINT, away=9)

    on_postgres.wait_for(EXPERIMENT, "finished")
    every_run_ended_once(on_postgres, 10)
    assert on_postgres.rows("SELECT MAX(attempt) FROM experiments_run") == [(2,)]


@pytest.fixture
def on_sqlite(tmp_path):
    """A workbench whose database is a file, whatever the others stand on."""
    with servers.Redis() as redis:
        bench = Workbench(tmp_path / "home", DATABASE_URL="", REDIS_URL=redis.url)
        fill(bench)
        yield bench
        bench.end()


def fill_the_disk(worker, full=True):
    """From now on the worker can write to no file, as on a full disk; or again."""
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (0 if full else most, most))


@pytest.mark.skipif(sys.platform != "linux", reason="limits the files of a process that runs")
def test_a_full_disk_makes_runs_wait_for_space_and_then_go_on(on_sqlite):
    bench = on_sqlite
    worker = bench.worker()
    start(bench, "slower", 4)
    calls_answered(bench, 4)

    fill_the_disk(worker)
    sweep = "from workbench.experiments.sweeping import sweep; sweep()"
    give_up = time.monotonic() + 40
    while bench.rows("SELECT COUNT(*) FROM experiments_run WHERE status = 'running'") != [(0,)]:
        assert time.monotonic() < give_up, bench.logs()
        bench.python(sweep)  # somebody else, for whom there is space
        time.sleep(0.5)
    assert bench.rows(STATUSES) == [("queued", 4)]
    fill_the_disk(worker, full=False)

    bench.wait_for(EXPERIMENT, "finished")
    every_run_ended_once(bench, 4)


@pytest.mark.skipif(sys.platform != "linux", reason="limits the files of a process")
@pytest.mark.parametrize(
    ("letters", "what"),
    [(ascii_letters, "The journal can't"), ("x", "The end of the run can't")],
    ids=["journal", "end"],
)
def test_a_full_disk_under_a_run_of_the_command_line_is_a_sentence(on_sqlite, letters, what):
    bench = on_sqlite
    file = bench.home / "t.json"
    file.write_text(json.dumps(chain("long", "scripted/echo", 2)))
    bench.cli("run", str(file), "--input", "x").communicate(timeout=60)  # the home is ready from here on
    size = (bench.home / "workbench.sqlite3").stat().st_size
    (bench.scripts / "long.json").write_text(json.dumps({"default": "".join(Random(1).choices(letters, k=2 * size))}))
    file.write_text(json.dumps(chain("long", "scripted/long", 2)))

    def full():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    command = bench.cli("run", str(file), "--input", "x", "--json", preexec_fn=full)
    out, err = command.communicate(timeout=60)

    assert command.returncode == 3, out + err
    assert "Traceback" not in err
    report = json.loads(out)
    assert report["status"] == "lost"
    assert f"{what} be written" in report["reason"]
