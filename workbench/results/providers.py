"""Whether models answer here: every provider is asked at once, and none may keep the page waiting."""

from __future__ import annotations

import asyncio
import os
from typing import NamedTuple

from workbench.engine.errors import WorkbenchError
from workbench.engine.providers import PROVIDERS, Provider

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
    answers = asyncio.run(all_asked(shown))
    return sorted(answers, key=lambda answer: (not answer.ok, answer.name))


async def all_asked(shown: int) -> list[Answer]:
    return list(await asyncio.gather(*(asked(name, shown) for name in PROVIDERS.names())))


async def asked(name: str, shown: int) -> Answer:
    """One provider's answer within a few seconds; that it is away is an answer too."""
    provider: Provider | None = None
    try:
        provider = PROVIDERS.get(name).from_environ(os.environ)
        result = await asyncio.wait_for(provider.probe(), PATIENCE_SECONDS)
    except TimeoutError:
        return Answer(name, False, f"It did not answer within {PATIENCE_SECONDS:.0f} s.", (), 0)
    except WorkbenchError as error:
        return Answer(name, False, str(error), (), 0)
    finally:
        if provider is not None:
            await provider.close()
    models = tuple(f"{name}/{model.name}" for model in result.models)
    return Answer(name, result.ok, result.message, models[:shown], max(0, len(models) - shown))
