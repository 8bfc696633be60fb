"""`workbench up` as a person starts it: a process of its own, on a home and a port of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

WORKBENCH = Path(sys.executable).parent / "workbench"
PATIENCE = 90


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def environ(home: Path, **more: str) -> dict[str, str]:
    """A terminal's environment, in which nothing of the workbench is set but the home."""
    foreign = ("REDIS_URL", "DATABASE_URL", "SECRET_KEY", "DJANGO_ALLOW_ASYNC_UNSAFE")
    return {**{k: v for k, v in os.environ.items() if k not in foreign}, "WORKBENCH_HOME": str(home), **more}


def workbench(home: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """A command that ends by itself."""
    return subprocess.run(
        [WORKBENCH, *arguments],
        env=environ(home, **more),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


class Up:
    """A running `workbench up`. Leaving the `with` block presses Ctrl-C; `said` is then all it wrote to the terminal."""

    def __init__(self, home: Path, port: int | None = None, **more: str) -> None:
        self.home, self.port, self.said = home, port or free_port(), ""
        self._errors = home.parent / f"{home.name}-stderr-{self.port}"
        self._environ = environ(home, **more)

    def __enter__(self) -> Up:
        with self._errors.open("w") as errors:
            self.process = subprocess.Popen(
                [WORKBENCH, "up", "--port", str(self.port)],
                env=self._environ,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        assert self.process.stdout is not None
        self.line = self.process.stdout.readline()
        assert self.line, self.errors
        self.address = f"http://127.0.0.1:{self.port}"
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        rest, _ = self.process.communicate(timeout=PATIENCE)
        self.said = self.line + rest

    @property
    def errors(self) -> str:
        return self._errors.read_text()

    def get(self, path: str = "/") -> int:
        """The status that a page answers with; 0 where nobody answers."""
        try:
            with urllib.request.urlopen(self.address + path, timeout=20) as answer:
                return answer.status
        except OSError:
            return 0


def processes_of(home: Path) -> dict[int, str]:
    """Every process that was started for this home and still runs. (The broker shows its socket, but no environment.)"""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment, command = (folder / "environ").read_bytes(), (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if f"WORKBENCH_HOME={home}\0".encode() in environment or f"unixsocket:{home}/".encode() in command:
            found[int(folder.name)] = command.replace(b"\0", b" ").decode()
    return found


def until(condition, patience: float = PATIENCE) -> bool:
    """Whether it came true in time."""
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True
