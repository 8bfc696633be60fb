"""`workbench check`: problems with their places, and exit codes that scripts can trust."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from workbench.cli import workbench


@pytest.fixture
def check(tmp_path):
    """Runs the command in a process of its own, with a home that was never set up."""

    def run(*arguments: str, given: str | bytes = b"") -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"WORKBENCH_HOME": str(tmp_path / "home")}
        environment.pop("DATABASE_URL", None)
        data = given.encode() if isinstance(given, str) else given
        done = subprocess.run(
            [sys.executable, "-c", "from workbench.cli import main; main()", "check", *arguments],
            input=data, capture_output=True, env=environment, timeout=60, check=False,
        )  # fmt: skip
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


def test_a_good_topology_has_no_problems(check, make):
    done = check("-", "--json", given=make())

    assert done.returncode == 0
    assert json.loads(done.stdout) == []


def test_errors_are_listed_with_code_place_sentence_and_hint(check, make, tmp_path):
    file = tmp_path / "one.json"
    file.write_text(make(end=["answr"], colour="red"))

    done = check(str(file), "--json")

    problems = json.loads(done.stdout)
    assert done.returncode == 1
    assert set(problems[0]) == {"severity", "code", "path", "message", "hint"}
    assert "/colour" in {problem["path"] for problem in problems}


def test_warnings_alone_are_no_failure(check, make):
    done = check("-", "--json", given=make(nodes={"answer": {"type": "agent"}}))

    assert {problem["severity"] for problem in json.loads(done.stdout)} == {"warning"}
    assert done.returncode == 0


def test_without_json_problems_are_lines(check, make):
    done = check("-", given=make(end=["nobody"]))

    assert done.returncode == 1
    assert "error: /end" in done.stdout
    assert done.stdout.rstrip().endswith("1 error.")
    assert check("-", given=make()).stdout == "No problems.\n"


def test_agents_that_ship_are_known_without_a_database(check, make):
    known = check("-", "--json", given=make(nodes={"answer": {"type": "agent", "agent": "writer@1"}}))
    unknown = check("-", "--json", given=make(nodes={"answer": {"type": "agent", "agent": "writter"}}))

    assert known.returncode == 0
    assert "writer" in json.loads(unknown.stdout)[0]["message"]


def test_an_agent_can_be_checked_too(check):
    agent = {"format": "workbench.agent/1", "name": "poet", "role": "Writer", "prompt": "{{ nonsense }}"}

    done = check("-", "--json", given=json.dumps(agent))

    assert done.returncode == 1
    assert json.loads(done.stdout)[0]["code"] == "unknown_name"


@pytest.mark.parametrize(
    "text",
    ['{"a": NaN}', '{"a": 1, "a": 2}', "[" * 2000 + "]" * 2000, '{"a": "\\u0000"}', '"\\ud800"', "", "{", "\ufeff[]"],
    ids=["NaN", "duplicate", "deep", "NUL", "surrogate", "empty", "cut", "BOM"],
)
def test_bad_json_is_a_problem_and_no_crash(check, text):
    done = check("-", "--json", given=text)

    assert done.returncode == 1
    assert json.loads(done.stdout)[-1]["severity"] == "error"
    assert "Traceback" not in done.stderr


def test_a_topology_of_more_than_five_megabytes_is_refused_in_words(check):
    done = check("-", "--json", given='{"a": "' + "x" * 6_000_000 + '"}')

    assert done.returncode == 1
    assert json.loads(done.stdout)[0]["code"] == "too_large"


def test_what_can_not_be_read_is_a_sentence_and_exit_code_two(check, tmp_path):
    (tmp_path / "binary").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\xff\xfe")

    for file, words in (("nowhere.json", "no file"), (str(tmp_path), "folder"), (str(tmp_path / "binary"), "binary")):
        done = check(file)
        assert done.returncode == 2
        assert words in done.stderr
        assert "Traceback" not in done.stderr


def test_it_creates_nothing_in_a_home_that_was_never_set_up(check, make, tmp_path):
    check("-", given=make())

    assert not (tmp_path / "home").exists()


def test_the_command_says_what_it_does(capsys):
    with pytest.raises(SystemExit):
        workbench(["check", "--help"])

    assert "Exit code" in capsys.readouterr().out


BRANCHES = {
    "nodes": {
        "answer": {"type": "agent", "prompt": "Q"},
        "yes": {"type": "passthrough"},
        "no": {"type": "passthrough"},
    },
    "edges": [
        {"from": "answer", "to": "yes", "when": {"contains_any": ["yes"]}},
        {"from": "answer", "to": "no", "when": {"field": "verdict", "equals": "no"}},
    ],
    "end": ["yes", "no"],
}


def test_a_dry_run_warns_of_an_edge_that_never_fires_and_is_no_failure(check, make):
    done = check("-", "--dry-run", given=make(**BRANCHES))

    assert done.returncode == 0, done.stderr
    assert "warning: /edges/1: In the dry run the edge from 'answer' to 'no' never fired." in done.stdout
    assert done.stdout.splitlines()[-1].startswith("Dry run: 1 of 2 edges fired, in ")


def test_a_dry_run_as_json_says_of_each_edge_whether_it_fired_and_why(check, make):
    done = check("-", "--dry-run", "--json", given=make(**BRANCHES))

    report = json.loads(done.stdout)
    assert set(report) == {"edges", "nested", "runs", "visits", "problems"}
    assert [(edge["from"], edge["to"], edge["fired"]) for edge in report["edges"]] == [
        ("answer", "yes", True),
        ("answer", "no", False),
    ]
    assert [problem["code"] for problem in report["problems"]] == ["edge_never_fired"]


def test_what_has_errors_is_not_run_dry(check, make):
    done = check("-", "--dry-run", "--json", given=make(end=["nobody"]))

    assert done.returncode == 1
    assert json.loads(done.stdout)["edges"] == []
