from __future__ import annotations

import math
import string
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from workbench.engine.conditions import field_value
from workbench.engine.context import Context
from workbench.engine.errors import NodeFailed, Problem
from workbench.engine.events import MessageData
from workbench.engine.nodes import Emitted, Node, NodeConfig, Surroundings
from workbench.engine.nodes._models import ask_for_json, model_problems, resolved_model
from workbench.engine.providers import ChatMessage
from workbench.engine.spec import ModelName, Params, Prompt, Spec

JUDGE = "You compare answers to one problem and pick the best of them. Judge what they say, not how long they are."


class ByField(Spec):
    """The answer whose JSON holds the highest number at this path."""

    field: str = Field(min_length=1)


class VoteConfig(NodeConfig):
    by: Literal["majority", "judge"] | ByField = "majority"
    normalise: bool = Field(True, description="Compare without case, outer punctuation and doubled spaces.")
    prompt: Prompt | None = Field(None, description="What the judge is asked; the numbered answers follow it.")
    model: ModelName | None = None
    params: Params = Params()


class Vote(Node):
    """One answer out of the several in its inbox: what most say, what a judge prefers, or the best by a number.

    On a draw the first of them wins, in the order of the edges.
    """

    Config = VoteConfig

    @property
    def waits(self) -> bool:
        return bool(self.config.by == "judge")

    def wire(self, inbox: Sequence[MessageData], state: dict[str, Any]) -> Emitted:
        answers = self._answers(inbox)
        chosen = self._majority(answers) if self.config.by == "majority" else self._best(answers, self.config.by.field)
        return self._emit(chosen)

    async def run(self, inbox: Sequence[MessageData], context: Context) -> Emitted:
        answers = self._answers(inbox)
        if len(answers) == 1:
            return self._emit(answers[0])
        question = context.render(self.config.prompt or "The problem:\n{{ instance.problem }}")
        listed = "\n\n".join(f"Answer {number}:\n{answer.text}" for number, answer in enumerate(answers, 1))
        schema = {
            "type": "object",
            "properties": {"best": {"type": "integer", "enum": list(range(1, len(answers) + 1))}},
            "required": ["best"],
            "additionalProperties": False,
        }
        asked = f'{question}\n\n{listed}\n\nWhich answer is best? Reply as JSON: {{"best": number}}'
        messages = [ChatMessage(role="system", content=JUDGE), ChatMessage(role="user", content=asked)]
        chosen, _ = await ask_for_json(context, self.config.model, messages, self.config.params, schema, repairs=2)
        return self._emit(answers[int(chosen["best"]) - 1])

    def _answers(self, inbox: Sequence[MessageData]) -> list[MessageData]:
        if not inbox:
            raise NodeFailed(f"Node {self.node!r} has no answers to choose from.", code="no_answers")
        return list(inbox)

    def _emit(self, chosen: MessageData) -> Emitted:
        return Emitted((chosen.by(self.node),))

    def _majority(self, answers: list[MessageData]) -> MessageData:
        texts = [normalised(answer.text) if self.config.normalise else answer.text for answer in answers]
        counts = Counter(texts)
        most = max(counts.values())
        return next(answer for answer, text in zip(answers, texts, strict=True) if counts[text] == most)

    def _best(self, answers: list[MessageData], field: str) -> MessageData:
        def number(answer: MessageData) -> float:
            _, value = field_value(answer.data, field.split(".")) if answer.structured else (False, None)
            if isinstance(value, bool) or not isinstance(value, int | float):
                return -math.inf
            return float(value) if math.isfinite(value) else -math.inf

        best = max(answers, key=number)
        if number(best) == -math.inf:
            raise NodeFailed(f"No answer to node {self.node!r} has a number at {field!r}.", code="no_answers")
        return best

    @classmethod
    def asks_model(cls, config: Mapping[str, Any]) -> bool:
        return bool(config.get("by") == "judge")

    @classmethod
    def problems(cls, config: Any, around: Surroundings) -> Iterator[Problem]:
        if config.by == "judge":
            yield from model_problems(config.model, around)

    @classmethod
    def resolve(cls, config: Any, around: Surroundings) -> Any:
        return resolved_model(config, around) if config.by == "judge" else config

    @classmethod
    def prompts(cls, config: Any) -> Mapping[str, str]:
        return {"prompt": config.prompt} if config.by == "judge" and config.prompt else {}


def normalised(text: str) -> str:
    """The text without case, outer punctuation and doubled spaces (NFKC)."""
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return folded.strip(string.punctuation + "“”‘’«»¡¿… ")
