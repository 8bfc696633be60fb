"""Which providers answer here, and with which models: the one place that asks them, for pages, the doctor and workers.

Answers are remembered for a while in this process, so that a page can show them without waiting. A provider that is
away is an answer too; nothing here raises for one, and none keeps the others waiting.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import NamedTuple

from workbench.engine.errors import WorkbenchError
from workbench.engine.providers import PROVIDERS, ModelInfo, ProbeResult, Provider

PATIENCE_S = 10.0
FAMILIES = ("OLLAMA_", "OPENAI_", "WORKBENCH_")


class Probed(NamedTuple):
    """A provider's answer; `at` is when it was given (seconds since the epoch)."""

    provider: str
    result: ProbeResult
    at: float

    @property
    def answered_at(self) -> datetime:
        return datetime.fromtimestamp(self.at, UTC)

    def model(self, name: str) -> ModelInfo | None:
        """What it says of a model; a name without a tag means its `latest`."""
        wanted = name.removesuffix(":latest")
        return next((info for info in self.result.models if info.name.removesuffix(":latest") == wanted), None)


_remembered: dict[tuple[object, ...], Probed] = {}
_lock = threading.Lock()


def providers_probed(
    names: Iterable[str] | None = None, *, max_age: float = 0.0, patience: float = PATIENCE_S
) -> dict[str, Probed]:
    """The answers of these providers, or of all; those not older than `max_age` seconds are not asked for again."""
    wanted = sorted(set(PROVIDERS.names() if names is None else names))
    found = providers_known(wanted, max_age=max_age)
    missing = [name for name in wanted if name not in found]
    if missing:
        with ThreadPoolExecutor(1) as thread:  # whatever loop the caller's thread may have
            asked = thread.submit(asyncio.run, providers_probe(missing, patience=patience)).result()
        from workbench.catalog.outages import answers_keep  # its tables: the doctor begins without them

        answers_keep({name: probed.result for name, probed in asked.items()})
        found |= asked
    return {name: found[name] for name in wanted}


def providers_known(names: Iterable[str] | None = None, *, max_age: float = float("inf")) -> dict[str, Probed]:
    """What is remembered; nobody is asked."""
    oldest = time.time() - max_age
    with _lock:
        found = {name: _remembered.get(_key(name)) for name in (PROVIDERS.names() if names is None else names)}
    return {name: probed for name, probed in found.items() if probed is not None and probed.at > oldest}


def models_listed() -> list[str]:
    """Every model that a provider listed when it was asked last and that can chat, as `provider/name`."""
    return [
        f"{probed.provider}/{info.name}"
        for probed in providers_known().values()
        for info in probed.result.models
        if info.capabilities is None or "completion" in info.capabilities
    ]


async def providers_probe(names: Sequence[str], *, patience: float = PATIENCE_S) -> dict[str, Probed]:
    """Ask them all at once, and remember what they say."""
    answers = await asyncio.gather(*(_probe(name, patience) for name in names))
    with _lock:
        _remembered.update({_key(probed.provider): probed for probed in answers})
    return {probed.provider: probed for probed in answers}


async def _probe(name: str, patience: float) -> Probed:
    provider: Provider | None = None
    try:
        provider = PROVIDERS.get(name).from_environ(os.environ)
        result = await asyncio.wait_for(provider.probe(), patience)
    except TimeoutError:
        result = ProbeResult(ok=False, message=f"It did not answer within {patience:.0f} s.")
    except WorkbenchError as error:
        result = ProbeResult(ok=False, message=str(error))
    finally:
        if provider is not None:
            await provider.close()
    return Probed(name, result, time.time())


def _key(name: str, environ: Mapping[str, str] = os.environ) -> tuple[object, ...]:
    """Answers belong to a provider as the environment describes it."""
    return (name, *sorted((key, value) for key, value in environ.items() if key.startswith(FAMILIES)))
