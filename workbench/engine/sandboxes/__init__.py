"""Where code that nobody vouches for runs. The contract: one `Sandbox` in a file of its own beside this one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

from workbench.engine.errors import SandboxError
from workbench.engine.plugins import Plugins

PREFERENCE = ("bubblewrap", "folder")
"""The first that is available is used."""


class Limits(NamedTuple):
    """What one execution may use. Memory and processes are of all its processes together, `file_bytes` is of one file,
    `temporary_bytes` of what stands in its own /tmp, `output_bytes` of each of its two outputs, `workspace_bytes` and
    `workspace_files` of what stands in the workspace (0: not counted)."""

    memory_bytes: int = 1_000_000_000
    processes: int = 128
    file_bytes: int = 100_000_000
    temporary_bytes: int = 64_000_000
    output_bytes: int = 1_000_000
    workspace_bytes: int = 0
    workspace_files: int = 0


class Finished(NamedTuple):
    """How a command ended. Of a longer `stdout` the beginning is kept, of a longer `stderr` the end. `exceeded` is the
    limit that it was ended for, in words, or empty."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    timed_out: bool = False
    truncated: bool = False
    exceeded: str = ""


class Sandbox(ABC):
    """A place for commands: they may write the workspace, and nothing else outlives them."""

    isolates: ClassVar[bool] = True
    """Whether it keeps a command from files and network of this machine."""

    @classmethod
    @abstractmethod
    def available(cls, environ: Mapping[str, str]) -> str:
        """Empty if it can be used here, else a sentence about what is missing."""

    @abstractmethod
    def __init__(self, environ: Mapping[str, str]) -> None:
        """Only where it is available."""

    @abstractmethod
    def python(self) -> str:
        """The Python interpreter, as commands inside name it."""

    @abstractmethod
    async def run(
        self, command: Sequence[str], workspace: Path, *, stdin: bytes = b"", timeout_s: float, limits: Limits
    ) -> Finished:
        """Run a command in the workspace. It ends with all of its processes, at the time-out and on cancelling too.
        Raises `SandboxError` where it can't be started."""


SANDBOXES = Plugins("workbench.engine.sandboxes", Sandbox, "sandbox")  # type: ignore[type-abstract]


class Chosen(NamedTuple):
    """The sandbox of this machine and its name."""

    name: str
    sandbox: Sandbox


def choose_sandbox(environ: Mapping[str, str]) -> Chosen:
    """The safest sandbox that is here. Raises `SandboxError`, which says what to install."""
    missing = []
    for name in PREFERENCE:
        kind = SANDBOXES.get(name)
        reason = kind.available(environ)
        if not reason:
            return Chosen(name, kind(environ))
        missing.append(reason)
    raise SandboxError("There is no safe place here to run code in. " + " ".join(missing))
