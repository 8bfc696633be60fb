"""Which models topologies and experiments ask for, and whether those are here."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from typing import NamedTuple

from django.db.models import Max

from workbench.catalog.models import AgentVersion
from workbench.catalog.probing import Probed, providers_known, providers_probed
from workbench.engine.errors import WorkbenchError
from workbench.engine.planning import plan_topology
from workbench.engine.validation import check_topology
from workbench.experiments.models import Configuration
from workbench.experiments.probing import how_to_get, pull_command
from workbench.topologies.library import Library
from workbench.topologies.models import Topology
from workbench.topologies.store import store

FRESH_S = 60.0


class Experimented(NamedTuple):
    """An experiment that names a model."""

    pk: int
    name: str


class Use(NamedTuple):
    """A model that is asked for. `state` is `here`, `missing`, `away` (its provider) or `unknown` (it lists none)."""

    model: str
    state: str
    remedy: str
    command: str
    topologies: list[str]
    experiments: list[Experimented]


def model_uses(*, ask: bool = True) -> list[Use]:
    """Every model that is named, the missing first. With `ask`, providers that were not asked lately are asked."""
    topologies, experiments = models_of_topologies(), models_of_experiments()
    models = sorted({*topologies, *experiments})
    names = {model.partition("/")[0] for model in models}
    probed = providers_probed(names, max_age=FRESH_S) if ask else providers_known(names)
    uses = [use_of(model, probed, topologies.get(model, []), experiments[model]) for model in models]
    return sorted(uses, key=lambda use: (use.state != "missing", use.state != "away", use.model))


def use_of(model: str, probed: dict[str, Probed], topologies: list[str], experiments: list[Experimented]) -> Use:
    provider, _, name = model.partition("/")
    answer = probed.get(provider)
    state, remedy, command = "here", "", ""
    if answer is None or not answer.result.ok:
        state = "away"
    elif not answer.result.models:
        state, remedy = "unknown", "Its provider does not say which models it has."
    elif answer.model(name) is None:
        state, command = "missing", pull_command(model)
    return Use(model, state, remedy, command, topologies, experiments)


def models_of_topologies() -> dict[str, list[str]]:
    """Model → the topologies that name it, also through their agents. One that can't be planned as it is names none."""
    rows = tuple(Topology.objects.filter(deleted_at=None).values_list("name", "blob"))
    return planned_models(rows, AgentVersion.objects.aggregate(newest=Max("pk"))["newest"])


@lru_cache(maxsize=4)
def planned_models(rows: tuple[tuple[str, str], ...], agents: int | None) -> dict[str, list[str]]:
    """The same for these versions (name and blob) and the agents until that one: planning all of them takes a while."""
    found: dict[str, list[str]] = defaultdict(list)
    catalogue = Library()
    for (name, _), text in zip(rows, store().texts([blob for _, blob in rows]) if rows else [], strict=True):
        try:
            spec = check_topology(text, catalogue).spec
            models = plan_topology(spec, catalogue).models() if spec else set()
        except WorkbenchError:
            continue
        for model in models:
            found[model].append(name)
    return dict(found)


def models_of_experiments() -> dict[str, list[Experimented]]:
    """Model → the experiments that name it themselves, newest first."""
    found: dict[str, list[Experimented]] = defaultdict(list)
    rows = Configuration.objects.exclude(overrides__model=None).order_by("-experiment_id")
    for pk, name, model in rows.values_list("experiment_id", "experiment__name", "overrides__model").distinct():
        if model:
            found[model].append(Experimented(pk, name))
    return found


def doctor() -> list[tuple[str, str, str]]:
    """For `workbench doctor`: what is asked for and is not here."""
    from django.db import DatabaseError

    try:
        missing = [use for use in model_uses(ask=False) if use.state == "missing"]
    except (DatabaseError, WorkbenchError):  # no tables, no topologies: other lines say so
        return []
    return [
        (f"model {use.model}", "note", f"{users(use)} ask for it, and it is not here.{how_to_get(use.model)}")
        for use in missing
    ]


def users(use: Use) -> str:
    """Who asks for it, in a few words."""
    names = [*use.topologies, *(experiment.name for experiment in use.experiments)]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
