from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field

from workbench.engine.context import Context
from workbench.engine.errors import NodeFailed, Problem
from workbench.engine.events import MessageData
from workbench.engine.nodes import Emitted, Node, NodeConfig, Surroundings
from workbench.engine.people import Question
from workbench.engine.spec import Prompt, Spec, Text

Json = object
PLAIN = "What do you say to this?"
CHOICE = Annotated[str, Field(min_length=1, max_length=200)]


class Default(Spec):
    """The answer that is taken when the time is up."""

    default: Text


class HumanConfig(NodeConfig):
    question: Prompt = Field(PLAIN, description="What the person is asked.")
    choices: tuple[CHOICE, ...] = Field(
        (), max_length=50, description="The answers to choose from; left out, the person writes one."
    )
    timeout_s: float | None = Field(
        None, gt=0, le=31_536_000, description="Seconds to wait for an answer; left out, the wait has no end."
    )
    on_timeout: Literal["fail"] | Default = Field(
        "fail", description="When the time is up: the node fails, or an answer that is then taken."
    )


class Human(Node):
    """Asks a person and waits. What does not depend on the answer goes on; a run that only waits holds no worker.

    Its message is the answer. Its JSON holds `choice`, `text` and `files`, so that edges may test
    `{"field": "choice", "equals": …}`. Whoever chooses may add a comment; files come into the workspace.
    """

    Config = HumanConfig

    async def run(self, inbox: Sequence[MessageData], context: Context) -> Emitted:
        config = self.config
        default = config.on_timeout.default if isinstance(config.on_timeout, Default) else None
        question = Question(
            context.render(config.question), "human", config.choices, not config.choices, config.timeout_s, default
        )
        reply = await context.ask_person(question)
        data = answer_data(reply.choice, reply.words, reply.files)
        return Emitted((self.message(reply.text, data, structured=True),))

    @classmethod
    def writes_files(cls, config: object) -> bool:
        return True  # those that come with an answer

    def samples(self) -> Sequence[MessageData]:
        return [self.message(choice, answer_data(choice, ""), structured=True) for choice in self.config.choices]

    def given(self, text: str, inbox: Sequence[MessageData]) -> Emitted:
        first, _, rest = text.partition("\n")
        choice = first.strip() if first.strip() in self.config.choices else None
        if self.config.choices and choice is None:
            listed = ", ".join(self.config.choices)
            raise NodeFailed(f"{first!r} is none of the choices of node {self.node!r}: {listed}.", code="no_answer")
        data = answer_data(choice, text if choice is None else rest.strip())
        return Emitted((self.message(text, data, structured=True),))

    @classmethod
    def problems(cls, config: HumanConfig, around: Surroundings) -> Iterator[Problem]:
        seen: set[str] = set()
        for index, choice in enumerate(config.choices):
            if not choice.strip() or choice in seen:
                message = f"The choice {choice!r} is empty or stands there twice."
                yield Problem("error", "bad_choice", f"/choices/{index}", message, "Give each choice words of its own.")
            seen.add(choice)
        if isinstance(config.on_timeout, Default):
            if config.timeout_s is None:
                message = f"Node {around.node!r} has an answer for when the time is up, and no time is set."
                yield Problem("error", "default_without_timeout", "/on_timeout", message, 'Set "timeout_s".')
            if config.choices and config.on_timeout.default not in config.choices:
                message = f"The answer for when the time is up, {config.on_timeout.default!r}, is none of the choices."
                hint = f"The choices are {', '.join(config.choices)}."
                yield Problem("error", "default_no_choice", "/on_timeout/default", message, hint)

    @classmethod
    def prompts(cls, config: HumanConfig) -> Mapping[str, str]:
        return {"question": config.question}


def answer_data(choice: str | None, words: str, files: Sequence[str] = ()) -> dict[str, Json]:
    """An answer as JSON, for conditions and prompts."""
    return {"choice": choice, "text": words, "files": list(files)}
