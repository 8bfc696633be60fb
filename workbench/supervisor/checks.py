"""What can stand in the way of a start, each as a sentence with what to do about it."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from workbench.engine.errors import WorkbenchError
from workbench.home import unwritable

MEGABYTE = 1024 * 1024
LEAST_FREE_MB = 200


class CannotStart(WorkbenchError):
    """Something stands in the way; the sentence says what, and what to do."""

    code = "cannot_start"


def home_check(home: Path) -> None:
    """The home is a folder that can be written to, and the disk has room."""
    try:
        home.mkdir(parents=True, exist_ok=True)
        (home / "logs").mkdir(exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=home, prefix=".try-") as file:
            file.write(b"x")
    except FileExistsError:
        raise CannotStart(f"The home {home} is a file. Choose another WORKBENCH_HOME.") from None
    except OSError as error:
        raise CannotStart(unwritable(home, error)) from error
    least = int(os.environ.get("WORKBENCH_LEAST_FREE_MB") or LEAST_FREE_MB)
    free = shutil.disk_usage(home).free // MEGABYTE
    if free < least:
        raise CannotStart(
            f"Only {free:,} MB are free where the home {home} is, and {least:,} MB are needed. "
            "Free some space, or set WORKBENCH_HOME to a folder on another disk."
        )


def listener(host: str, port: int) -> socket.socket:
    """The socket that the web server will listen on: held from here on, so that nobody takes it in between."""
    try:
        address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise CannotStart(
            f"{host} is no address of this machine. Choose one with --host, such as 127.0.0.1."
        ) from error
    made = socket.socket(address[0], address[1])
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address[4])
        made.listen(512)
    except OSError as error:
        made.close()
        raise CannotStart(_busy(host, port, error)) from error
    return made


def _busy(host: str, port: int, error: OSError) -> str:
    if isinstance(error, PermissionError):
        return f"Port {port} may only be used by the administrator. Choose another: workbench up --port 8000"
    if error.errno == 99 or "assign" in str(error):  # EADDRNOTAVAIL differs between systems
        return f"{host} is no address of this machine. Choose one with --host, such as 127.0.0.1."
    return (
        f"Port {port} on {host} is taken by another program. "
        f"Choose another: workbench up --port {_free_port(host, port)}"
    )


def _free_port(host: str, port: int) -> int:
    for candidate in range(port + 1, min(port + 50, 65536)):
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as attempt:
            try:
                attempt.bind((host, candidate))
            except OSError:
                continue
            return candidate
    return 0


def redis_check(url: str) -> None:
    """The server that `REDIS_URL` names answers."""
    import redis

    shown = without_password(url)
    if urlsplit(url).scheme not in ("redis", "rediss"):
        raise CannotStart(
            f"REDIS_URL is {shown}, but must read redis://HOST:PORT/NUMBER. Unset it to have one started."
        )
    try:
        with redis.Redis.from_url(url, socket_connect_timeout=3, socket_timeout=3) as client:
            client.ping()
    except (redis.RedisError, OSError, ValueError) as error:
        raise CannotStart(
            f"Redis does not answer at {shown} ({str(error).rstrip('.')}). "
            "Start it, correct REDIS_URL, or unset it to have one started."
        ) from error


def settings_check() -> None:
    """No system check finds an error; warnings are for whoever watches the log."""
    from django.core.checks import ERROR, run_checks

    wrong = [found for found in run_checks() if found.level >= ERROR]
    if wrong:
        raise CannotStart(" ".join(f"{found.msg} {found.hint or ''}".strip() for found in wrong))


def database_check() -> None:
    """The database answers."""
    from django.conf import settings
    from django.core.exceptions import ImproperlyConfigured
    from django.db import DatabaseError, connection

    try:
        connection.ensure_connection()
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except ImproperlyConfigured as error:
        raise CannotStart(
            "DATABASE_URL names PostgreSQL, but its driver is not installed. Run `make setup` again with DATABASE_URL "
            "set, or install the extra `postgres`."
        ) from error
    except DatabaseError as error:
        said = str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else "no reason given"
        if connection.vendor == "sqlite":
            name = settings.DATABASES["default"]["NAME"]
            raise CannotStart(
                f"The database {name} can’t be opened ({said}). Move it away, or restore a copy."
            ) from error
        shown = without_password(os.environ["DATABASE_URL"])
        raise CannotStart(
            f"PostgreSQL does not answer at {shown} ({said}). Start it, or correct DATABASE_URL."
        ) from error


def without_password(url: str) -> str:
    """An address as it may be shown."""
    parts = urlsplit(url)
    if parts.password is None:
        return url
    user, host = parts.username or "", parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=f"{user}:…@{host}").geturl()
