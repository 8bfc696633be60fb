"""What an experiment file says: `{"name", "question", "dataset", "configurations", …}`, unknown keys refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, StringConstraints, ValidationError

from workbench.engine.documents import pointer, read_json
from workbench.engine.errors import InvalidDocument, Problem, has_errors
from workbench.engine.faultwords import fault_words
from workbench.engine.plugins import nearest
from workbench.engine.spec import Limits, ModelName, Params, Spec

MOST_REPETITIONS = 1000

TopologyReference = Annotated[
    str, StringConstraints(max_length=150, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*(@[0-9a-f]{7,40})?$")
]
Label = Annotated[str, StringConstraints(max_length=200)]


class Overrides(Spec):
    """What a configuration changes in its topology: the model of every agent, parameters, variables."""

    model: ModelName | None = None
    params: Params = Params()
    vars: dict[str, Any] = {}

    def stored(self) -> dict[str, Any]:
        """Only what was said."""
        found = self.model_dump(mode="json", exclude_unset=True, exclude_none=True)
        return {key: value for key, value in found.items() if value != {}}


class ConfigurationSpec(Spec):
    """A topology with what is changed in it: `name` is its newest version at the start, `name@commit` an older one."""

    topology: TopologyReference
    label: Label = ""
    overrides: Overrides = Overrides()

    @property
    def name(self) -> str:
        """The topology's name."""
        return self.topology.partition("@")[0]

    @property
    def commit(self) -> str:
        """The version's commit, or nothing for the newest."""
        return self.topology.partition("@")[2]


def own_label(topology: str, overrides: Mapping[str, Any]) -> str:
    """What a configuration is called that was given no name: `vote_of_three · ollama/qwen3 · temperature 0.7`."""
    parts = [topology, overrides.get("model", "")]
    parts += [f"{name} {value}" for key in ("params", "vars") for name, value in overrides.get(key, {}).items()]
    return " · ".join(str(part) for part in parts if part != "")


class EvaluatorChoice(Spec):
    """An evaluator that judges when all runs have ended, with its options."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=60)]
    options: dict[str, Any] = {}


class ExperimentSpec(Spec):
    """Configurations × instances × repetitions under one question. `instances` null: all of the dataset's."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    question: Annotated[str, StringConstraints(max_length=10_000)] = ""
    dataset: Annotated[str, StringConstraints(min_length=1, max_length=120)]
    instances: tuple[str, ...] | None = None
    configurations: tuple[ConfigurationSpec, ...] = Field(min_length=1, max_length=200)
    repetitions: int = Field(1, ge=1, le=MOST_REPETITIONS)
    limits: Limits = Limits()
    evaluators: tuple[EvaluatorChoice, ...] = ()


def experiment_read(text: str | bytes) -> ExperimentSpec:
    """The experiment that a file describes. Raises `InvalidDocument` with everything wrong in it."""
    read = read_json(text)
    if has_errors(read.problems):
        raise InvalidDocument(read.problems)
    try:
        return ExperimentSpec.model_validate(read.data)
    except ValidationError as error:
        raise InvalidDocument(shape_problems(error)) from error


def shape_problems(error: ValidationError) -> list[Problem]:
    """What pydantic found, in our words. A list that is said to be too short only because its items are wrong is not."""
    faults = error.errors(include_url=False)
    places = [found["loc"] for found in faults]
    return [
        Problem("error", "shape", pointer(*here), f"{place(here)}{fault_message(found)}", fault_hint(found))
        for found, here in zip(faults, places, strict=True)
        if not any(len(other) > len(here) and other[: len(here)] == here for other in places)
    ]


def fault_message(found: Any) -> str:
    """The end of the sentence."""
    name = str(found["loc"][-1]) if found["loc"] else ""
    if found["type"] == "extra_forbidden":
        return f"there is no such field.{nearest(name, fields_at(found['loc'][:-1]))}"
    if found["type"] == "missing" and name in ("name", "dataset", "topology", "configurations"):
        return "it is missing, and nothing can be run without it."
    if found["type"] == "string_pattern_mismatch" and name == "model":
        return f"a model is written provider/name, as in ollama/qwen3.5:9b; {found['input']!r} is not."
    if found["type"] == "string_pattern_mismatch" and name == "topology":
        return f"a topology is named as it is listed, or NAME@COMMIT for an older version; {found['input']!r} is not."
    return f"{fault_words(found)}."


def fault_hint(found: Any) -> str:
    known = fields_at(found["loc"][:-1]) if found["type"] == "extra_forbidden" else []
    return f"Known are {', '.join(known)}." if known else ""


def fields_at(steps: tuple[int | str, ...]) -> list[str]:
    """The fields that may stand at that place of an experiment file."""
    kind: type[Spec] = ExperimentSpec
    for step in steps:
        if isinstance(step, str):
            if step not in PARTS:
                return []
            kind = PARTS[step]
    return list(kind.model_fields)


PARTS: dict[str, type[Spec]] = {
    "configurations": ConfigurationSpec,
    "overrides": Overrides,
    "params": Params,
    "evaluators": EvaluatorChoice,
    "limits": Limits,
}


def place(path: tuple[int | str, ...]) -> str:
    """`configurations 1 topology: `, for people."""
    return f"{' '.join(str(part + 1) if isinstance(part, int) else part for part in path)}: " if path else ""
