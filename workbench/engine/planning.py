"""From a topology to a run plan: every name resolved and frozen, so that a run can be repeated a year later.

Format `workbench.plan/1`. The hash is over everything but where nodes are drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from workbench.engine.conditions import read_condition
from workbench.engine.documents import content_hash
from workbench.engine.errors import InvalidDocument, Problem, has_errors
from workbench.engine.faultwords import fault_words
from workbench.engine.nodes import NODES, Catalogue, Node, Surroundings, surroundings_of
from workbench.engine.providers import PROVIDERS
from workbench.engine.scheduling import Edge, Graph
from workbench.engine.spec import Defaults, EdgeSpec, Limits, NodeSpec, Params, TopologySpec, targets_of
from workbench.engine.templating import references
from workbench.engine.transforms import MapSpec, ReduceSpec, read_split, read_transform
from workbench.engine.validation import nested_spec, topology_problems, with_defaults

PLAN_FORMAT = "workbench.plan/1"
NESTED = "topology"
Json = Any


class NodePlan(BaseModel):
    """A node with its config resolved: agents looked up, models, params and prompts filled in."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: str
    label: str | None = None
    on_error: Literal["fail", "continue"] = "fail"
    retries: int = 0
    join: Literal["settled", "all", "first"] = "settled"
    config: dict[str, Json] = {}


class RunPlan(BaseModel):
    """All that is needed to repeat a run. `topology` is the document it was made from, without its layout."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["workbench.plan/1"] = "workbench.plan/1"
    topology: dict[str, Json]
    nodes: dict[str, NodePlan]
    edges: tuple[dict[str, Json], ...]
    start: tuple[str, ...]
    end: tuple[str, ...]
    limits: Limits
    vars: dict[str, Json] = {}
    layout: dict[str, tuple[float, float]] = {}

    @cached_property
    def hash(self) -> str:
        """SHA-256 (hex) over the plan without its layout."""
        return content_hash(self.model_dump(mode="json", exclude={"layout"}))

    def models(self) -> set[str]:
        """Every model it may ask, in nested topologies too, as `provider/name`."""
        found = {model for node in self.nodes.values() if (model := node.config.get("model"))}
        return found.union(*(plan.models() for plan in self.nested().values()))

    def windows(self) -> dict[str, set[int]]:
        """The windows (`num_ctx`) that are asked for, by model; nodes that leave it to the provider count as 0."""
        found: dict[str, set[int]] = {}
        for node in self.nodes.values():
            if model := node.config.get("model"):
                found.setdefault(model, set()).add((node.config.get("params") or {}).get("num_ctx") or 0)
        for plan in self.nested().values():
            for model, windows in plan.windows().items():
                found.setdefault(model, set()).update(windows)
        return found

    def with_windows(self, windows: Mapping[str, int]) -> RunPlan:
        """The plan with one window for all nodes that ask the same of these models."""
        nodes = {name: _windowed(node, windows) for name, node in self.nodes.items()}
        return self if nodes == self.nodes else self.changed(nodes=nodes)

    def changed(self, **fields: Any) -> RunPlan:
        """A plan of its own: a copy would keep what was worked out of this one, its hash too."""
        return RunPlan(**{**{name: getattr(self, name) for name in RunPlan.model_fields}, **fields})

    def names(self) -> list[str]:
        """The names of all nodes, those of nested topologies too."""
        return list(dict.fromkeys([*self.nodes, *(name for plan in self.nested().values() for name in plan.names())]))

    def nested(self) -> dict[str, RunPlan]:
        """The plans of nested topologies, by the node that runs them."""
        plans = {name: node.config["plan"] for name, node in self.nodes.items() if node.type == NESTED}
        return {name: RunPlan.model_validate(plan) for name, plan in plans.items()}

    @cached_property
    def _edge_specs(self) -> list[EdgeSpec]:
        return [EdgeSpec.model_validate(edge) for edge in self.edges]

    @cached_property
    def _configs(self) -> list[tuple[type[Node], Any]]:
        """The type and the checked config of each node, in declared order."""
        kinds = ((NODES.get(node.type), node.config) for node in self.nodes.values())
        return [(kind, kind.Config.model_validate(config)) for kind, config in kinds]

    def made_nodes(self) -> list[Node]:
        """The nodes, ready to run, in declared order."""
        targets = targets_of(self._edge_specs)
        made = zip(self.nodes, self._configs, strict=True)
        return [kind(name, config, targets.get(name, ())) for name, (kind, config) in made]

    def graph(self) -> Graph:
        """What the scheduler works on: nodes by their place in `nodes`."""
        index = {name: position for position, name in enumerate(self.nodes)}
        edges = []
        for edge in self._edge_specs:
            edges.append(_edge(edge, index[edge.source], index[edge.target]))
        joins = {index[name]: node.join for name, node in self.nodes.items()}
        watched = self.writers | self.read
        return Graph(len(index), edges, [index[name] for name in self.start], watched, joins)

    @cached_property
    def read(self) -> frozenset[int]:
        """The nodes that some prompt reads by name, by their place in `nodes`."""
        named = self._named_in_prompts()
        return frozenset(place for place, name in enumerate(self.nodes) if name in named)

    @cached_property
    def writers(self) -> frozenset[int]:
        """The nodes that may change files, by their place in `nodes`."""
        return frozenset(index for index, (kind, config) in enumerate(self._configs) if kind.writes_files(config))

    @property
    def merge(self) -> str:
        """How files are joined that were changed side by side."""
        return str((self.topology.get("workspace") or {}).get("merge") or "three_way")

    def _named_in_prompts(self) -> set[str]:
        named: set[str] = set()
        for kind, config in self._configs:
            named.update(kind.reads(config))
            for text in kind.prompts(config).values():
                named |= {item.path[1] for item in references(text) if item.path[0] == "nodes" and len(item.path) > 1}
        return named


def _windowed(node: NodePlan, windows: Mapping[str, int]) -> NodePlan:
    config = node.config
    if node.type == NESTED:
        plan = RunPlan.model_validate(config["plan"]).with_windows(windows)
        return node.model_copy(update={"config": {**config, "plan": plan.model_dump(mode="json")}})
    window = windows.get(config.get("model") or "")
    if window is None:
        return node
    params = {**(config.get("params") or {}), "num_ctx": window}
    return node.model_copy(update={"config": {**config, "params": params}})


def _edge(edge: EdgeSpec, source: int, target: int) -> Edge:
    return Edge(
        source,
        target,
        read_condition(edge.when),
        trigger=edge.trigger,
        carry=edge.carry,
        keep=edge.keep,
        clear=edge.clear,
        max=edge.max,
        transform=read_transform(edge.transform) if edge.transform is not None else None,
        split=read_split(edge.map) if edge.map is not None else None,
        group_size=ReduceSpec.model_validate(edge.reduce).group_size if edge.reduce is not None else None,
        max_parallel=MapSpec.model_validate(edge.map).max_parallel if edge.map is not None else 1,
    )


def shared_windows(plans: Iterable[RunPlan]) -> dict[str, int]:
    """For models that these plans ask with several windows: the largest. Their servers load a model anew for another
    window, so one is asked for throughout."""
    asked: dict[str, set[int]] = {}
    for plan in plans:
        for model, windows in plan.windows().items():
            default = window_of(model)
            if default is not None:
                asked.setdefault(model, set()).update(window or default for window in windows)
    return {model: max(windows) for model, windows in asked.items() if len(windows) > 1}


def window_of(model: str) -> int | None:
    """The window that is asked for where none is set; None where a model's server knows no such thing."""
    provider = model.partition("/")[0]
    return PROVIDERS.get(provider).window if provider in PROVIDERS.names() else None


def plan_topology(
    spec: TopologySpec,
    catalogue: Catalogue,
    *,
    overrides: Mapping[str, Json] | None = None,
    limits: Mapping[str, Json] | None = None,
) -> RunPlan:
    """The plan of a topology. `overrides` are a configuration's: `model` and `params` for every node that asks a model,
    `vars`; `limits` override the topology's key by key. Raises `InvalidDocument` with every problem."""
    document = spec.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude={"layout"})
    spec = _overridden(spec, overrides or {}, limits or {})
    problems = topology_problems(spec, catalogue)
    if has_errors(problems):
        raise InvalidDocument(problems)
    return RunPlan(
        topology=document,
        nodes=_nodes(spec, catalogue, overrides or {}),
        edges=tuple(edge.model_dump(mode="json", by_alias=True, exclude_defaults=True) for edge in spec.edges),
        start=spec.start,
        end=spec.end,
        limits=spec.limits,
        vars=spec.vars,
        layout=spec.layout,
    )


def _nodes(spec: TopologySpec, catalogue: Catalogue, overrides: Mapping[str, Json]) -> dict[str, NodePlan]:
    around = surroundings_of(spec, catalogue)
    return {name: _node(node, spec, around[name], overrides) for name, node in spec.nodes.items()}


def _node(node: NodeSpec, spec: TopologySpec, around: Surroundings, overrides: Mapping[str, Json]) -> NodePlan:
    kind, catalogue = NODES.get(node.type), around.catalogue
    config = kind.resolve(kind.Config.model_validate(node.config), around)
    if node.type == NESTED:
        inner = with_defaults(nested_spec(config.topology, catalogue), spec.defaults)
        kept = {key: value for key, value in overrides.items() if key != "vars"}
        plan = plan_topology(inner, catalogue, overrides=kept).model_dump(mode="json")
        config = config.model_copy(update={"plan": plan})
    resolved = config.model_dump(mode="json", exclude_none=True)
    return NodePlan(
        type=node.type,
        label=node.label,
        on_error=node.on_error,
        retries=node.retries,
        join=node.join,
        config=resolved,
    )


def _overridden(spec: TopologySpec, overrides: Mapping[str, Json], limits: Mapping[str, Json]) -> TopologySpec:
    """The topology as the configuration wants it: its model and params written into every node that asks a model."""
    if not overrides and not limits:
        return spec
    unknown = [key for key in overrides if key not in ("model", "params", "vars")]
    if unknown:
        raise _invalid(
            f"/overrides/{unknown[0]}", f"There is no override {unknown[0]!r}: known are model, params, vars."
        )
    document = spec.model_dump(mode="json", by_alias=True, exclude_unset=True)
    variables = overrides.get("vars") or {}
    for name in variables:
        if name not in spec.vars:
            raise _invalid(f"/overrides/vars/{name}", f"The topology {spec.name!r} has no var {name!r} to override.")
    document["vars"] = {**spec.vars, **variables}
    document["limits"] = {**document.get("limits", {}), **limits}
    model, params = overrides.get("model") or None, overrides.get("params") or {}
    try:
        Params.model_validate(params)
        Defaults.model_validate({"model": model})
        changed = TopologySpec.model_validate(document)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        where = "/".join(str(step) for step in fault["loc"])
        message = f"The override of {where or 'the topology'} does not fit: {fault_words(fault)}."
        raise _invalid(f"/overrides/{where}", message) from error
    nodes = {name: _node_overridden(node, model, params) for name, node in changed.nodes.items()}
    return changed.model_copy(update={"nodes": nodes})


def _node_overridden(node: NodeSpec, model: str | None, params: Mapping[str, Json]) -> NodeSpec:
    if node.type not in NODES.names() or not NODES.get(node.type).asks_model(node.config):
        return node
    changed = {**node.config, "params": {**(node.config.get("params") or {}), **params}}
    if model:
        changed["model"] = model
    return NodeSpec.model_validate({**node.model_dump(exclude_unset=True), **changed})


def _invalid(path: str, message: str) -> InvalidDocument:
    return InvalidDocument([Problem("error", "bad_override", path, message)])
