"""Where the files of a run lie."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from workbench.engine.filestore import Quota
from workbench.engine.workspaces import workspace_remove
from workbench.experiments.models import Run


def workspace_of(run: Run) -> Path:
    """The folder of a run's files; it is there once a file was needed."""
    return Path(settings.WORKSPACES) / str(run.pk)


def workspace_ready(run: Run, begun: bool) -> Path:
    """The folder for an attempt. A run that has not begun finds nothing there: what lies there is of another database."""
    folder = workspace_of(run)
    if run.attempt == 1 and not begun:
        workspace_remove(folder)
    return folder


def workspace_quota() -> Quota:
    """What the files of a run may take."""
    return Quota(int(settings.WORKSPACE_MB * 1_000_000), int(settings.WORKSPACE_FILES))
