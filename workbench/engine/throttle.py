"""How many calls a provider gets at once, and how many a minute. The contract: whoever asks a model takes a `Turn` first.

The engine alone holds nothing back. Workers bring a throttle that they all share.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from workbench.engine.errors import WorkbenchError

SecondsLeft = Callable[[], float | None]
"""How long the caller may still wait; None is no limit."""


class Turn(Protocol):
    """One call's turn, which lasts for a `with`. A `ProviderError` that leaves it and says that the server is busy is
    taken note of."""

    @property
    def waited_seconds(self) -> float: ...

    def __enter__(self) -> object: ...

    def __exit__(self, kind: object, error: BaseException | None, traceback: object, /) -> None: ...


class Throttle(Protocol):
    """Lets calls through."""

    async def turn(self, provider: str, seconds_left: SecondsLeft) -> Turn:
        """Waits for a turn; it must be entered. Raises `LimitReached` at once where it could not come in time."""

    async def close(self) -> None:
        """Let go of connections; nobody may be waiting."""


class Free:
    """A turn that comes at once."""

    waited_seconds = 0.0

    def __enter__(self) -> None:
        pass

    def __exit__(self, *details: object) -> None:
        pass


class NoThrottle:
    """Every call at once."""

    async def turn(self, provider: str, seconds_left: SecondsLeft) -> Turn:
        return FREE

    async def close(self) -> None:
        pass


FREE, NO_THROTTLE = Free(), NoThrottle()


class Rate(NamedTuple):
    """What a provider gets: calls at once, and starts within any minute; None is no limit."""

    at_once: int
    per_minute: int | None = None

    def __str__(self) -> str:
        calls = f"{self.at_once:,} call{'' if self.at_once == 1 else 's'} at once"
        return calls if self.per_minute is None else f"{calls}, {self.per_minute:,} a minute"


OTHERS = Rate(64)
DEFAULTS: Mapping[str, Rate] = {"ollama": Rate(4), "embedded": Rate(2)}
UNTHROTTLED = frozenset({"scripted"})
"""It answers from a file. Naming it in the setting throttles it all the same."""

RATE = re.compile(r"([a-z][a-z0-9_]*)=([1-9][0-9]{0,4})(?:/([1-9][0-9]{0,5})rpm)?")


class WrongRates(WorkbenchError):
    """The setting can't be read."""

    code = "setting"


def read_rates(text: str) -> dict[str, Rate]:
    """The rates that a setting such as `ollama=2,openai_compatible=16/60rpm` gives. Raises `WrongRates`."""
    found: dict[str, Rate] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        match = RATE.fullmatch(item)
        if match is None:
            raise WrongRates(
                f"{item!r} is no limit of a provider. Write ollama=2 for two calls at once, or "
                "openai_compatible=16/60rpm for sixteen at once and sixty a minute; commas between them."
            )
        name, at_once, per_minute = match.groups()
        found[name] = Rate(int(at_once), int(per_minute) if per_minute else None)
    return found


def rate_of(provider: str, rates: Mapping[str, Rate]) -> Rate | None:
    """What the provider gets: as set, else its default; None is everything."""
    if provider in UNTHROTTLED and provider not in rates:
        return None
    return rates.get(provider) or DEFAULTS.get(provider, OTHERS)
