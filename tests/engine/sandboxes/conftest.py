from __future__ import annotations

import asyncio
import os

import pytest

from workbench.engine.sandboxes import SANDBOXES, Limits


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "workspace"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    return folder


@pytest.fixture
def execute(workspace):
    """Run Python code in a sandbox, as a node does; returns how it ended."""

    def execute(name, code, *, timeout_s=20, stdin=b"", **limits):
        kind = SANDBOXES.get(name)
        if name != "folder" and (reason := kind.available(os.environ)):
            pytest.skip(reason)
        sandbox = kind(os.environ)
        command = [sandbox.python(), "-c", code]
        return asyncio.run(
            sandbox.run(command, workspace, stdin=stdin, timeout_s=timeout_s, limits=Limits()._replace(**limits))
        )

    return execute
