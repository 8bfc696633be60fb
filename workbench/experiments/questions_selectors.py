"""What pages and programs read about questions to people."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.db.models import Exists, F, OuterRef, QuerySet
from django.urls import reverse

from workbench.engine.people import UPLOADS
from workbench.experiments.models import Question, Run
from workbench.experiments.questions import ASKED_IN, outcome_words, questions_open


class Attention(NamedTuple):
    """How many questions are open, and the newest of them in words: for the navigation, the title, a notification."""

    number: int
    newest: int
    words: str
    url: str


def attention() -> Attention:
    """What every page says of open questions."""
    waiting = questions_open()
    last = waiting.order_by("-pk").values("pk", "run_id", "text").first()
    if last is None:
        return Attention(0, 0, "", "")
    text = " ".join(last["text"].split())
    words = f"Run {last['run_id']} asks: {text if len(text) <= 140 else f'{text[:140]}…'}"
    return Attention(waiting.count(), last["pk"], words, reverse("question_detail", args=[last["pk"]]))


def questions_listed() -> QuerySet[Question]:
    """Open questions with all that a page names of them: those with a deadline first, then the oldest."""
    return with_runs(questions_open()).order_by(F("deadline").asc(nulls_last=True), "pk")


def questions_past() -> QuerySet[Question]:
    """Those that nobody can answer any more, the newest first: answered, timed out, or left open by a run that ended."""
    open_ = questions_open().filter(pk=OuterRef("pk"))
    return with_runs(Question.objects.exclude(Exists(open_))).order_by(F("answered_at").desc(nulls_last=True), "-pk")


def with_runs(questions: QuerySet[Question]) -> QuerySet[Question]:
    """With the facts about their runs, and without what only the runs' own pages show."""
    related = ("run__experiment", "run__configuration", "run__instance", "run__plan")
    heavy = ("run__instance__files", "run__instance__references", "run__instance__metadata", "run__plan__data")
    return questions.select_related(*related).defer(*heavy, "run__outputs", "run__output")


def run_questions(run: Run) -> list[Question]:
    """The open questions of one run."""
    return list(questions_open().filter(run=run.pk))


def is_open(question: Question) -> bool:
    """Whether somebody may still answer it."""
    open_run = question.run.status in ASKED_IN and not question.run.scripted
    return question.status == Question.Status.OPEN and open_run


def question_json(question: Question) -> dict[str, Any]:
    """A question for programs."""
    return {
        "id": question.pk,
        "run": question.run_id,
        "node": question.node,
        "visit": question.visit,
        "unit": question.unit,
        "asker": question.asker,
        "question": question.text,
        "told": question.told,
        "choices": question.choices,
        "free": question.free,
        "asked_at": question.asked_at.isoformat(),
        "deadline": question.deadline and question.deadline.isoformat(),
        "status": question.status if is_open(question) or question.answered_at else "withdrawn",
        "choice": question.choice,
        "answer": question.answer,
        "files": [f"{UPLOADS}/{file['name']}" for file in question.files],
        "answered_by": question.answered_by,
        "answered_at": question.answered_at and question.answered_at.isoformat(),
        "outcome": outcome_words(question),
    }
