"""What an experiment would do, before it does it: the plan of each configuration, and all that stands in its way."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

from workbench.catalog.probing import providers_known, providers_probed
from workbench.datasets.models import Instance
from workbench.engine.errors import InvalidDocument, PluginError, Problem, WorkbenchError
from workbench.engine.planning import RunPlan, plan_topology, shared_windows
from workbench.engine.validation import check_topology
from workbench.experiments import fitness
from workbench.experiments.evaluators import evaluator_with
from workbench.experiments.models import Configuration, Experiment
from workbench.topologies.library import Library
from workbench.topologies.selectors import stored_topology

MOST_RUNS = 100_000
FRESH_S, REMEMBERED_S = 30.0, 600.0
"""How old a provider's answer may be for a start, and for a page."""


class Planned(NamedTuple):
    """A configuration with its plan; `plan` is None where the problems say why there is none. `asked` is the plan as the
    topology has it, before all configurations got one window for each model."""

    configuration: Configuration
    commit: str
    blob: str
    plan: RunPlan | None
    problems: list[Problem]
    asked: RunPlan | None = None

    @property
    def studies_windows(self) -> bool:
        """Whether the configuration itself sets the window: then it is what is compared."""
        return "num_ctx" in (self.configuration.overrides.get("params") or {})


class Draft:
    """An experiment, looked at before its start. Everything is worked out once, when asked for.

    Of models it knows what their providers said lately; with `patience` it asks them, for so many seconds at most.
    """

    def __init__(self, experiment: Experiment, *, patience: float | None = None) -> None:
        self.experiment, self._patience = experiment, patience

    @cached_property
    def configurations(self) -> list[Planned]:
        """Every configuration with its plan, in order."""
        catalogue = Library()
        return one_window(
            [
                configuration_plan(configuration, self.experiment.limits, catalogue)
                for configuration in self.experiment.configurations.all()
            ]
        )

    @cached_property
    def instances(self) -> list[Instance]:
        """The chosen instances, in the dataset's order, without their texts."""
        rows = self.experiment.dataset_version.instances.only("pk", "key", "position", "version")
        keys = self.experiment.instance_keys
        return list(rows if keys is None else rows.filter(key__in=keys))

    @property
    def runs(self) -> int:
        """How many runs there will be."""
        return len(self.configurations) * len(self.instances) * self.experiment.repetitions

    @cached_property
    def problems(self) -> list[Problem]:
        """Everything that is wrong, errors first."""
        found = [problem for planned in self.configurations for problem in planned.problems]
        found += self._size_problems() + self._instance_problems() + evaluator_problems(self.experiment.evaluators)
        found += self.model_problems()
        return sorted(found, key=lambda problem: problem.severity)

    def model_problems(self) -> list[Problem]:
        """What the models can't do, as far as is known now."""
        planned = [
            fitness.Planned(it.configuration.label, f"/configurations/{it.configuration.position}", it.asked)
            for it in self.configurations
            if it.asked is not None
        ]
        names = {model.partition("/")[0] for model in fitness.models_asked(planned)}
        if self._patience is None:
            return fitness.fitness_problems(planned, providers_known(names, max_age=REMEMBERED_S))
        return fitness.fitness_problems(planned, providers_probed(names, max_age=FRESH_S, patience=self._patience))

    def _size_problems(self) -> list[Problem]:
        if not self.configurations:
            return [error("configurations", "/configurations", "Choose at least one topology.")]
        twins = {
            (it.configuration.topology, it.configuration.commit, json.dumps(it.configuration.overrides, sort_keys=True))
            for it in self.configurations
        }
        found = []
        if len(twins) < len(self.configurations):
            sentence = "Two configurations are the same: comparing them shows only chance."
            found.append(Problem("warning", "same_configuration", "/configurations", sentence))
        if self.runs > MOST_RUNS:
            sentence = f"{self.runs:,} runs are more than one experiment may have ({MOST_RUNS:,})."
            found.append(error("too_many_runs", "/repetitions", sentence, "Choose fewer instances or repetitions."))
        return found

    def _instance_problems(self) -> list[Problem]:
        keys = self.experiment.instance_keys
        version = self.experiment.dataset_version
        known = {instance.key for instance in self.instances}
        missing = [key for key in keys or [] if key not in known]
        found = [error("unknown_instance", "/instances", f"{version} has no instance {key!r}.") for key in missing[:20]]
        if len(missing) > 20:
            found.append(error("unknown_instance", "/instances", f"{len(missing) - 20} more instances are not there."))
        if not self.instances and not missing:
            found.append(error("no_instances", "/instances", f"No instance of {version} is chosen."))
        return found


def error(code: str, path: str, message: str, hint: str = "") -> Problem:
    return Problem("error", code, path, message, hint)


def one_window(planned: Sequence[Planned]) -> list[Planned]:
    """The plans with one window for each model, so that no server loads it anew between two runs."""
    windows = shared_windows(it.plan for it in planned if it.plan is not None and not it.studies_windows)
    return [
        it._replace(asked=it.plan, plan=it.plan.with_windows(windows))
        if it.plan is not None and not it.studies_windows
        else it._replace(asked=it.plan)
        for it in planned
    ]


def configuration_plan(configuration: Configuration, limits: dict[str, Any], catalogue: Library) -> Planned:
    """The plan of a configuration, or the problems that it has; each begins with the configuration's label."""
    path = f"/configurations/{configuration.position}"
    try:
        stored = stored_topology(configuration.topology, configuration.commit or None)
    except WorkbenchError as failure:
        return Planned(configuration, "", "", None, [error("unknown_topology", f"{path}/topology", str(failure))])
    checked = check_topology(stored.text, catalogue)
    plan, problems = None, list(checked.problems)
    if checked.spec is not None:
        try:
            plan = plan_topology(checked.spec, catalogue, overrides=configuration.overrides, limits=limits)
            # An override may have mended what was wrong with the topology alone.
            problems = [problem for problem in problems if problem.severity == "warning"]
        except InvalidDocument as failure:
            problems = list(failure.problems)
        except WorkbenchError as failure:
            problems = [error(failure.code, "", str(failure))]
    named = [
        problem._replace(path=path + problem.path, message=f"{configuration.label}: {problem.message}")
        for problem in problems
    ]
    return Planned(configuration, stored.commit, stored.blob, plan, named)


def evaluator_problems(chosen: Sequence[dict[str, Any]]) -> list[Problem]:
    """Evaluators that don't exist, options they don't have, and what they need and don't find here."""
    found: list[Problem] = []
    for number, choice in enumerate(chosen):
        name, path = str(choice["name"]), f"/evaluators/{number}"
        try:
            missing = evaluator_with(name, choice.get("options") or {}).requirements()
        except PluginError as failure:
            found.append(error("unknown_evaluator", f"{path}/name", str(failure)))
        except InvalidDocument as failure:
            found += [
                problem._replace(path=f"{path}/options{problem.path}", message=f"Evaluator {name}: {problem.message}")
                for problem in failure.problems
            ]
        else:
            found += [error("requirement", path, f"Evaluator {name}: {sentence}") for sentence in missing]
    return found
