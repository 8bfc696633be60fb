"""The processes that a supervisor looks after: started, started again with growing patience, stopped together."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

LOG_MAX = 5_000_000
BACKOFF_MAX = 30.0
HEALTHY_AFTER = 60.0


class Child:
    """One process, its output in a log file; in a session of its own, so that Ctrl-C reaches the supervisor only."""

    def __init__(
        self, name: str, label: str, logs: Path, *, arguments: Sequence[str] = (), fds: Sequence[int] = ()
    ) -> None:
        self.name, self.label, self.log = name, label, logs / f"{name}.log"
        self._arguments, self._fds = list(arguments), tuple(fds)
        self._process: subprocess.Popen[bytes] | None = None
        self._started = self._due = 0.0
        self.failures = 0

    @property
    def pid(self) -> int | None:
        """Of the process while there is one."""
        return self._process.pid if self._process else None

    def start(self, environ: Mapping[str, str]) -> None:
        """Start it now."""
        if self.log.exists() and self.log.stat().st_size > LOG_MAX:
            self.log.replace(self.log.with_suffix(".log.1"))
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "workbench.supervisor.child", self.name, *self._arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=dict(environ),
                start_new_session=True,
                pass_fds=self._fds,
            )
        self._started = time.monotonic()

    def look(self, environ: Mapping[str, str]) -> str:
        """Start it again when it is due; a sentence on the first look after it ended, else nothing."""
        now = time.monotonic()
        if self._process is None:
            if self._due and now >= self._due:
                self.start(environ)
            return ""
        code = self._process.poll()
        if code is None:
            return ""
        self._end_group()
        self._process = None
        self.failures = 1 if now - self._started > HEALTHY_AFTER else self.failures + 1
        wait = min(2.0 ** (self.failures - 1), BACKOFF_MAX)
        self._due = now + wait
        return f"{self.label} ended ({_ending(code)}); starting it again in {wait:.0f} s. Its log is {self.log}."

    def ask_to_end(self) -> None:
        """A worker hands back what it holds, the web server finishes its answers."""
        self._due = 0.0
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()

    def has_ended(self) -> bool:
        """Whether nothing of it runs any more."""
        return self._process is None or self._process.poll() is not None

    def wait(self, deadline: float) -> None:
        """Until it has ended; at the deadline it and all that it started are killed."""
        if self._process is None:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.0, deadline - time.monotonic()))
        self._end_group()
        self._process.wait()
        self._process = None

    def last_words(self, lines: int = 8) -> str:
        """The end of its log."""
        try:
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])
        except OSError:
            return ""

    def _end_group(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)


def _ending(code: int) -> str:
    if code >= 0:
        return f"code {code}"
    with contextlib.suppress(ValueError):
        return f"signal {signal.Signals(-code).name}"
    return f"signal {-code}"
