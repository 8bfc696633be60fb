"""One supervisor per home. A lock of the kernel's, so that it ends with its process however that ends."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from workbench.supervisor.checks import CannotStart

CHILD = "workbench.supervisor.child"


class HomeLock:
    """Held while a supervisor lives. Beside it, `up.json` says who holds it, where it answers, and its children."""

    def __init__(self, home: Path) -> None:
        self._home, self._state = home, home / "up.json"
        self._file: IO[str] | None = None

    def take(self) -> int | None:
        """Raises `CannotStart` where another holds it. Returns the pid of one that ended without tidying up."""
        file = (self._home / "up.lock").open("a")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise CannotStart(self._taken()) from None
        self._file = file
        stale = read_state(self._home)
        for pid in stale.get("children", {}).values():
            _end_leftover(pid)
        return stale.get("pid")

    def write(self, *, address: str, children: Mapping[str, int]) -> None:
        """Say who runs here. Replaced as a whole, for whoever reads it at the same time."""
        fresh = self._state.with_suffix(".new")
        fresh.write_text(json.dumps({"pid": os.getpid(), "address": address, "children": dict(children)}))
        fresh.replace(self._state)

    def release(self) -> None:
        """Let the next one in."""
        if self._file is not None:
            self._state.unlink(missing_ok=True)
            self._file.close()
            self._file = None

    def _taken(self) -> str:
        state = read_state(self._home)
        who = f" (pid {state['pid']}, {state['address']})" if state else ""
        return (
            f"A workbench already runs on the home {self._home}{who}. "
            "Use that one, stop it, or set WORKBENCH_HOME to another folder."
        )


def read_state(home: Path) -> dict[str, Any]:
    """What the supervisor of this home last said of itself; empty where there is none."""
    try:
        state = json.loads((home / "up.json").read_text())
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) and "pid" in state and "address" in state else {}


def _end_leftover(pid: int, patience: float = 12) -> None:
    """Children end by themselves when their supervisor is gone; wait for that, then insist."""
    deadline = time.monotonic() + patience
    while _is_child(pid):
        if time.monotonic() > deadline:
            os.killpg(pid, signal.SIGKILL)
            return
        time.sleep(0.1)


def _is_child(pid: int) -> bool:
    """Whether that process is one of ours: a number alone may have gone to somebody else."""
    if Path("/proc/self/cmdline").exists():  # small Linux images have no `ps`
        try:
            return CHILD.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return False
    found = subprocess.run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return CHILD in found.stdout
