"""Which state of a model a run has met: its digest, its quantisation and its server's version, for the journal.

A name may mean another model tomorrow. A provider is asked once in a while by each process, not for each run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple
from weakref import WeakKeyDictionary

from django.db.models import Max, Min, QuerySet

from workbench.catalog.outages import answers_keep_apart
from workbench.catalog.probing import providers_known, providers_probe
from workbench.engine.planning import RunPlan
from workbench.experiments.journal import event_read
from workbench.experiments.models import Experiment, Plan, Run, RunEvent

REMEMBERED_S = 300.0
PATIENCE_S = 5.0
WITHOUT = frozenset({"scripted"})
QUANTIZATION = "quantization of "

EXPERIMENTS_REMEMBERED = 64

_met_first: dict[int, dict[str, str]] = {}
_asking: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


async def model_versions(plan: RunPlan) -> dict[str, str]:
    """`provider` → version, `provider/name` → digest and `quantization of provider/name` → that, for what the plan asks,
    as far as the providers say."""
    models = plan.models()
    names = {model.partition("/")[0] for model in models} - WITHOUT
    async with _asking.setdefault(asyncio.get_running_loop(), asyncio.Lock()):  # many runs begin together
        known = providers_known(names, max_age=REMEMBERED_S)
        if missing := sorted(names - known.keys()):
            asked = await providers_probe(missing, patience=PATIENCE_S)
            await asyncio.to_thread(answers_keep_apart, {name: probed.result for name, probed in asked.items()})
            known |= asked
    found = {name: probed.result.version for name, probed in known.items() if probed.result.version}
    for model in models:
        provider, _, name = model.partition("/")
        info = known[provider].model(name) if provider in known else None
        if info is not None and info.digest:
            found[model] = info.digest
        if info is not None and info.quantization:
            found[QUANTIZATION + model] = info.quantization
    return found


class ModelMet(NamedTuple):
    """A model as runs have met it; empty is unknown."""

    model: str
    digest: str
    quantization: str
    server: str

    @property
    def short(self) -> str:
        """Enough of the digest to tell two apart by eye."""
        digest = self.digest.removeprefix("sha256:")
        return digest[:12] if len(digest) >= 32 else digest


def models_met(models: Iterable[str], versions: Mapping[str, str]) -> list[ModelMet]:
    """What a run wrote down of these models, in the words of a page."""
    return [
        ModelMet(
            model,
            versions.get(model, ""),
            versions.get(QUANTIZATION + model, ""),
            " ".join(filter(None, (model.partition("/")[0], versions.get(model.partition("/")[0], "")))),
        )
        for model in sorted(models)
    ]


def experiment_models(experiment: Experiment) -> list[ModelMet]:
    """The models of an experiment as its runs have met them, each state once: from the first and the last run of each
    configuration, whatever their number."""
    started = RunEvent.objects.filter(run__experiment=experiment, kind="run_started")
    ends = started.order_by().values("run__configuration").annotate(first=Min("pk"), last=Max("pk"))
    wanted = {pk for row in ends.values_list("first", "last") for pk in row}
    plans = {plan.pk: models_planned(plan) for plan in experiment_plans(experiment)}
    found: dict[ModelMet, None] = {}
    for plan, data in started.filter(pk__in=wanted).order_by("pk").values_list("run__plan", "data"):
        found.update(dict.fromkeys(models_met(plans.get(plan, ()), event_read(data).versions)))
    return sorted(found)


def models_planned(plan: Plan) -> set[str]:
    """The models that a stored plan names."""
    return RunPlan.model_validate(plan.data).models() if plan.data.get("nodes") else set()


def experiment_plans(experiment: Experiment) -> QuerySet[Plan]:
    return Plan.objects.filter(configurations__experiment=experiment).distinct()


def versions_met(run: Run) -> dict[str, str]:
    """What the experiment's first run wrote down, this one's earlier attempt included; empty where there is none."""
    return {} if run.experiment_id is None else _first_met(run.experiment_id) or {}


def _first_met(experiment_id: int) -> dict[str, str] | None:
    """Once written down it stays, and is asked for by every run of the experiment."""
    if experiment_id not in _met_first:
        first = RunEvent.objects.filter(run__experiment=experiment_id, sequence=1, kind="run_started")
        data = first.order_by("run_id").values_list("data", flat=True).first()
        if data is None:
            return None
        while len(_met_first) >= EXPERIMENTS_REMEMBERED:
            _met_first.pop(next(iter(_met_first)), None)
        _met_first[experiment_id] = dict(event_read(data).versions)
    return _met_first[experiment_id]


def versions_of(run: Run) -> dict[str, str]:
    """What the run's last attempt wrote down; empty where it has none."""
    started = RunEvent.objects.filter(run=run, kind="run_started").order_by("-sequence")
    data = started.values_list("data", flat=True).first()
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
