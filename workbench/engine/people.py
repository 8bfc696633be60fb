"""People in a run: what they are asked, and where a visit stands while it waits for them.

A visit that needs a person writes `asked` down and waits; the rest of the run goes on. When nothing else is left, the
attempt ends: a run that only waits holds no worker. The next attempt begins when there is an answer, and finds it here.
An answer that comes while the run still works is handed in, and the visit goes on at once.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from workbench.engine.errors import LimitReached, NodeFailed
from workbench.engine.events import Answered, Asked, AttachedFile


class Question(NamedTuple):
    """What a person is asked. `free`: something else than one of the choices may be said. `default` is what is taken
    when `timeout_s` are over; None: then there is no answer. `asker` is the node type or the tool."""

    text: str
    asker: str
    choices: tuple[str, ...] = ()
    free: bool = True
    timeout_s: float | None = None
    default: str | None = None


class Answer(NamedTuple):
    """What came of a question: what a person said, or that the time was up. `at` is seconds since the epoch."""

    text: str = ""
    choice: str | None = None
    files: tuple[AttachedFile, ...] = ()
    by: str = ""
    at: float = 0.0
    timed_out: bool = False


def question_key() -> str:
    """A name for a question, by which its answer finds it: places come again when a visit is made anew."""
    return secrets.token_hex(12)


class Inner(Protocol):
    """A nested run, as the visit around it sees it."""

    def parked(self) -> bool:
        """Whether it waits for people and nothing else."""

    def give_up(self, error: LimitReached) -> None:
        """Let nothing in it wait any longer."""


class Standing:
    """How a visit stands, or one unit of a map: it works, or it waits for a person and nothing else.

    `changed` tells the run that it is worth looking again; `around` is the visit that this one is a part of. `gate` is
    the place among the units at once that is given up while waiting.
    """

    __slots__ = ("_answer", "_given_up", "around", "asked", "changed", "gate", "inner", "units", "waited")

    def __init__(
        self, changed: Callable[[], None], around: Standing | None = None, gate: asyncio.Semaphore | None = None
    ) -> None:
        self.changed, self.around, self.gate = changed, around, gate
        self.inner: Inner | None = None
        self.units: dict[int, Standing] = {}
        self.waited = 0.0
        self.asked = False
        self._answer: asyncio.Future[Answer] | None = None
        self._given_up: LimitReached | None = None

    def of(self, unit: int | None) -> Standing:
        """That of a unit of this visit; without units its own."""
        return self if unit is None else self.units.get(unit, self)

    def begin(self, unit: int, gate: asyncio.Semaphore) -> None:
        """A unit is to be done."""
        self.units[unit] = Standing(self.changed, self, gate)

    def end(self, unit: int) -> None:
        """A unit has ended; those that are left may all be waiting."""
        self.units.pop(unit, None)
        if self.asked:
            self.changed()

    def parked(self) -> bool:
        """Whether it waits for people and nothing else."""
        if self.inner is not None:
            return self.inner.parked()
        if self.units:
            return all(unit.parked() for unit in self.units.values())
        return self._answer is not None and not self._answer.done()

    def give_up(self, error: LimitReached) -> None:
        """Wait no longer: the run has met a limit."""
        self._given_up = error
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)
        for unit in self.units.values():
            unit.give_up(error)
        if self.inner is not None:
            self.inner.give_up(error)

    async def wait(self, answer: asyncio.Future[Answer]) -> Answer:
        """The answer, once it is there. Raises `LimitReached` where it is given up."""
        if self._given_up is not None:
            raise self._given_up
        self._answer = answer
        if self.gate is not None:
            self.gate.release()
        standing: Standing | None = self
        while standing is not None and not standing.asked:
            standing.asked, standing = True, standing.around
        began = time.monotonic()
        self.changed()
        try:
            found = await answer
        finally:
            self.waited += time.monotonic() - began
        if self.gate is not None:
            await self.gate.acquire()
        return found


Opened = Callable[[Asked, str], Awaitable[None]]
"""Tells people of a question, with what its node was told; again when the run goes on and it is still open."""


class Desk:
    """Where the visits of one attempt wait. `answers` are those that were there when it began, by the question's key;
    `fetch` brings the content of a file by its hash."""

    def __init__(
        self,
        answers: Mapping[str, Answer] | None = None,
        opened: Opened | None = None,
        fetch: Callable[[str], Awaitable[bytes]] | None = None,
    ) -> None:
        self.open: dict[str, asyncio.Future[Answer]] = {}
        self.fetch = fetch
        self._answers = dict(answers or {})
        self._opened = opened

    def hand_in(self, key: str, answer: Answer) -> None:
        """An answer has come; the visit that waits for it goes on. On the run's own loop."""
        self._answers[key] = answer
        waiting = self.open.get(key)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    async def ask(self, asked: Asked, told: str, standing: Standing) -> Answer:
        """The answer, as soon as there is one."""
        if asked.key in self._answers:
            return self._answers[asked.key]
        waiting: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.open[asked.key] = waiting
        try:
            if self._opened is not None:
                await self._opened(asked, told)
            return await standing.wait(waiting)
        finally:
            self.open.pop(asked.key, None)


def said(answered: Answered, files: Sequence[str] = ()) -> str:
    """An answer as the next node or an agent reads it: the choice, what was said, the files that came with it."""
    parts = [answered.choice or "", answered.text if answered.text != answered.choice else ""]
    if files:
        parts.append("Files in the workspace: " + ", ".join(files))
    return "\n\n".join(part for part in parts if part)


def time_is_up(asked: Asked, at: float) -> Answer:
    """What a question comes to that nobody answered in time."""
    default = asked.default
    choice = default if default in asked.choices else None
    return Answer(default or "", choice, by="", at=at, timed_out=True)


UPLOADS = "uploads"
"""The folder of the workspace in which files stand that people sent."""


async def attach(
    files: Sequence[AttachedFile], workspace: Path, fetch: Callable[[str], Awaitable[bytes]] | None
) -> tuple[str, ...]:
    """Put the files of an answer into the workspace, again where that was done before; their paths in it."""
    paths = []
    for file in files:
        if fetch is None:
            raise NodeFailed(f"The file {file.name!r} of the answer can't be had here.", code="no_file")
        paths.append(await asyncio.to_thread(_put, await fetch(file.sha256), workspace, file.name))
    return tuple(paths)


def _put(content: bytes, workspace: Path, name: str) -> str:
    """Write it, under another name where one with other content stands there; links are not followed."""
    folder = workspace / UPLOADS
    stem, dot, end = name.partition(".")
    try:
        folder.mkdir(exist_ok=True)
        if folder.is_symlink():
            raise NodeFailed(f"{UPLOADS!r} in the workspace is a link: the files of an answer can't go there.")
        for number in range(1, 1000):
            path = folder / (name if number == 1 else f"{stem}-{number}{dot}{end}")
            if path.is_file() and not path.is_symlink() and path.read_bytes() == content:
                return f"{UPLOADS}/{path.name}"
            if not path.exists() and not path.is_symlink():
                path.write_bytes(content)
                return f"{UPLOADS}/{path.name}"
    except OSError as error:
        raise NodeFailed(f"The file {name!r} of the answer can't be written: {error.strerror}.") from error
    raise NodeFailed(f"There are too many files named {name!r} in {UPLOADS!r}.")
