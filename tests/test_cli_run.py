from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import databases
from tests.databases import rows

ROOT = Path(__file__).resolve().parents[1]

LOOP = {
    "format": "workbench.topology/1",
    "name": "loop",
    "start": ["writer"],
    "end": ["publish"],
    "nodes": {
        "writer": {"type": "agent", "prompt": "Write: {{ instance.problem }} {{ inbox }}"},
        "reviewer": {
            "type": "agent",
            "prompt": "Judge: {{ inbox }}",
            "output": {"json_schema": {"type": "object", "required": ["verdict"]}, "repairs": 0},
        },
        "publish": {"type": "passthrough"},
    },
    "edges": [
        {"from": "writer", "to": "reviewer"},
        {"from": "reviewer", "to": "writer", "when": {"field": "verdict", "equals": "revise"}, "max": 2},
        {"from": "reviewer", "to": "publish", "when": {"field": "verdict", "equals": "accept"}},
        {"from": "writer", "to": "publish", "trigger": False},
    ],
}
SCRIPT = {
    "nodes": {
        "writer": [{"text": "one", "tokens": 3}, {"text": "two", "tokens": {"input": 7, "output": 4}}],
        "reviewer": ['{"verdict": "revise"}', '{"verdict": "accept"}'],
    }
}


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("home")


def command(home, *arguments, stdin=subprocess.PIPE, **environ) -> subprocess.Popen:
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", "from workbench.cli import main; main()", "run", *map(str, arguments)],
        cwd=ROOT, env={**os.environ, **databases.environ(home), **environ}, stdin=stdin, stdout=pipe, stderr=pipe, text=True,
    )  # fmt: skip


def run(home, *arguments, stdin="", **environ) -> tuple[int, str, str]:
    started = command(home, *arguments, **environ)
    out, err = started.communicate(stdin, timeout=60)
    return started.returncode, out, err


@pytest.fixture
def write(tmp_path):
    def file(name, document) -> Path:
        path = tmp_path / name
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return path

    return file


def test_what_a_run_changed_in_its_files_is_named_and_printed(home, write):
    note = {"type": "tool", "tool": "write_file", "args": {"path": "a.txt", "content": "hello\n"}}
    document = {
        "format": "workbench.topology/1", "name": "note", "start": ["n"], "end": ["n"], "nodes": {"n": note}, "edges": [],
    }  # fmt: skip

    code, out, err = run(home, write("t.json", document), "--input", "x", "--diff")

    assert code == 0
    assert out.startswith("diff --git a/a.txt b/a.txt\n")
    assert "+hello\n" in out
    folder = err.partition("files: 1 changed, in ")[2].partition(" (")[0]
    assert (Path(folder) / "a.txt").read_text() == "hello\n"


def test_a_run_prints_everything_as_json_and_is_kept(home, write):
    code, out, err = run(
        home, write("t.json", LOOP), "--input", "cats", "--scripted", write("s.json", SCRIPT), "--json"
    )

    assert (code, err) == (0, "")
    report = json.loads(out)
    assert list(report) == [
        "status",
        "reason",
        "output",
        "outputs",
        "visits",
        "order",
        "node_outputs",
        "usage",
        "run_id",
        "workspace",
        "diff",
    ]
    assert report["status"] == "succeeded"
    assert report["output"] == "two"
    assert list(report["outputs"]) == ["publish"]
    assert report["visits"] == {"writer": 2, "reviewer": 2, "publish": 1}
    assert report["order"] == ["writer", "reviewer", "writer", "reviewer", "publish"]
    assert report["node_outputs"]["writer"] == ["one", "two"]
    assert report["usage"]["model_calls"] == 4
    kept = rows(home, f"SELECT status, output, model_calls, input FROM experiments_run WHERE id = {report['run_id']}")
    assert kept == [("succeeded", "two", 4, "cats")]


def test_a_topology_is_read_from_standard_input_and_the_answer_printed_alone(home, write):
    code, out, err = run(home, "-", "--input", "x", "--scripted", write("s.json", SCRIPT), stdin=json.dumps(LOOP))

    assert (code, out) == (0, "two\n")
    assert "succeeded" in err


def test_an_invalid_topology_prints_its_problems(home, write):
    broken = {**LOOP, "end": ["nowhere"]}

    code, out, err = run(home, write("t.json", broken), "--input", "x", "--scripted", write("s.json", SCRIPT), "--json")

    report = json.loads(out)
    assert (code, err, report["status"]) == (1, "", "invalid")
    assert any(it["severity"] == "error" and it["path"].startswith("/end") for it in report["problems"])
    assert set(report["problems"][0]) == {"severity", "code", "path", "message", "hint"}


def test_a_script_for_nodes_that_are_not_there_is_refused_by_their_names(home, write):
    script = {"nodes": {"wirter": ["one"]}, "rules": [{"contains": "x", "node": "judge", "answer": "y"}]}

    code, out, _ = run(home, write("t.json", LOOP), "--input", "x", "--scripted", write("s.json", script), "--json")

    report = json.loads(out)
    assert (code, report["status"]) == (1, "invalid")
    assert [(problem["code"], problem["path"]) for problem in report["problems"]] == [
        ("unknown_node", "/nodes/wirter"),
        ("unknown_node", "/rules/0/node"),
    ]
    assert "Did you mean 'writer'?" in report["problems"][0]["message"]


def test_an_invalid_script_is_invalid_too(home, write):
    code, out, _ = run(
        home, write("t.json", LOOP), "--input", "x", "--scripted", write("s.json", {"nodez": 1}), "--json"
    )

    assert code == 1
    assert json.loads(out)["status"] == "invalid"


def test_a_failed_run_is_exit_code_2(home, write):
    script = {**SCRIPT, "nodes": {**SCRIPT["nodes"], "reviewer": ["no json"]}}

    code, out, _ = run(home, write("t.json", LOOP), "--input", "x", "--scripted", write("s.json", script), "--json")

    report = json.loads(out)
    assert (code, report["status"]) == (2, "failed")
    assert "schema" in report["reason"]


def test_a_limit_is_exit_code_3(home, write):
    script = {**SCRIPT, "nodes": {**SCRIPT["nodes"], "reviewer": ['{"verdict": "revise"}']}}

    code, out, _ = run(home, write("t.json", LOOP), "--input", "x", "--scripted", write("s.json", script), "--json")

    report = json.loads(out)
    assert (code, report["status"], report["visits"]["writer"]) == (3, "limit_reached", 3)


def test_an_instance_of_a_shipped_data_set_needs_no_set_up(home, write):
    key = json.loads((ROOT / "workbench/datasets/starters/labels-mini.jsonl").read_text().splitlines()[0])["id"]
    arguments = ["--instance", f"labels-mini/{key}", "--scripted", write("s.json", SCRIPT), "--json"]

    code, out, _ = run(home, write("t.json", LOOP), *arguments)

    assert code == 0
    assert rows(home, f"SELECT instance_id IS NULL FROM experiments_run WHERE id = {json.loads(out)['run_id']}") == [
        (0,)
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "either --input TEXT or --instance DATASET/ID"),
        (["--input", "x", "--instance", "a/b"], "either --input TEXT or --instance DATASET/ID"),
        (["--instance", "labels-mini/nope"], "no instance 'nope'"),
        (["--instance", "unheard-of/1"], "no data set 'unheard-of'"),
    ],
)
def test_what_can_not_be_run_is_a_sentence_and_with_json_only_json(home, write, arguments, sentence):
    topology, script = write("t.json", LOOP), write("s.json", SCRIPT)

    code, out, err = run(home, topology, *arguments, "--scripted", script)
    json_code, json_out, json_err = run(home, topology, *arguments, "--scripted", script, "--json")

    assert (code, out) == (2, "")
    assert sentence in err
    assert "Traceback" not in err
    assert (json_code, json_err) == (2, "")
    assert sentence in json.loads(json_out)["reason"]


def test_hostile_answers_come_through_as_json(home, write):
    script = {**SCRIPT, "nodes": {"writer": ["NUL \x00 \x1b[31m <b>"], "reviewer": ['{"verdict": "accept"}']}}

    code, out, _ = run(home, write("t.json", LOOP), "--input", "x", "--scripted", write("s.json", script), "--json")

    assert code == 0
    assert json.loads(out)["output"] == "NUL \x00 \x1b[31m <b>"


def test_control_c_stops_the_run_and_says_so(home, write):
    script = {**SCRIPT, "latency_s": 60}
    before = rows(home, "SELECT COUNT(*) FROM experiments_runevent")[0][0]
    started = command(home, write("t.json", LOOP), "--input", "x", "--scripted", write("s.json", script), "--json")
    end = time.monotonic() + 40
    while rows(home, "SELECT COUNT(*) FROM experiments_runevent")[0][0] < before + 2 and time.monotonic() < end:
        time.sleep(0.1)

    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=20)

    report = json.loads(out)
    assert (started.returncode, report["status"], err) == (3, "stopped", "")
    assert rows(home, f"SELECT status FROM experiments_run WHERE id = {report['run_id']}") == [("stopped",)]


def test_a_home_that_is_no_folder_is_a_sentence(tmp_path, write):
    blocked = tmp_path / "blocked"
    blocked.write_text("in the way")
    blocked.chmod(stat.S_IRUSR)

    code, _, err = run(blocked / "home", write("t.json", LOOP), "--input", "x", "--scripted", write("s.json", SCRIPT))

    assert code == 2
    assert "Traceback" not in err
    assert "WORKBENCH_HOME" in err


def test_a_database_that_can_not_be_written_is_a_sentence(tmp_path, write):
    home, files = tmp_path / "home", (write("t.json", LOOP), "--input", "x", "--scripted", write("s.json", SCRIPT))
    (home / "workbench.sqlite3").mkdir(parents=True)

    code, _, err = run(home, *files, DATABASE_URL="")

    assert code == 2
    assert "Traceback" not in err
    assert "The workbench's database can't be used" in err
