"""A clock that may be set while the workbench runs: by a person, by a time server, by waking up."""

from __future__ import annotations

import time
from collections.abc import Callable

SET_S = 5.0
"""So far may the clock drift from the seconds that passed between two looks."""


class Clock:
    """Compares the clock on the wall with the seconds that passed."""

    def __init__(self, wall: Callable[[], float] = time.time, passed: Callable[[], float] = time.monotonic) -> None:
        self._wall, self._passed = wall, passed
        self._ahead = wall() - passed()

    def was_set(self) -> bool:
        """Whether the clock was set since the last look: signs of life that others gave before then look too old, or
        too new, until they give the next one."""
        before, self._ahead = self._ahead, self._wall() - self._passed()
        return abs(self._ahead - before) > SET_S
