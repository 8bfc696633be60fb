"""Files between their preview and their import: kept in the home for a day, under their own hash."""

from __future__ import annotations

import hashlib
import re
import time
from pathlib import Path, PurePath

from django.conf import settings

from workbench.engine.errors import WorkbenchError

KEPT_SECONDS = 24 * 3600
_TOKEN = re.compile(r"[0-9a-f]{64}\.(?:jsonl|ndjson|csv)")


def upload_keep(data: bytes, filename: str) -> str:
    """Keep the file; the token finds it again. Old files go. Raises `WorkbenchError` where there is no room."""
    token = hashlib.sha256(data).hexdigest() + PurePath(filename).suffix.lower()
    try:
        folder().mkdir(parents=True, exist_ok=True)
        for path in folder().iterdir():
            if path.stat().st_mtime < time.time() - KEPT_SECONDS:
                path.unlink(missing_ok=True)
        (folder() / token).write_bytes(data)
    except OSError as error:
        raise WorkbenchError(f"The file can't be kept for its preview: {error.strerror}.") from error
    return token


def upload_read(token: str) -> bytes:
    """The kept file. Raises `WorkbenchError` when it is gone."""
    try:
        if not _TOKEN.fullmatch(token):
            raise FileNotFoundError
        return (folder() / token).read_bytes()
    except OSError as error:
        raise WorkbenchError("The file is no longer here. Choose it again.") from error


def folder() -> Path:
    """Where uploads wait."""
    return Path(settings.WORKBENCH_HOME) / "uploads"
