"""`workbench replay` and `workbench fork` on a run of the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests import databases
from tests.test_cli_run import LOOP, ROOT, SCRIPT, run


def workbench(home, *arguments) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-c", "from workbench.cli import main; main()", *map(str, arguments)],
        cwd=ROOT, env={**os.environ, **databases.environ(home)}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A home with run 1: the loop, accepted at its second draft."""
    folder = tmp_path_factory.mktemp("fork")
    (folder / "t.json").write_text(json.dumps(LOOP))
    (folder / "s.json").write_text(json.dumps(SCRIPT))
    code, _, err = run(folder / "home", folder / "t.json", "--input", "cats", "--scripted", folder / "s.json")
    assert code == 0, err
    return folder


def test_replay_needs_no_provider_and_says_the_same_byte_for_byte(folder):
    code, out, err = workbench(folder / "home", "replay", 1, "--json")

    report = json.loads(out)
    assert (code, err) == (0, "")
    assert (report["same"], report["output"], report["calls_recorded"]) == (True, "two", 4)


def test_replay_of_an_edited_topology_shows_where_it_would_leave_the_run(folder):
    edited = json.loads(json.dumps(LOOP))
    edited["nodes"]["reviewer"]["prompt"] = "Judge hard: {{ inbox }}"
    (folder / "edited.json").write_text(json.dumps(edited))

    code, out, _ = workbench(folder / "home", "replay", 1, "--topology", folder / "edited.json")

    assert code == 3
    assert "reviewer, visit 1, call 1: the prompt differs" in out
    assert "-Judge: one" in out
    assert "+Judge hard: one" in out


def test_fork_says_what_it_would_make_again_and_then_makes_it(folder):
    arguments = ("fork", 1, "--at", "reviewer", "--visit", 2, "--prompt", "Hard: {{ inbox }}")

    code, out, _ = workbench(folder / "home", *arguments, "--dry-run", "--json")
    assert (code, json.loads(out)["again"]["model_calls"]) == (0, 1)

    code, out, err = workbench(folder / "home", *arguments, "--scripted", folder / "s.json", "--json")
    report = json.loads(out)
    assert (code, err, report["status"], report["output"]) == (0, "", "succeeded", "two")
    assert (report["usage"]["model_calls"], report["taken"]["model_calls"]) == (1, 3)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("replay", 99), 2, "There is no run 99"),
        (("fork", 1, "--at", "nobody"), 2, "no such visit"),
        (("fork", 1, "--at", "writer", "--prompt", "{{ nodes.x.output }}"), 1, "names node 'x'"),
        (("fork", 1, "--at", "writer", "--params", "hot"), 2, "--params is no JSON"),
    ],
)
def test_what_can_not_be_is_a_sentence(folder, arguments, code, says):
    found, _, err = workbench(folder / "home", *arguments)

    assert found == code
    assert says in err
    assert "Traceback" not in err
