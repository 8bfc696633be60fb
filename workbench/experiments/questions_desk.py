"""Where the visits of a run that a process holds wait for people: the engine's desk over the tables of questions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from workbench.engine.events import Asked
from workbench.engine.people import Answer, Desk
from workbench.experiments import questions
from workbench.experiments.models import Run
from workbench.experiments.writer import Writer


def desk_make(run: Run, writer: Writer, answers: Mapping[str, Answer]) -> Desk:
    """A desk for one attempt; what it tells and asks goes through the writer's thread."""

    async def opened(asked: Asked, told: str) -> None:
        await writer.call(lambda: questions.question_open(run, asked, told))

    async def fetch(sha256: str) -> bytes:
        found: bytes = await writer.call(lambda: questions.upload_read(sha256))
        return found

    return Desk(answers, opened, fetch)


def desks_serve(desks: Mapping[int, Desk], loop: asyncio.AbstractEventLoop) -> None:
    """Hand in what has come for the visits that wait on this loop. Free where none does."""
    for run_id, desk in desks.items():
        if keys := list(desk.open):
            for key, answer in questions.answers_of(run_id, keys).items():
                loop.call_soon_threadsafe(desk.hand_in, key, answer)
