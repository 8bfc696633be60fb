"""What a process and all below it use together. Limits of the system are for each process alone, and not for root."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache

from workbench.engine.sandboxes import Limits


def exceeded(root: int, limits: Limits) -> str:
    """The limit that the processes below `root` break together, in words, or nothing. Knows nothing without /proc."""
    tasks = memory = 0
    for process in _below(root):
        count, used = _use(process)
        tasks, memory = tasks + count, memory + used
        if tasks > limits.processes:
            return f"It had more than {limits.processes:,} processes and threads at once."
        if memory > limits.memory_bytes:
            return f"It used more than {limits.memory_bytes // 1_000_000:,} MB of memory."
    return ""


def _below(root: int) -> Iterator[int]:
    waiting = [root]
    while waiting:
        process = waiting.pop()
        yield process
        for task in _tasks(process):
            waiting += [int(child) for child in _read(f"/proc/{process}/task/{task}/children").split()]


def _use(process: int) -> tuple[int, int]:
    """Its threads, and the bytes of memory that it shares with no file."""
    numbers = _read(f"/proc/{process}/statm").split()
    used = (int(numbers[1]) - int(numbers[2])) * _page() if len(numbers) > 2 else 0
    return len(_tasks(process)), used


def _tasks(process: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{process}/task")
    except OSError:  # it has ended
        return []


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read()
    except OSError:
        return ""


@cache
def _page() -> int:
    return os.sysconf("SC_PAGE_SIZE")
