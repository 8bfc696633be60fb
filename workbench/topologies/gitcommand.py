"""Git on the repository of topologies."""

from __future__ import annotations

from pathlib import Path

from workbench.engine.errors import WorkbenchError
from workbench.engine.gitcommand import GitCommand as AnyGitCommand


class StoreError(WorkbenchError):
    """The repository of topologies can't be read or written."""

    code = "store"


class GitCommand(AnyGitCommand):
    """Git on the repository at `root`, whose files lie beside its `.git` folder."""

    Error = StoreError
    place = "the repository of topologies"

    def __init__(self, root: Path) -> None:
        super().__init__(root / ".git", root)
        self.root = root
