"""Where tests keep rows and queues: SQLite and an embedded broker, or what `DATABASE_URL` and `REDIS_URL` name.

On named servers each home gets a database and a queue of its own. Of a Redis only numbers that are empty are taken, and
emptied afterwards: nothing of anybody else's is touched.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

SERVER = os.environ.get("DATABASE_URL", "")
REDIS = os.environ.get("REDIS_URL", "")
_taken: dict[str, str] = {}
_made: set[Path] = set()


def queue_take(name: str) -> str:
    """The address of an empty database of the named Redis; the same for the same name. Empty where none is named."""
    if REDIS and name not in _taken:
        _taken[name] = next(url for number in range(1, 10_000) if _is_free(url := _numbered(number)))
    return _taken.get(name, "")


def queue_leave(name: str) -> None:
    """Empty it for others."""
    if url := _taken.pop(name, ""):
        import redis

        with redis.Redis.from_url(url) as client:
            client.flushdb()


def _numbered(number: int) -> str:
    return urlsplit(REDIS)._replace(path=f"/{number}").geturl()


def _is_free(url: str) -> bool:
    import redis

    if url in _taken.values():
        return False
    try:
        with redis.Redis.from_url(url) as client:
            return client.dbsize() == 0
    except redis.ResponseError as error:
        raise AssertionError("The Redis of REDIS_URL has no empty database left for tests.") from error


def database_url(home: Path) -> str:
    """The address of the home's own database; empty on SQLite, where it is a file of the home."""
    return urlsplit(SERVER)._replace(path=f"/{_database(home)}").geturl() if SERVER else ""


def database_make(home: Path, template: Path | None = None) -> None:
    """An empty database for the home, or a copy of another home's."""
    if SERVER:
        database_drop(home)
        _made.add(home)
        _administer(f"CREATE DATABASE {_database(home)} TEMPLATE {_database(template) if template else 'template0'}")


def database_drop(home: Path) -> None:
    """Also where somebody still uses it."""
    _made.discard(home)
    if SERVER:
        _administer(f"DROP DATABASE IF EXISTS {_database(home)} WITH (FORCE)")


def _database(home: Path) -> str:
    return f"workbench_test_{hashlib.sha256(os.fsencode(home)).hexdigest()[:16]}"


def _administer(sql: str) -> None:
    import psycopg

    with psycopg.connect(urlsplit(SERVER)._replace(path="/postgres").geturl(), autocommit=True) as connection:
        connection.execute(sql)


def environ(home: Path) -> dict[str, str]:
    """What a process of this home is told; its database is there from the first time on."""
    if SERVER and home not in _made:
        database_make(home)
    return {"WORKBENCH_HOME": str(home), "DATABASE_URL": database_url(home)}


def leave() -> None:
    """Nothing stays behind on the named servers."""
    for home in list(_made):
        database_drop(home)
    for name in list(_taken):
        queue_leave(name)


def rows(home: Path, sql: str, url: str | None = None) -> list[tuple[Any, ...]]:
    """What the home's database answers."""
    url = database_url(home) if url is None else url
    if url:
        import psycopg

        with psycopg.connect(url) as connection:
            return connection.execute(sql).fetchall()
    with closing(sqlite3.connect(home / "workbench.sqlite3", timeout=20)) as connection:
        return connection.execute(sql).fetchall()
