"""The tool `ask_human`."""

from __future__ import annotations

from pydantic import Field

from workbench.engine.people import Question
from workbench.engine.tools import Arguments, Tool


class AskHumanArguments(Arguments):
    question: str = Field(
        min_length=1, max_length=20_000, description="What to ask, with all that is needed to answer."
    )
    choices: list[str] = Field([], max_length=50, description="Answers to choose from, if that helps.")


class AskHuman(Tool):
    """Ask a person a question and wait for the answer. Ask only what you can't find out by yourself."""

    Arguments = AskHumanArguments

    def question(self, arguments: AskHumanArguments) -> Question:
        choices = tuple(dict.fromkeys(choice[:200] for choice in arguments.choices if choice.strip()))
        return Question(arguments.question, "ask_human", choices)
