"""`workbench doctor`: what is there, what is missing, and what to do about it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.supervised import workbench

ALLOW = "WORKBENCH_ALLOW_UNSANDBOXED"


def test_doctor_names_what_is_missing_and_what_to_do(tmp_path):
    done = workbench(tmp_path / "home", "doctor", OLLAMA_URL="http://127.0.0.1:1")

    assert done.returncode == 0
    assert f"✓ home: {tmp_path / 'home'}" in done.stdout
    assert "– broker: The embedded broker is not running. Start it with `workbench up`." in done.stdout
    assert "– workers: No worker answers" in done.stdout
    assert "– provider ollama: Ollama does not answer at http://127.0.0.1:1" in done.stdout
    assert "scripted/echo" in done.stdout


def test_doctor_in_json_says_the_same(tmp_path):
    done = workbench(tmp_path / "home", "doctor", "--json", OLLAMA_URL="http://127.0.0.1:1")

    found = {row["name"]: row for row in json.loads(done.stdout)}
    assert found["home"]["status"] == "ok"
    assert found["database"]["status"] == "note"
    assert found["provider ollama"]["status"] == "note"
    assert any(model.startswith("scripted/echo") for model in found["provider scripted"]["models"])


def test_doctor_ends_with_1_where_nothing_can_work():
    done = workbench(Path("/proc/workbench"), "doctor")

    assert done.returncode == 1
    assert "✗ home: The home /proc/workbench can’t be written to" in done.stdout


def test_broken_server_settings_are_errors_without_passwords(tmp_path):
    done = workbench(tmp_path / "home", "doctor", REDIS_URL="redis://:hidden@127.0.0.1:1/0")

    assert done.returncode == 1
    assert "✗ broker: Redis does not answer" in done.stdout
    assert "hidden" not in done.stdout


def test_doctor_says_where_code_would_run(tmp_path):
    found = {}
    for name, environ in {
        "here": {},
        "bare": {"PATH": "/nowhere"},
        "allowed": {"PATH": "/nowhere", ALLOW: "1"},
    }.items():
        done = workbench(tmp_path / "home", "doctor", "--json", OLLAMA_URL="http://127.0.0.1:1", **environ)
        found[name] = next(row for row in json.loads(done.stdout) if row["name"] == "sandbox")

    assert (found["here"]["status"], found["here"]["message"]) == ("ok", "Code of topologies runs in bubblewrap")
    assert found["bare"]["status"] == "note"
    assert "apt install bubblewrap" in found["bare"]["message"]
    assert "unprotected" in found["allowed"]["message"]
