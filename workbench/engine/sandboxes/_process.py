"""Runs one command for a sandbox: output bounded while it is read, totals watched, its whole process group ended.

It works in a thread of its own, so that neither a flood of output nor a slow end holds up the other runs of a worker.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

from workbench.engine.errors import SandboxError
from workbench.engine.filestore import Quota
from workbench.engine.filestore.trees import too_much
from workbench.engine.sandboxes import Finished, Limits
from workbench.engine.sandboxes._usage import exceeded

TICK_S = 0.1
COUNT_TICKS = 10
"""The files are counted once in so many ticks."""
DRAIN_S = 0.5
CHUNK = 65536
PAUSE_S = 0.001
"""After each chunk beyond the bound: a flood then takes a few per cent of a core instead of all of it."""

SET_LIMITS = (
    "ulimit -c 0; ulimit -f $1; ulimit -v $2 2>/dev/null; "
    "[ $3 = 0 ] || { (ulimit -u $3) 2>/dev/null && ulimit -u $3; } || ulimit -p $3 2>/dev/null; "
    'shift 3; exec "$@"'
)
"""The limits that the system itself keeps, set by a shell: shells differ in the letter for processes."""


def limited(command: Sequence[str], limits: Limits, *, processes: bool) -> list[str]:
    """The command with the limits that hold for each of its processes. `processes`: count them too, which is of use
    only where they are not counted together with those of everybody else."""
    numbers = (limits.file_bytes // 512, limits.memory_bytes * 4 // 1024, limits.processes if processes else 0)
    return ["/bin/sh", "-c", SET_LIMITS, "sh", *map(str, numbers), *command]


async def run_process(
    command: Sequence[str],
    *,
    folder: Path,
    environ: Mapping[str, str],
    stdin: bytes,
    timeout_s: float,
    limits: Limits,
) -> Finished:
    """Run it to its end. When this is cancelled, it has ended before the cancelling goes on."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[Finished] = loop.create_future()
    execution = _Execution(command, folder, environ, stdin, timeout_s, limits)

    def settle(settling: Callable[[], None]) -> None:
        if not outcome.done():
            settling()

    def work() -> None:
        try:
            settling = partial(outcome.set_result, execution.run())
        except BaseException as error:  # told to whoever waits
            settling = partial(outcome.set_exception, error)
        loop.call_soon_threadsafe(settle, settling)

    threading.Thread(target=work, name="sandbox", daemon=True).start()
    try:
        return await asyncio.shield(outcome)
    except asyncio.CancelledError:
        execution.stop()
        await asyncio.wait([outcome])
        outcome.cancelled() or outcome.exception()  # looked at, so that nobody misses it
        raise


class _Kept:
    """One output, of which so much is kept: the beginning, or the end."""

    def __init__(self, bound: int, *, end: bool) -> None:
        self.bound, self.end, self.data, self.truncated = bound, end, bytearray(), False

    def add(self, chunk: bytes) -> None:
        self.data += chunk
        if len(self.data) > self.bound:
            self.truncated = True
            if self.end:
                del self.data[: -self.bound]
            else:
                del self.data[self.bound :]


class _Execution:
    """One command under way."""

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        environ: Mapping[str, str],
        stdin: bytes,
        timeout_s: float,
        limits: Limits,
    ) -> None:
        self._command, self._folder, self._environ, self._stdin = command, folder, environ, memoryview(stdin)
        self._timeout_s, self._limits = timeout_s, limits
        self._out = _Kept(limits.output_bytes, end=False)
        self._err = _Kept(limits.output_bytes, end=True)
        self._stop_read, self._stop_write = os.pipe()
        self._stopped = threading.Event()
        self._closing = threading.Lock()

    def stop(self) -> None:
        """End it now. May be called from any thread, also when it has ended."""
        with self._closing:
            if not self._stopped.is_set():
                self._stopped.set()
                os.write(self._stop_write, b"x")

    def run(self) -> Finished:
        try:
            return self._run()
        finally:
            with self._closing:
                self._stopped.set()
                os.close(self._stop_read)
                os.close(self._stop_write)

    def _run(self) -> Finished:
        try:
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self._folder,
                env=dict(self._environ),
                start_new_session=True,
            )
        except OSError as error:
            raise SandboxError(f"The sandbox could not be started: {error.strerror}.") from error
        with process, selectors.DefaultSelector() as selector:
            self._register(selector, process)
            timed_out = reason = None
            try:
                timed_out, reason = self._wait(selector, process)
            finally:
                _end(process)
                self._drain(selector)
                exit_code = process.wait()
        return Finished(
            exit_code,
            bytes(self._out.data),
            bytes(self._err.data),
            bool(timed_out),
            self._out.truncated or self._err.truncated,
            reason or "",
        )

    def _register(self, selector: selectors.BaseSelector, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        selector.register(process.stdout, selectors.EVENT_READ, self._out)
        selector.register(process.stderr, selectors.EVENT_READ, self._err)
        selector.register(self._stop_read, selectors.EVENT_READ)
        os.set_blocking(process.stdin.fileno(), False)
        if self._stdin:
            selector.register(process.stdin, selectors.EVENT_WRITE)
        else:
            process.stdin.close()

    def _wait(self, selector: selectors.BaseSelector, process: subprocess.Popen[bytes]) -> tuple[bool, str]:
        """Until it ends by itself, or must: whether its time was up, and the limit that it broke."""
        deadline = time.monotonic() + self._timeout_s
        look = time.monotonic() + TICK_S
        ticks = 0
        while not self._stopped.is_set():
            now = time.monotonic()
            if now >= deadline:
                return True, ""
            if now >= look:
                look = now + TICK_S
                if _has_ended(process):
                    break
                ticks += 1
                reason = exceeded(process.pid, self._limits) or (self._too_much() if ticks % COUNT_TICKS == 0 else "")
                if reason:
                    return False, reason
            self._move(selector, max(0.0, min(look, deadline) - now))
            if not _reading(selector) and self._ends_soon(process, min(look, deadline)):
                break
        return False, ""

    def _too_much(self) -> str:
        """Whether it fills the disk: why that is too much, in words."""
        limits = self._limits
        if not limits.workspace_bytes:
            return ""
        return too_much(self._folder, Quota(limits.workspace_bytes, limits.workspace_files))

    def _ends_soon(self, process: subprocess.Popen[bytes], until: float) -> bool:
        """After both outputs are closed the process is nearly always at its end."""
        while not _has_ended(process):
            left = until - time.monotonic()
            if left <= 0 or self._stopped.wait(min(0.002, left)):
                return False
        return True

    def _move(self, selector: selectors.BaseSelector, timeout: float) -> None:
        """Read and write what is ready."""
        for key, _ in selector.select(timeout):
            if isinstance(key.data, _Kept):
                self._read(selector, key.fileobj, key.data)
            elif key.fd != self._stop_read:
                self._write(selector, key.fileobj)

    def _read(self, selector: selectors.BaseSelector, file: Any, kept: _Kept) -> None:
        chunk = os.read(file.fileno(), CHUNK)
        if not chunk:
            selector.unregister(file)
            return
        if kept.truncated:
            time.sleep(PAUSE_S)
        kept.add(chunk)

    def _write(self, selector: selectors.BaseSelector, file: IO[bytes] | Any) -> None:
        try:
            sent = os.write(file.fileno(), self._stdin[:CHUNK])
        except BlockingIOError:
            return
        except BrokenPipeError:  # it does not want to read
            sent = len(self._stdin)
        self._stdin = self._stdin[sent:]
        if not self._stdin:
            selector.unregister(file)
            file.close()

    def _drain(self, selector: selectors.BaseSelector) -> None:
        """Read what is left in the pipes; something that escaped may hold them open for ever."""
        until = time.monotonic() + DRAIN_S
        while _reading(selector) and time.monotonic() < until:
            self._move(selector, 0.02)


def _reading(selector: selectors.BaseSelector) -> bool:
    """Whether an output is still open."""
    return any(isinstance(key.data, _Kept) for key in selector.get_map().values())


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether it has ended; it stays unreaped, so that its number still means its group and nobody else's."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # nothing is left (macOS says it differently)
        os.killpg(process.pid, signal.SIGKILL)
