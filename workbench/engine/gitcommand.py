"""Runs Git on one repository so that nothing of the machine, the user or the repository itself can change what it does.

No hooks, filters, pagers, signatures, helpers or network; neither the system's nor the user's configuration is read.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from tempfile import TemporaryFile
from typing import ClassVar

from workbench.engine.errors import WorkbenchError

# These outrank the repository's own configuration, which came from outside if the repository was cloned.
CONFIG = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.attributesFile": os.devnull,
    "core.excludesFile": os.devnull,
    "core.autocrlf": "false",
    "core.quotePath": "false",
    "core.sshCommand": "false",
    "commit.gpgSign": "false",
    "gpg.program": "false",
    "log.showSignature": "false",
    "log.showRoot": "true",
    "log.mailmap": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    "credential.helper": "",
}


class GitError(WorkbenchError):
    """Git could not do something."""

    code = "git"


class GitCommand:
    """Git on the repository in `folder`, perhaps with files at `root`."""

    Error: ClassVar[type[WorkbenchError]] = GitError
    place: ClassVar[str] = "the repository"

    def __init__(self, folder: Path, root: Path | None = None) -> None:
        self.folder = folder
        self._root = root

    def run(self, *arguments: str, given: bytes = b"") -> bytes:
        """What Git prints. Raises `Error` with Git's own words where it fails."""
        os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")  # without Git the pages still open and say what is missing
        from git.cmd import Git  # a tenth of a second, which most processes never need
        from git.exc import GitCommandError, GitCommandNotFound

        try:
            with TemporaryFile() as file:
                file.write(given)
                file.seek(0)
                output = Git(self._root or self.folder).execute(
                    self._command(arguments), istream=file, stdout_as_string=False, strip_newline_in_stdout=False
                )
        except GitCommandNotFound as error:
            raise self.Error("Git could not be started. Install Git, and start the workbench again.") from error
        except GitCommandError as error:
            words = str(error.stderr).strip().removeprefix("stderr:").strip(" '\n")
            raise self.Error(f"Git could not do this in {self.place}: {words or error.status}") from error
        except OSError as error:
            place = f"{self.place[0].upper()}{self.place[1:]}"
            raise self.Error(f"{place} can't be used: {error.strerror or error}.") from error
        return output

    def _command(self, arguments: tuple[str, ...]) -> list[str]:
        program = shutil.which("git")
        if program is None:
            raise self.Error("Git is not installed. Install Git, and start the workbench again.")
        settings = [part for key, value in CONFIG.items() for part in ("-c", f"{key}={value}")]
        # GitPython hands the whole process environment on, GIT_* too; `env -i` starts from nothing instead.
        return ["/usr/bin/env", "-i", *self._environment(), program, "--no-pager", *settings, *arguments]

    def _environment(self) -> list[str]:
        values = {
            "PATH": os.environ.get("PATH", os.defpath),
            "LC_ALL": "C",
            "GIT_DIR": str(self.folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_SYSTEM": os.devnull,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_LITERAL_PATHSPECS": "1",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
        }
        if self._root is not None:
            values["GIT_WORK_TREE"] = str(self._root)
        return [f"{key}={value}" for key, value in values.items()]
