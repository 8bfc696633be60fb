"""Questions of a run that goes on at the command line: a file answers them, or whoever sits at the terminal."""

from __future__ import annotations

import select
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import click
from django.utils import timezone

from workbench.catalog.authors import local_author
from workbench.engine.documents import read_json
from workbench.engine.errors import WorkbenchError
from workbench.experiments.lifecycle import owner_name, run_claim
from workbench.experiments.models import Question, Run
from workbench.experiments.questions import AnsweredAlready, Given, NoAnswer, answer_take, questions_expire
from workbench.experiments.text import visible


class Here:
    """Who answers here: `said` holds what is left of a file, node → answers in the order of asking. Nodes of an
    imported topology are called as in the original."""

    def __init__(self, said: Mapping[str, list[Any]], foreign_ids: Mapping[str, str]) -> None:
        self.said = {node: list(answers) for node, answers in said.items()}
        self.foreign_ids = foreign_ids

    @classmethod
    def read(cls, text: bytes | None, foreign_ids: Mapping[str, str]) -> Here:
        """From a file of answers. Raises `WorkbenchError`."""
        if text is None:
            return cls({}, foreign_ids)
        data, problems = read_json(text)
        if data is None:
            raise WorkbenchError(f"The answers can't be read: {problems[0].message if problems else 'they are null.'}")
        if not isinstance(data, dict):
            raise WorkbenchError('The answers are an object: {"NODE": "yes"}, or a list of answers for each node.')
        lists = {node: said if isinstance(said, list) else [said] for node, said in data.items()}
        return cls(lists, foreign_ids)

    def answered(self, run: Run) -> Run | None:
        """The run, claimed again once something was answered; None where nobody answers."""
        some = False
        for question in open_of(run):
            try:
                some = self._answer(question) or some
            except AnsweredAlready as error:
                click.echo(str(error), err=True)
                some = True
        moved_on = Run.objects.filter(pk=run.pk, status=Run.Status.QUEUED).exists()
        states = (Run.Status.WAITING, Run.Status.QUEUED)
        return run_claim(run.pk, owner_name(), among=states) if some or moved_on else None

    def outcome(self, run: Run, ended: Any) -> Any:
        """How the run stands: somebody else may have gone on with it, or stopped it, while it waited here."""
        if ended.status not in (Run.Status.WAITING, Run.Status.QUEUED):
            return ended
        run.refresh_from_db()
        return ended._replace(status=run.status, reason=run.reason)

    def left(self, run: Run) -> dict[str, Any]:
        """What a report says of open questions."""
        if not Run.objects.filter(pk=run.pk, status=Run.Status.WAITING).exists():
            return {}
        asked = [
            {
                "id": it.pk,
                "node": self._name(it),
                "question": it.text,
                "choices": it.choices,
                "deadline": it.deadline and it.deadline.isoformat(),
            }
            for it in open_of(run)
        ]
        return {"questions": asked}

    def _answer(self, question: Question) -> bool:
        """Whether it has an answer now."""
        left = self.said.get(self._name(question)) or self.said.get(self._name(question).rpartition(":")[2])
        if left:
            try:
                answer_take(question, given_of(left.pop(0), question), by="a file")
            except NoAnswer as error:
                raise WorkbenchError(f"The answer for node {question.node!r} can't be taken: {error}") from error
            return True
        return sys.stdin.isatty() and at_the_terminal(question)

    def _name(self, question: Question) -> str:
        return self.foreign_ids.get(question.node, question.node)


def open_of(run: Run) -> list[Question]:
    """The run's open questions, in the order of asking."""
    return list(Question.objects.filter(run=run.pk, status=Question.Status.OPEN).order_by("pk"))


def given_of(said: Any, question: Question) -> Given:
    """An answer of a file: a text, which may be a choice, or `{"choice": …, "text": …}`."""
    if isinstance(said, str):
        return Given(choice=said) if said in question.choices else Given(text=said)
    if isinstance(said, dict) and set(said) <= {"choice", "text"}:
        return Given(choice=said.get("choice"), text=str(said.get("text") or ""))
    raise WorkbenchError(f'The answer for node {question.node!r} is neither a text nor {{"choice": …, "text": …}}.')


def at_the_terminal(question: Question) -> bool:
    """Ask whoever sits here, until the answer may be taken or the question's time is up. Ctrl-D leaves it open."""
    click.echo(f"\n{visible(question.told)}\n\nNode {question.node} asks: {visible(question.text)}", err=True)
    for number, choice in enumerate(question.choices, 1):
        click.echo(f"  {number}. {visible(choice)}", err=True)
    try:
        while True:
            click.echo("> ", nl=False, err=True)
            line = line_before(question.deadline)
            if line is None:
                click.echo("\nThe time is up.", err=True)
                questions_expire()
                return True
            if not line:
                return False
            try:
                answer_take(question, typed(line.strip(), question), by=local_author())
                return True
            except NoAnswer as error:
                click.echo(str(error), err=True)
    except KeyboardInterrupt:
        click.echo("\nLeft open.", err=True)
        return False


def typed(line: str, question: Question) -> Given:
    """What was typed: a choice, its number, or words."""
    if line.isdecimal() and 1 <= int(line) <= len(question.choices):
        return Given(choice=question.choices[int(line) - 1])
    return Given(choice=line) if line in question.choices else Given(text=line)


def line_before(deadline: datetime | None) -> str | None:
    """A line from the terminal; empty at its end, None when the time is up first."""
    if deadline is not None:
        left = (deadline - timezone.now()).total_seconds()
        if left <= 0 or not select.select([sys.stdin], [], [], left)[0]:
            return None
    return sys.stdin.readline()
