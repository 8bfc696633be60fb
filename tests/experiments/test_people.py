"""Runs that wait for people, with real workers: nothing is held meanwhile, nothing is asked or called twice."""

from __future__ import annotations

import json
import signal

import pytest

from tests.experiments.workbenches import running_workbench

STATUS = "SELECT COUNT(*) FROM experiments_run WHERE status = '{}'"
HUMAN = {"type": "human", "question": "Publish {{ inbox }}?", "choices": ["yes", "no"]}
STEP = {"type": "agent", "prompt": "{{ inbox }}"}


def topology(name, nodes, edges, **fields):
    return {
        "format": "workbench.topology/1", "name": name, "start": [next(iter(nodes))], "end": ["done"],
        "defaults": {"model": "scripted/quick"}, "nodes": {**nodes, "done": {"type": "passthrough"}},
        "edges": [{"from": source, "to": target} for source, target in edges], **fields,
    }  # fmt: skip


LINE = [("write", "ask"), ("ask", "after"), ("after", "done")]
TOPOLOGIES = {
    "publish": topology("publish", {"write": STEP, "ask": HUMAN, "after": STEP}, LINE),
    "hurried": topology(
        "hurried",
        {"write": STEP, "ask": {**HUMAN, "timeout_s": 1, "on_timeout": {"default": "no"}}, "after": STEP},
        LINE,
    ),
    "beside": topology(
        "beside",
        {"write": STEP, "ask": HUMAN, "slow": {**STEP, "model": "scripted/endless"}, "after": STEP},
        [*LINE, ("write", "slow"), ("slow", "done")],
    ),
}


@pytest.fixture
def bench(tmp_path, template):
    with running_workbench(tmp_path / "home", template, WORKBENCH_RUN_STALE_S="6") as bench:
        bench.python(
            "from workbench.topologies.services import topology_save\n"
            f"for name, text in { {name: json.dumps(it) for name, it in TOPOLOGIES.items()}!r}.items():\n"
            "    topology_save(name, text, 'For the test', 'test')"
        )
        yield bench


def start(bench, topology, runs=1):
    return bench.start(
        dataset="twenty", instances=[f"i{place:03}" for place in range(runs)], configurations=[{"topology": topology}]
    )


def answer(bench, *choices, newest_first=False):
    """Answer the open questions, one after the other."""
    order = "-pk" if newest_first else "pk"
    return bench.python(
        "from workbench.experiments.questions import *\n"
        f"for question, choice in zip(questions_open().order_by('{order}'), {choices!r}):\n"
        "    question_answer(question, Given(choice), by='ada')"
    )


def test_a_run_that_waits_holds_no_worker_and_outlives_it(bench):
    bench.environ["WORKBENCH_RUNS_AT_ONCE"] = "1"
    worker = bench.worker()
    start(bench, "publish", 3)
    bench.wait_for(STATUS.format("waiting"), 3)
    assert bench.rows("SELECT DISTINCT owner FROM experiments_run") == [("",)]

    worker.send_signal(signal.SIGKILL)
    worker.wait(10)
    answer(bench, "yes", "no", newest_first=True)
    assert bench.rows(STATUS.format("queued")) == [(2,)]
    bench.worker()
    bench.wait_for(STATUS.format("succeeded"), 2)
    answer(bench, "yes")
    bench.wait_for("SELECT status FROM experiments_experiment", "finished")

    assert bench.rows("SELECT model_calls, visits FROM experiments_run") == [(2, 4)] * 3
    kinds = "SELECT kind, COUNT(*) FROM experiments_runevent WHERE kind IN ('asked', 'answered', 'model_called', 'run_ended') GROUP BY kind ORDER BY kind"  # noqa: E501
    assert bench.rows(kinds) == [("answered", 3), ("asked", 3), ("model_called", 6), ("run_ended", 3)]
    assert bench.rows("SELECT choice, answered_by FROM experiments_question ORDER BY id") == [
        ("yes", "ada"), ("no", "ada"), ("yes", "ada"),
    ]  # fmt: skip


def test_an_answer_reaches_a_run_at_work_and_a_killed_worker_asks_nobody_again(bench):
    worker = bench.worker()
    start(bench, "beside")
    bench.wait_for("SELECT COUNT(*) FROM experiments_question", 1)
    worker.send_signal(signal.SIGKILL)
    worker.wait(10)
    ((killed,),) = bench.rows("SELECT attempt FROM experiments_run")
    bench.worker()
    again = f"SELECT COUNT(*) > 0 FROM experiments_runevent WHERE kind = 'run_started' AND attempt > {killed}"
    bench.wait_for(again, True)
    before = bench.rows("SELECT status, attempt FROM experiments_run")

    answer(bench, "yes")
    bench.wait_for("SELECT COUNT(*) FROM experiments_runevent WHERE kind = 'visit_ended' AND node = 'after'", 1)

    assert bench.rows("SELECT status, attempt FROM experiments_run") == before == [("running", before[0][1])], (
        bench.logs()
    )
    assert bench.rows("SELECT COUNT(*) FROM experiments_question") == [(1,)]


def test_time_runs_out_with_no_worker_at_the_run_and_a_waiting_run_stops_at_once(bench):
    bench.worker()
    start(bench, "hurried")
    bench.wait_for("SELECT status FROM experiments_experiment", "finished")

    assert bench.rows("SELECT status FROM experiments_run") == [("succeeded",)]
    assert bench.rows("SELECT status, choice, answered_by FROM experiments_question") == [("timed_out", "no", "")]
    (data,) = bench.rows("SELECT data FROM experiments_runevent WHERE kind = 'answered'")[0]
    assert (json.loads(data)["status"], json.loads(data)["text"]) == ("timed_out", "no")

    number = start(bench, "publish")
    bench.wait_for(STATUS.format("waiting"), 1)
    stopped = bench.python(
        "from workbench.experiments.models import Experiment\n"
        "from workbench.experiments.services import experiment_stop\n"
        f"it = Experiment.objects.get(pk={number}); experiment_stop(it); it.refresh_from_db(); print(it.status)"
    )
    assert stopped.strip() == "stopped"
    assert bench.rows(f"SELECT status, reason FROM experiments_run WHERE experiment_id = {number}") == [
        ("stopped", "Stopped by a person.")
    ]
    assert answer(bench, "yes") == ""
    assert bench.rows("SELECT COUNT(*) FROM experiments_question WHERE status = 'open'") == [(1,)]
