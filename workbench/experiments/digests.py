"""Which state of a model a run has met: its digest and its server's version, for the journal.

A name may mean another model tomorrow. A provider is asked once in a while by each process, not for each run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from weakref import WeakKeyDictionary

from workbench.catalog.probing import providers_known, providers_probe
from workbench.engine.planning import RunPlan
from workbench.experiments.journal import event_read
from workbench.experiments.models import Run, RunEvent

REMEMBERED_S = 300.0
PATIENCE_S = 5.0
WITHOUT = frozenset({"scripted"})

_asking: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


async def model_versions(plan: RunPlan) -> dict[str, str]:
    """`provider` → version and `provider/name` → digest for what the plan asks, as far as the providers say."""
    models = plan.models()
    names = {model.partition("/")[0] for model in models} - WITHOUT
    async with _asking.setdefault(asyncio.get_running_loop(), asyncio.Lock()):  # many runs begin together
        known = providers_known(names, max_age=REMEMBERED_S)
        if missing := sorted(names - known.keys()):
            known |= await providers_probe(missing, patience=PATIENCE_S)
    found = {name: probed.result.version for name, probed in known.items() if probed.result.version}
    for model in models:
        provider, _, name = model.partition("/")
        info = known[provider].model(name) if provider in known else None
        if info is not None and info.digest:
            found[model] = info.digest
    return found


def versions_met(run: Run) -> dict[str, str]:
    """What the experiment's first run wrote down, this one's earlier attempt included; empty where there is none."""
    if run.experiment_id is None:
        return {}
    first = RunEvent.objects.filter(run__experiment=run.experiment_id, sequence=1, kind="run_started")
    data = first.order_by("run_id").values_list("data", flat=True).first()
    return {} if data is None else dict(event_read(data).versions)


def changes(earlier: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each model that is no longer the one of the experiment's first run."""
    for model, digest in now.items():
        before = earlier.get(model, digest)
        if "/" in model and before != digest:
            yield (
                f"{model} is not the model that this experiment began with: its digest was {before[:19]}, and is "
                f"{digest[:19]} now. Their results should not be compared as those of one model."
            )
