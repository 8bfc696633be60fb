"""Whether models answer here, for the first page: in a few words, and no provider may keep it waiting."""

from __future__ import annotations

from typing import NamedTuple

from workbench.catalog.probing import Probed, providers_probed

PATIENCE_SECONDS = 3.0


class Answer(NamedTuple):
    """What a provider said: whether it answers, in a sentence, and some of its models."""

    name: str
    ok: bool
    message: str
    models: tuple[str, ...]
    more: int

    @property
    def sentence(self) -> str:
        """The first two sentences: what is so, and what to do."""
        return ". ".join(self.message.split(". ")[:2]).rstrip(".") + "."

    @property
    def rest(self) -> str:
        """What else the provider says, for those who need it."""
        return ". ".join(self.message.split(". ")[2:])


def providers_asked(shown: int = 5) -> list[Answer]:
    """Every provider of the workbench, in the order of their names, the answering ones first."""
    answers = [answer_of(probed, shown) for probed in providers_probed(patience=PATIENCE_SECONDS).values()]
    return sorted(answers, key=lambda answer: (not answer.ok, answer.name))


def answer_of(probed: Probed, shown: int) -> Answer:
    result = probed.result
    models = tuple(f"{probed.provider}/{model.name}" for model in result.models)
    return Answer(probed.provider, result.ok, result.message, models[:shown], max(0, len(models) - shown))
