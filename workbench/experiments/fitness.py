"""Whether models can do what plans ask of them: chat, use tools, keep one window. Before any call is made.

What a provider does not say is unknown, and stops nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from workbench.catalog.probing import Probed
from workbench.engine.errors import Problem
from workbench.engine.planning import RunPlan, window_of
from workbench.engine.providers import ModelInfo
from workbench.experiments.probing import how_to_get


class Asking(NamedTuple):
    """A node that asks a model, of which configuration (label and JSON path)."""

    label: str
    path: str
    node: str
    model: str
    config: Mapping[str, Any]


class Planned(NamedTuple):
    """A configuration with its plan."""

    label: str
    path: str
    plan: RunPlan


def fitness_problems(planned: Iterable[Planned], probed: Mapping[str, Probed]) -> list[Problem]:
    """Everything that the models can't do, each thing once for each configuration and model."""
    asking = [asked for one in planned for asked in nodes_that_ask(one.label, one.path, one.plan)]
    found = dict.fromkeys(problem for asked in asking for problem in problems_of(asked, probed))
    return [*found, *window_problems(asking)]


def models_asked(planned: Iterable[Planned]) -> set[str]:
    """The models, as `provider/name`."""
    return set().union(*(one.plan.models() for one in planned))


def nodes_that_ask(label: str, path: str, plan: RunPlan, within: str = "") -> Iterator[Asking]:
    """The nodes of a plan that ask a model, those of nested topologies too."""
    for name, node in plan.nodes.items():
        if model := node.config.get("model"):
            yield Asking(label, path, f"{within}{name}", str(model), node.config)
    for name, inner in plan.nested().items():
        yield from nodes_that_ask(label, path, inner, f"{within}{name}.")


def problems_of(asked: Asking, probed: Mapping[str, Probed]) -> Iterator[Problem]:
    provider, _, name = asked.model.partition("/")
    answer = probed.get(provider)
    if answer is None or not answer.result.ok or not answer.result.models:
        return
    info = answer.model(name)
    if info is None:
        sentence = f"{asked.label}: {provider} has no model {name!r} at present."
        yield Problem("warning", "model_missing", asked.path, sentence, how_to_get(asked.model).strip())
    elif info.capabilities is None:
        if info.note:
            sentence = f"{asked.label}: whether {asked.model} can chat is unknown. {info.note}"
            yield Problem("warning", "abilities_unknown", asked.path, sentence)
    else:
        yield from ability_problems(asked, info, info.capabilities)


def ability_problems(asked: Asking, info: ModelInfo, abilities: tuple[str, ...]) -> Iterator[Problem]:
    if "completion" not in abilities:
        sentence = f"{asked.label}: node {asked.node!r} asks {asked.model}, which can't chat. {info.note}".strip()
        yield Problem("error", "no_chat_model", asked.path, sentence, "Choose a model that chats.")
    elif asked.config.get("tools") and "tools" not in abilities:
        sentence = f"{asked.label}: node {asked.node!r} has tools, and its model {asked.model} can't use any."
        hint = "Choose a model that can use tools, or take the tools from the node."
        yield Problem("error", "tools_unsupported", asked.path, sentence, hint)


def window_problems(asking: Iterable[Asking]) -> Iterator[Problem]:
    """A model that is asked for with windows of different sizes is loaded anew each time that they alternate."""
    windows: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for asked in asking:
        own = (asked.config.get("params") or {}).get("num_ctx")
        if (default := window_of(asked.model)) is not None:
            windows[asked.model][own or default].append(f"{asked.label}, node {asked.node!r}")
        elif own:
            sentence = (
                f"{asked.label}: num_ctx of node {asked.node!r} has no effect: {asked.model} is asked in a dialect"
            )
            hint = "Take it out; for a model of Ollama's write ollama/NAME."
            yield Problem("warning", "no_window", asked.path, f"{sentence} that has no field for it.", hint)
    for model, places in windows.items():
        if len(places) > 1:
            parts = [f"{window:,} tokens ({at[0]})" for window, at in sorted(places.items())]
            sentence = f"{model} is asked for with windows of different sizes: {'; '.join(parts)}."
            hint = (
                f"It would be loaded anew whenever they alternate, so all nodes get {max(places):,}; only a configuration "
                "that sets num_ctx itself keeps its own. Give all nodes one num_ctx."
            )
            yield Problem("warning", "windows_differ", "/configurations", sentence, hint)
