"""The folder that a run's tools work in, as it was before something that may have to be undone."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path


class Snapshot:
    """A copy of a workspace, beside it; links are copied as links, never followed."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._folder = Path(tempfile.mkdtemp(prefix=f"{workspace.name}-before-", dir=workspace.parent))
        self._copy = self._folder / "files"
        shutil.copytree(workspace, self._copy, symlinks=True)

    def restore(self) -> None:
        """Bring the workspace back to what it was; its folder itself stays."""
        for item in self._workspace.iterdir():
            if item.is_dir() and not item.is_symlink():
                shutil.rmtree(item)
            else:
                item.unlink()
        shutil.copytree(self._copy, self._workspace, symlinks=True, dirs_exist_ok=True)

    def discard(self) -> None:
        """Let go of the copy."""
        shutil.rmtree(self._folder, ignore_errors=True)
