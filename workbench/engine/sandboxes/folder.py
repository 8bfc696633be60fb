"""The sandbox `folder`."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from workbench.engine.sandboxes import Finished, Limits, Sandbox
from workbench.engine.sandboxes._process import limited, run_process

ALLOWED = "WORKBENCH_ALLOW_UNSANDBOXED"


class Folder(Sandbox):
    """No protection: an ordinary process in the workspace, with limits and a clean environment. Only if allowed."""

    isolates = False

    @classmethod
    def available(cls, environ: Mapping[str, str]) -> str:
        if environ.get(ALLOWED) != "1":
            return f"Or set {ALLOWED}=1 to let code use this machine's files and network, unprotected."
        return "" if hasattr(os, "waitid") else "Running code unprotected needs Linux, or macOS with Python 3.13."

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def python(self) -> str:
        return sys.executable

    async def run(
        self, command: Sequence[str], workspace: Path, *, stdin: bytes = b"", timeout_s: float, limits: Limits
    ) -> Finished:
        with tempfile.TemporaryDirectory(prefix="workbench-") as temporary:
            environ = {
                "PATH": self._environ.get("PATH", os.defpath),
                "HOME": temporary,
                "TMPDIR": temporary,
                "LANG": "C.UTF-8",
                "PYTHONUTF8": "1",
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONHASHSEED": "0",
            }
            return await run_process(
                limited(command, limits, processes=False),
                folder=workspace,
                environ=environ,
                stdin=stdin,
                timeout_s=timeout_s,
                limits=limits,
            )
