"""A home of the benchmark's own: nothing of the user's is read or written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FOREIGN = ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "TOPOLOGY_REPOSITORY")


@contextmanager
def own_home(home: Path, **environ: str) -> Iterator[None]:
    """Django on an empty, migrated SQLite database in that folder. Once in a process, before anything else sets it up."""
    import django
    from django.core.management import call_command
    from django.db import connections

    kept = {name: value for name, value in os.environ.items() if not _is_foreign(name)}
    os.environ.clear()
    os.environ.update(kept, WORKBENCH_HOME=str(home), DJANGO_SETTINGS_MODULE="workbench.settings", **environ)
    django.setup()
    call_command("migrate", verbosity=0, interactive=False)
    try:
        yield
    finally:
        connections.close_all()


def _is_foreign(name: str) -> bool:
    return name in FOREIGN or name.startswith(("WORKBENCH_", "OLLAMA_", "OPENAI_"))
