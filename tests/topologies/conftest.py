"""A repository of topologies for each test, and documents to put into it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.topologies.store import Store


@pytest.fixture
def repository(tmp_path: Path, settings) -> Path:
    settings.TOPOLOGY_REPOSITORY = tmp_path / "topologies"
    return settings.TOPOLOGY_REPOSITORY


@pytest.fixture
def store(repository: Path) -> Store:
    return Store(repository)


@pytest.fixture
def git(repository: Path) -> Callable[..., str]:
    """Somebody else's Git, run in the repository."""

    def run(*arguments: str) -> str:
        who = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.org"]
        return subprocess.run(
            ["git", *who, *arguments], cwd=repository, check=True, capture_output=True, text=True
        ).stdout.strip()

    return run


def document(name: str = "one", **changes) -> str:
    """The text of a small topology that has no problems."""
    said = {
        "format": "workbench.topology/1",
        "name": name,
        "description": "One agent.",
        "start": ["answer"],
        "end": ["answer"],
        "defaults": {"model": "scripted/echo"},
        "nodes": {"answer": {"type": "agent", "prompt": "{{ instance.problem }}"}},
        "edges": [],
    }
    return json.dumps(said | changes, indent=2) + "\n"


@pytest.fixture
def make() -> Callable[..., str]:
    return document
