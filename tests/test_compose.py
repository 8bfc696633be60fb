"""`compose.yaml` and the image: read by Compose itself, and held to what the rest of the repository says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
SERVICES = {"prepare", "web", "runs", "evaluations", "beat", "postgres", "valkey", "ollama"}
OURS = SERVICES - {"postgres", "valkey", "ollama"}


def compose_program() -> list[str]:
    """Compose, version 2 or later, wherever it is."""
    for program in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(program[0]):
            said = subprocess.run([*program, "version", "--short"], capture_output=True, text=True, check=False)
            if said.returncode == 0 and not said.stdout.startswith("1."):
                return program
    pytest.skip("There is no Docker Compose 2 here.")


@pytest.fixture(scope="module")
def config():
    """The configuration as Compose reads it; no container engine has to run."""
    command = [*compose_program(), "--project-directory", str(ROOT), "config", "--format", "json"]
    environ = {name: os.environ[name] for name in ("PATH", "HOME", "DOCKER_CONFIG") if name in os.environ}
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_compose_reads_it_without_a_word(config):
    assert set(config["services"]) == SERVICES


@pytest.mark.parametrize("name", sorted(SERVICES - {"prepare"}))
def test_every_service_that_stays_says_how_it_is(config, name):
    assert config["services"][name]["healthcheck"]["test"]


@pytest.mark.parametrize("name", sorted(OURS))
def test_ours_come_from_one_image_and_share_home_database_and_queue(config, name):
    service = config["services"][name]

    assert service["image"] == "workbench"
    assert service["environment"]["DATABASE_URL"] == "postgresql://workbench:workbench@postgres:5432/workbench"
    assert service["environment"]["REDIS_URL"] == "redis://valkey:6379/0"
    assert [(it["source"], it["target"]) for it in service["volumes"]] == [("home", "/home/workbench/data")]
    assert service["depends_on"]["postgres"]["condition"] == "service_healthy"


@pytest.mark.parametrize("name", sorted(OURS - {"prepare"}))
def test_nothing_starts_before_tables_and_starters_are_there(config, name):
    assert config["services"][name]["depends_on"]["prepare"]["condition"] == "service_completed_successfully"


def test_only_the_web_server_can_be_reached_and_only_from_this_machine(config):
    open_to = {name: service["ports"] for name, service in config["services"].items() if service.get("ports")}

    assert set(open_to) == {"web"}
    assert {port["host_ip"] for port in open_to["web"]} == {"127.0.0.1"}


def test_every_queue_has_its_worker(config):
    queues = {
        command[command.index("-Q") + 1]
        for service in config["services"].values()
        if "worker" in (command := service.get("command") or [])
    }

    assert queues == {"runs", "evaluations"}


def test_all_data_lives_in_volumes(config):
    named = {it["source"] for service in config["services"].values() for it in service.get("volumes", ())}

    assert named == set(config["volumes"]) == {"home", "postgres", "valkey", "ollama"}


def test_every_variable_it_reads_is_in_the_example():
    text = (ROOT / "compose.yaml").read_text()
    handed_on = {key for key, value in yaml.safe_load(text)["x-workbench"]["environment"].items() if value is None}
    shown = set(re.findall(r"^# ([A-Z_0-9]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))

    assert handed_on | set(re.findall(r"\$\{([A-Z_]+)", text)) <= shown


def test_the_image_is_built_from_locks_by_hash_and_does_not_run_as_root():
    text = (ROOT / "Dockerfile").read_text()

    installs = [line for line in text.splitlines() if re.search(r"pip (install|sync)", line)]
    assert all("--require-hashes" in line or "--no-deps --no-build-isolation --offline" in line for line in installs)
    assert re.search(r"^USER workbench$", text, re.MULTILINE)
    assert text.index("USER workbench") < text.index("CMD [")


def test_what_the_image_copies_is_there_and_not_ignored():
    text = (ROOT / "Dockerfile").read_text()
    sources = {
        name.rstrip("/")
        for line in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE)
        for name in line.split()
    }

    assert all((ROOT / name).exists() for name in sources)
    kept = set(re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE))
    assert sources == kept
