from __future__ import annotations

import json
import re

import pytest

from tests.experiments.workbenches import Workbench, make_template, running_workbench

SPEC = {
    "name": "Labels",
    "question": "Which?",
    "dataset": "twenty@1",
    "instances": ["i000", "i001"],
    "configurations": [{"topology": "quick", "overrides": {"params": {"temperature": 0}}}],
    "repetitions": 2,
    "limits": {"tokens": 1000},
    "evaluators": [{"name": "exact_match", "options": {"casefold": True}}],
}


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    template = tmp_path_factory.mktemp("template") / "home"
    make_template(template)
    with running_workbench(tmp_path_factory.mktemp("bench") / "home", template) as bench:
        yield bench


def experiment_run(bench, document, *options) -> tuple[int, str, str]:
    file = bench.home / "experiment.json"
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    command = bench.cli("experiment", "run", str(file), *options)
    out, err = command.communicate(timeout=120)
    return command.returncode, out, err


@pytest.mark.parametrize(
    ("change", "place", "sentence"),
    [
        ({"dataset": "unheard-of"}, "/dataset", "There is no data set 'unheard-of'"),
        ({"dataset": "twenty@7"}, "/dataset", "twenty has no version '7'"),
        ({"instances": ["i000", "zzz"]}, "/instances", "has no instance 'zzz'"),
        ({"configurations": [{"topology": "quik"}]}, "/configurations/0/topology", "quik"),
        ({"configurations": [{"topology": "quick", "modle": 1}]}, "/configurations/0/modle", "configurations 1 modle"),
        ({"repetitions": 0}, "/repetitions", "it must be at least 1"),
        ({"evaluators": [{"name": "exact"}]}, "/evaluators/0/name", "exact"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_left_behind(bench, change, place, sentence):
    code, out, err = experiment_run(bench, {**SPEC, **change}, "--json")

    report = json.loads(out)
    assert err == ""
    assert (code, report["status"]) == (1, "invalid")
    (problem,) = report["problems"]
    assert (problem["path"], sentence in problem["message"]) == (place, True), report
    assert bench.rows("SELECT COUNT(*) FROM experiments_experiment") == [(0,)]


def test_an_experiment_prints_its_table(bench):
    bench.worker()
    bench.worker("evaluations", "prefork")

    code, out, err = experiment_run(bench, SPEC)

    assert code == 0, out + err + bench.logs()
    assert "4 succeeded" in out
    assert "quick · temperature 0.0" in out or "quick · temperature 0" in out
    assert "1.000" in out
    assert re.search(r"experiment \d+: ", err)
    kept = bench.rows("SELECT question, repetitions, status FROM experiments_experiment")
    assert kept == [("Which?", 2, "finished")]
    assert bench.rows("SELECT limits FROM experiments_experiment")[0][0] in ('{"tokens": 1000}', {"tokens": 1000})


def test_without_a_queue_it_says_what_to_start(tmp_path):
    bench = Workbench(tmp_path)
    bench.environ["REDIS_URL"] = ""

    code, out, err = experiment_run(bench, SPEC)

    assert (code, out) == (2, "")
    assert "workbench up" in err
    assert "Traceback" not in err
