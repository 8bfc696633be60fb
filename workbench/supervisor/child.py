"""What a child of the supervisor executes: `python -m workbench.supervisor.child ROLE [FD]`.

Each ends by itself when its supervisor is gone, however that ended.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time

PATIENCE = 8.0
QUIET = ["--loglevel", "INFO", "--without-gossip", "--without-mingle"]


def main() -> None:
    """Play the role that the first argument names."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workbench.settings")
    threading.Thread(target=_watch_parent, daemon=True).start()
    role, *rest = sys.argv[1:]
    if role == "web":
        web(int(rest[0]))
    elif role == "beat":
        celery(["beat", "--scheduler", "celery.beat.Scheduler", "--loglevel", "INFO", "--pidfile", ""])
    elif role == "evaluations":
        celery(["worker", "-P", "prefork", "-c", "1", "-Q", "evaluations", "-n", "evaluations@%h", *QUIET])
    else:
        celery(["worker", "-P", "threads", "-c", "1", "-Q", "runs", "-n", f"{role}@%h", *QUIET])


def web(fd: int) -> None:
    """The web server, on the socket that the supervisor holds: restarting it loses no connection."""
    import uvicorn

    config = uvicorn.Config(
        "workbench.asgi:application", access_log=False, lifespan="off", timeout_graceful_shutdown=2, server_header=False
    )
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=fd)])


def celery(arguments: list[str]) -> None:
    """A worker, or beat."""
    from workbench.celery import app

    app.start(arguments)


def _watch_parent() -> None:
    """Ask nicely when the supervisor is gone, also if it went before we looked; then end the whole group."""
    parent = int(os.environ["WORKBENCH_SUPERVISOR"])
    while os.getppid() == parent:
        time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE)
    os.killpg(os.getpgid(0), signal.SIGKILL)


if __name__ == "__main__":
    main()
