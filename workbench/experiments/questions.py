"""What runs ask people: put on the table, answered once, or taken off it when the time is up.

A question and the run that waits for it change together: whoever answers and whoever lets go of the run lock the run's
row first. So a run that waits has nothing but open questions, and one that has an answer is in the queue or at work.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.timesince import timesince

from workbench.engine.errors import WorkbenchError
from workbench.engine.events import Asked, AttachedFile
from workbench.engine.people import Answer
from workbench.experiments import lifecycle, tickets
from workbench.experiments.live.wire import ring
from workbench.experiments.models import Question, Run, Upload
from workbench.experiments.text import storable

TOLD = 20_000
"""So much of what its node was told stands beside a question; the visit's page holds the rest."""
ANSWER = 100_000
FILES, FILE_BYTES = 10, 5_000_000
NAME_BYTES = 200
"""File systems have room for 255, and a number may be added to the name."""
UNSAFE = re.compile(r"[^\w.\- ]+")
ASKED_IN = (Run.Status.QUEUED, Run.Status.RUNNING, Run.Status.WAITING, Run.Status.LOST)
"""The states of a run in which somebody may still answer."""


class NoAnswer(WorkbenchError):
    """An answer that says nothing, or not what may be said."""

    code = "no_answer"


class AnsweredAlready(WorkbenchError):
    """Somebody else was first, the time is up, or the run has ended."""

    code = "answered_already"


class Given(NamedTuple):
    """What a person answers: a choice, words, files (name and content)."""

    choice: str | None = None
    text: str = ""
    files: tuple[tuple[str, bytes], ...] = ()


def question_open(run: Run, asked: Asked, told: str) -> None:
    """Put a question on the table; once, however often the run is gone on with. Not for an attempt that lost its run."""
    with transaction.atomic():
        if not lifecycle.runs_locked(lifecycle.held_by(run)):
            return
        Question.objects.get_or_create(
            run=run,
            key=asked.key,
            defaults={
                "node": ":".join((*asked.path, asked.node))[:500],
                "visit": asked.visit,
                "unit": asked.unit,
                "asker": asked.asker,
                "text": storable(asked.question),
                "told": storable(told[:TOLD]),
                "choices": [storable(choice) for choice in asked.choices],
                "free": asked.free,
                "default": None if asked.default is None else storable(asked.default),
                "asked_at": at(asked.at),
                "deadline": None if asked.deadline is None else at(asked.deadline),
            },
        )


def at(seconds: float) -> datetime:
    """A time of the journal as the database has them."""
    return datetime.fromtimestamp(seconds, UTC)


def questions_open() -> QuerySet[Question]:
    """Those that somebody may answer now."""
    return Question.objects.filter(status=Question.Status.OPEN, run__status__in=ASKED_IN, run__scripted=False)


def question_answer(question: Question, given: Given, *, by: str) -> Question:
    """Answer it; the run goes on. Raises `NoAnswer`, or `AnsweredAlready` for whoever comes second."""
    if question.run.scripted:
        raise AnsweredAlready("This run is played from a script: only the command that started it can go on with it.")
    with transaction.atomic():
        run_wake(answer_take(question, given, by=by))
    return question


@transaction.atomic
def answer_take(question: Question, given: Given, *, by: str) -> Run:
    """Write the first answer down; the run, whose row is locked. Raises `NoAnswer`, `AnsweredAlready`."""
    given = checked(question, given)
    run = Run.objects.select_for_update().get(pk=question.run_id)
    if run.status not in ASKED_IN:
        word = run.get_status_display().lower()
        raise AnsweredAlready(f"Nobody waits for this answer any more: run {run.pk} is {word}.")
    taken = Question.objects.filter(pk=question.pk, status=Question.Status.OPEN).update(
        status=Question.Status.ANSWERED,
        choice=given.choice,
        answer=given.text,
        files=[upload_keep(name, content) for name, content in given.files],
        answered_by=storable(by)[:200],
        answered_at=timezone.now(),
    )
    question.refresh_from_db()
    if not taken:
        raise AnsweredAlready(f"{outcome_words(question)} Your answer was not taken.")
    return run


def checked(question: Question, given: Given) -> Given:
    """The answer as it is kept. Raises `NoAnswer`."""
    text, choice = storable(given.text.strip().replace("\r\n", "\n")), given.choice or None
    if choice is not None and choice not in question.choices:
        raise NoAnswer(f"{choice!r} is none of the choices: {', '.join(question.choices) or 'there are none'}.")
    if choice is None and not question.free:
        raise NoAnswer("Choose one of the answers.")
    if choice is None and not text and not given.files:
        raise NoAnswer("Write an answer, or choose one." if question.choices else "Write an answer.")
    if len(text) > ANSWER:
        raise NoAnswer(f"The answer has {len(text):,} characters; {ANSWER:,} are the most. Send a file instead.")
    if len(given.files) > FILES:
        raise NoAnswer(f"These are {len(given.files)} files; {FILES} are the most.")
    for name, content in given.files:
        file_size_check(name, len(content))
    return given._replace(choice=choice, text=text)


def file_size_check(name: str, size: int) -> None:
    """Raises `NoAnswer` for a file of more bytes than an answer may bring."""
    if size > FILE_BYTES:
        raise NoAnswer(f"The file {name!r} has {size:,} bytes; {FILE_BYTES:,} are the most.")


def run_wake(run: Run) -> None:
    """A question of this run, whose row is locked, has an answer: a waiting run goes back to the queue, one at work is
    told. A ticket or a bell that gets lost is made up for by the sweep and the next heartbeat."""
    if run.status == Run.Status.WAITING and not run.scripted:
        Run.objects.filter(pk=run.pk).update(status=Run.Status.QUEUED, queued_at=timezone.now(), reason="")
        transaction.on_commit(lambda: tickets.send_or_log([(tickets.RUN, (run.pk,))]))
    elif run.status == Run.Status.RUNNING:
        transaction.on_commit(ring)


def questions_expire() -> int:
    """Answer those whose time is up as they say; how many. Whether a worker holds the run makes no difference."""
    late = Question.objects.filter(status=Question.Status.OPEN, deadline__lte=timezone.now())
    over = list(late.filter(run__status__in=ASKED_IN).values_list("pk", "run_id"))
    return sum(expire(pk, run_id) for pk, run_id in over)


@transaction.atomic
def expire(pk: int, run_id: int) -> int:
    run = Run.objects.select_for_update().get(pk=run_id)
    if run.status not in ASKED_IN:
        return 0
    question = Question.objects.get(pk=pk)
    default = question.default
    done = Question.objects.filter(pk=pk, status=Question.Status.OPEN).update(
        status=Question.Status.TIMED_OUT,
        answer=default or "",
        choice=default if default in question.choices else None,
        answered_at=timezone.now(),
    )
    if done:
        run_wake(run)
    return done


def answers_of(run_id: int, keys: Iterable[str] | None = None) -> dict[str, Answer]:
    """What has come of a run's questions, by their keys."""
    answered = Question.objects.filter(run=run_id).exclude(status=Question.Status.OPEN)
    if keys is not None:
        answered = answered.filter(key__in=list(keys))
    return {question.key: answer_of(question) for question in answered}


def answer_of(question: Question) -> Answer:
    """As the run takes it."""
    files = tuple(AttachedFile.model_validate(file) for file in question.files)
    when = question.answered_at.timestamp() if question.answered_at else 0.0
    return Answer(
        question.answer,
        question.choice,
        files,
        question.answered_by,
        when,
        timed_out=question.status == Question.Status.TIMED_OUT,
    )


def outcome_words(question: Question) -> str:
    """Who answered and what, as a sentence."""
    if question.answered_at is None:
        return "It is open."
    said = question.choice or question.answer or ", ".join(file["name"] for file in question.files)
    said = said if len(said) <= 200 else f"{said[:200]}…"
    age = timezone.now() - question.answered_at
    when = "just now" if age < timedelta(minutes=1) else f"{timesince(question.answered_at, depth=1)} ago"
    if question.status == Question.Status.TIMED_OUT:
        return f"Its time was up {when}{f', and “{said}” was taken' if said else ''}."
    return f"{question.answered_by or 'Somebody'} answered {when}: “{said}”."


def upload_keep(name: str, content: bytes) -> dict[str, object]:
    """Keep a file by its content; what stands of it in the answer. Its name is one that any system can hold."""
    digest = hashlib.sha256(content).hexdigest()
    Upload.objects.get_or_create(sha256=digest, defaults={"data": content})
    clean = UNSAFE.sub("_", name.replace("\\", "/").rpartition("/")[2]).strip(". ")[-100:].strip(". ")
    clean = clean.encode()[-NAME_BYTES:].decode(errors="ignore").strip(". ")
    return {"name": clean or "file", "size": len(content), "sha256": digest}


def upload_read(sha256: str) -> bytes:
    """The content of a file. Raises `NoAnswer` where it is gone."""
    data = Upload.objects.filter(sha256=sha256).values_list("data", flat=True).first()
    if data is None:
        raise NoAnswer("A file that came with an answer is no longer kept.")
    return bytes(data)
