"""What processes have used of the machine, as the kernel counts it. Unknown where there is no /proc."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pids: Iterable[int]) -> float | None:
    """CPU time until now, of all threads."""
    total = 0.0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return None
        total += (int(fields[11]) + int(fields[12])) / TICKS
    return total


def peak_mb(pids: Iterable[int]) -> float | None:
    """The most memory that each held, added up; pages that they share count in each."""
    total = 0
    for pid in pids:
        try:
            found = re.search(r"^VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
        except OSError:
            return None
        if found is None:
            return None
        total += int(found[1])
    return total / 1024
