"""The sandbox `bubblewrap`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from workbench.engine.errors import SandboxError
from workbench.engine.sandboxes import Finished, Limits, Sandbox
from workbench.engine.sandboxes._process import limited, run_process

INSIDE = "/workspace"
ENVIRON = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "PYTHONUTF8": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
}
ALONE = "--unshare-pid --unshare-net --unshare-ipc --unshare-uts --unshare-cgroup-try --hostname sandbox".split()
BOUND = "--cap-drop ALL --new-session --die-with-parent".split()
NOBODY = "--unshare-user --uid 65534 --gid 65534".split()
# /proc is read-only because to the kernel a sandbox started by root is still root, who may write the machine's settings.
PROC = "--proc /proc --remount-ro /proc".split()
ETC = ("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime")
FORMS: tuple[list[str], ...] = ([*NOBODY, "--disable-userns", *PROC], [*NOBODY, *PROC], NOBODY, PROC, [])
"""From strict to what old releases, containers that hide parts of /proc, and root without user namespaces still allow."""


class Bubblewrap(Sandbox):
    """Linux namespaces through `bwrap`: own processes, no network, only system programs and the workspace to see."""

    @classmethod
    def available(cls, environ: Mapping[str, str]) -> str:
        program = _program(environ)
        if not program:
            return "Install bubblewrap (`apt install bubblewrap`)."
        _, fault = _form(program)
        return f"bubblewrap is installed but can't make a sandbox here ({fault})." if fault else ""

    def __init__(self, environ: Mapping[str, str]) -> None:
        program = _program(environ)
        self._start = [program, *_form(program)[0]]

    def python(self) -> str:
        return _python()

    async def run(
        self, command: Sequence[str], workspace: Path, *, stdin: bytes = b"", timeout_s: float, limits: Limits
    ) -> Finished:
        size = ["--size", str(limits.temporary_bytes)]
        private = [*size, "--tmpfs", "/dev/shm", *size, "--perms", "1777", "--tmpfs", "/tmp"]
        place = ["--bind", ".", INSIDE, "--chdir", INSIDE, "--remount-ro", "/dev", "--remount-ro", "/"]
        inside = limited(command, limits, processes=_counts_by_namespace())
        finished = await run_process(
            [*self._start, *private, *place, "--", *inside],
            folder=workspace,
            environ=ENVIRON,
            stdin=stdin,
            timeout_s=timeout_s,
            limits=limits,
        )
        if finished.exit_code == 1 and finished.stderr.startswith(b"bwrap: "):
            said = finished.stderr.decode("utf-8", "replace").strip().removeprefix("bwrap: ")
            raise SandboxError(f"The sandbox could not be started: {said[:200]}.")
        return finished


def _program(environ: Mapping[str, str]) -> str:
    found = shutil.which("bwrap", path=environ.get("PATH", os.defpath))
    return found if found and sys.platform == "linux" else ""


@cache
def _form(program: str) -> tuple[list[str], str]:
    """The arguments that work here, found by trying them once; or what is said about the plainest."""
    said = ""
    for extra in FORMS:
        arguments = [*ALONE, *BOUND, *_system(), *extra, "--dev", "/dev"]
        done = subprocess.run(
            [program, *arguments, "--remount-ro", "/", "/bin/sh", "-c", ":"],
            env=ENVIRON,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
        if done.returncode == 0:
            return arguments, ""
        said = done.stderr.strip().removeprefix("bwrap: ")[:200] or f"exit code {done.returncode}"
    return [], said


def _system() -> list[str]:
    """The machine's programs and libraries, read-only; of /etc only what the loader and the clock need."""
    shown = ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        path = Path("/", name)
        if path.is_symlink():
            shown += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            shown += ["--ro-bind", str(path), str(path)]
    for name in ETC:
        shown += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    prefix = Path(sys.base_prefix)
    return shown if prefix.is_relative_to("/usr") else [*shown, "--ro-bind", str(prefix), str(prefix)]


def _python() -> str:
    """The interpreter under the virtual environment: the environment itself is not to be seen inside."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return str(Path(sys.base_prefix, "bin", version))


@cache
def _counts_by_namespace() -> bool:
    """Whether the kernel (5.14) counts processes by namespace, and not those of the whole machine with them."""
    numbers = re.findall(r"\d+", os.uname().release)
    return tuple(map(int, numbers[:2])) >= (5, 14)
