"""Rules beyond shape, TOPOLOGY.md §3. Every problem at once, each with code, JSON Pointer, sentence and hint.

The same function serves page, API, command line and import. A rule is a generator; `RULES` is the table of contents.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from pydantic import BaseModel, ValidationError

from workbench.engine.conditions import condition_problems
from workbench.engine.documents import pointer, read_json
from workbench.engine.errors import InvalidDocument, PluginError, Problem, has_errors
from workbench.engine.faultwords import fault_said
from workbench.engine.graph_rules import graph_problems
from workbench.engine.nodes import NODES, Catalogue, NoAgents, Node, NodeConfig, Surroundings, surroundings_of
from workbench.engine.plugins import Nearest, nearest
from workbench.engine.prompt_rules import prompt_problems
from workbench.engine.providers import model_has_price
from workbench.engine.reachability import Shape
from workbench.engine.spec import NODE_ID, RESERVED_IDS, AgentSpec, Defaults, NodeSpec, TopologySpec
from workbench.engine.tool_rules import tool_problems, writer_problems
from workbench.engine.tools import TOOLS
from workbench.engine.transforms import map_problems, transform_problems

CHOOSERS = ("router", "loop_counter", "loop_timer")
DEEPEST_NESTING = 10
MAX_NODES = 10_000
UNSURE = ("edge_to_nowhere", "no_start", "unknown_start", "unknown_end", "unreachable", "unreachable_end")
"""Codes after which what a prompt may name can't be judged."""


class Checked(NamedTuple):
    """A document once checked; `spec` is None where its shape could not be read."""

    spec: Any
    problems: list[Problem]


class ParsedNode(NamedTuple):
    """A node whose type and fields are known to be right."""

    kind: type[Node]
    config: NodeConfig
    around: Surroundings


def check_topology(text: str | bytes, catalogue: Catalogue) -> Checked:
    """Read and check a topology; never raises for what a person may write."""
    read = read_json(text)
    if read.data is None and has_errors(read.problems):
        return Checked(None, read.problems)
    spec, problems = check_document(read.data, catalogue)
    return Checked(spec, read.problems + problems)


def check_document(data: Any, catalogue: Catalogue) -> Checked:
    """Check a topology that has been read already, as an editor holds it."""
    spec, problems = read_shape(data, TopologySpec, "topology")
    if spec is not None:
        return Checked(spec, topology_problems(spec, catalogue))
    rest = _without_unknown_keys(data, problems)
    return Checked(None, problems + (topology_problems(rest, catalogue) if rest is not None else []))


def _without_unknown_keys(data: Any, problems: list[Problem]) -> TopologySpec | None:
    """The topology as it would be without its unknown keys, so that a misspelt key does not hide every other problem."""
    unknown = {problem.path for problem in problems if problem.code == "unknown_key"}
    if not unknown or len(unknown) != sum(problem.severity == "error" for problem in problems):
        return None
    spec, left = read_shape(_pruned(data, unknown, ""), TopologySpec, "topology")
    return None if left else spec


def _pruned(data: Any, unknown: set[str], path: str) -> Any:
    if isinstance(data, dict):
        kept = {key: path + pointer(key) for key in data if path + pointer(key) not in unknown}
        return {key: _pruned(data[key], unknown, place) for key, place in kept.items()}
    if isinstance(data, list):
        return [_pruned(item, unknown, f"{path}/{index}") for index, item in enumerate(data)]
    return data


def check_agent(text: str | bytes) -> Checked:
    """Read and check an agent of the catalogue."""
    read = read_json(text)
    if read.data is None and has_errors(read.problems):
        return Checked(None, read.problems)
    spec, problems = read_shape(read.data, AgentSpec, "agent")
    problems = read.problems + problems
    return Checked(spec, problems if spec is None else problems + list(agent_problems(spec)))


def agent_problems(spec: AgentSpec) -> Iterator[Problem]:
    """What is wrong with an agent by itself: its tools, its schema, its prompts."""
    around = Surroundings(spec.name, _NO_DEFAULTS, NoAgents(), ())
    kind = NODES.get("agent")
    config = kind.Config.model_validate(
        {"system": spec.system, "prompt": spec.prompt, "model": spec.model or "scripted/echo", "tools": spec.tools}
        | {"output": spec.output}
    )
    for problem in kind.problems(config, around):
        message = "The agent has no prompt." if problem.code == "no_prompt" else problem.message
        yield problem._replace(message=message)
    shape = Shape(("agent",), ("agent",), ("agent",), ())
    yield from prompt_problems(shape, {"agent": kind.prompts(config)}, {"agent": ""})


# Shape


def read_shape(data: Any, kind: type[BaseModel], what: str) -> tuple[Any, list[Problem]]:
    """A spec from JSON, or everything wrong with its shape."""
    if not isinstance(data, dict):
        return None, [Problem("error", "not_an_object", "", f"A {what} is a JSON object.")]
    version = data.get("format")
    known = f"workbench.{what}/1"
    if isinstance(version, str) and version.startswith(f"workbench.{what}/") and version != known:
        message = f"The format {version!r} is newer than this workbench, which reads {known!r}."
        return None, [
            Problem("error", "newer_format", "/format", message, "Use a newer workbench, or export it for this one.")
        ]
    try:
        return kind.model_validate(data), []
    except ValidationError as error:
        return None, [_shape_problem(fault, kind, data) for fault in error.errors(include_url=False)]


def _shape_problem(fault: Any, kind: type[BaseModel], data: Any) -> Problem:
    steps = _real_steps(fault["loc"], data)
    path = pointer(*steps)
    name = str(steps[-1]) if steps else ""
    if fault["type"] == "extra_forbidden":
        known = _fields_at(kind, steps[:-1])
        shown = name.encode("utf-8", "backslashreplace").decode()
        return Problem(
            "error", "unknown_key", path, f"There is no key {shown!r} here.{nearest(name, known)}", _listed(known)
        )
    if fault["type"] == "missing":
        return Problem("error", "missing_key", path, f"The key {name!r} is missing.")
    if fault["type"] == "literal_error" and name == "format":
        expected = fault["ctx"]["expected"]
        return Problem(
            "error", "unknown_format", path, f"The format {fault['input']!r} is not known.", f"Write {expected}."
        )
    return Problem("error", "bad_value", path, _sentence(fault, name))


def _real_steps(loc: tuple[Any, ...], data: Any) -> list[Any]:
    """pydantic puts the names of union members into places; a step that the data does not have is left out."""
    steps: list[Any] = []
    for position, step in enumerate(loc):
        last = position == len(loc) - 1
        if isinstance(data, dict) and (step in data or last):
            steps.append(step)
            data = data.get(step)
        elif isinstance(data, list) and isinstance(step, int) and step < len(data):
            steps.append(step)
            data = data[step]
        elif step == "[key]":
            break
    return steps


def _fields_at(kind: type[BaseModel], steps: list[Any]) -> list[str]:
    current: Any = kind
    for step in steps:
        current = _inner(current, step)
        if current is None:
            return []
    return [field.alias or name for name, field in getattr(current, "model_fields", {}).items()]


def _inner(kind: Any, step: Any) -> Any:
    if isinstance(step, int) or not hasattr(kind, "model_fields"):
        return kind
    for name, field in kind.model_fields.items():
        if step in (name, field.alias):
            return _model_in(field.annotation)
    return None


def _model_in(annotation: Any) -> Any:
    """The spec class inside an annotation such as `tuple[EdgeSpec, ...]` or `OutputSpec | Literal["text"]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in getattr(annotation, "__args__", ()) if (found := _model_in(part))), None)


def _listed(names: list[str]) -> str:
    return f"Known are {', '.join(names)}." if names else ""


def _sentence(fault: Any, name: str) -> str:
    shown = json.dumps(fault["input"], ensure_ascii=True, default=str)
    shown = shown if len(shown) <= 80 else shown[:77] + "…"
    what = f"{name!r}" if name else "This"
    return f"{what} does not fit: {fault_said(fault)} (it is {shown})."


# Rules


def topology_problems(spec: TopologySpec, catalogue: Catalogue, *, around: tuple[str, ...] = ()) -> list[Problem]:
    """Every problem of a topology whose shape is right, in the order of the document. `around` names the topologies
    that it is nested in, outermost first."""
    if len(spec.nodes) > MAX_NODES:
        message = f"The topology has {len(spec.nodes):,} nodes; {MAX_NODES:,} are the most."
        return [Problem("error", "too_many_nodes", "/nodes", message)]
    problems = [*_ids(spec), *_edges(spec), *_nested(spec, catalogue, around)]
    parsed: dict[str, ParsedNode] = {}
    surroundings = surroundings_of(spec, catalogue)
    for name, node in spec.nodes.items():
        problems += _node(node, surroundings[name], parsed)
    choosers = frozenset(name for name, node in spec.nodes.items() if node.type in CHOOSERS)
    firsts = frozenset(name for name, node in spec.nodes.items() if node.join == "first")
    shape = Shape(tuple(spec.nodes), spec.start, spec.end, spec.edges, choosers, firsts)
    problems += graph_problems(shape, spec)
    if not any(problem.code in UNSURE for problem in problems):
        prompts = {name: node.kind.prompts(_resolved(node)) for name, node in parsed.items()}
        paths = {name: pointer("nodes", name) for name in parsed}
        problems += prompt_problems(shape, prompts, paths, set(spec.vars))
        problems += _money(spec, parsed)
        problems += _tools(spec, shape, parsed)
    return problems


def _nested(spec: TopologySpec, catalogue: Catalogue, around: tuple[str, ...]) -> Iterator[Problem]:
    """The problems inside nested topologies, and of topologies nested in themselves."""
    for name, node in spec.nodes.items():
        reference = node.config.get("topology")
        if node.type != "topology" or not isinstance(reference, str | dict):
            continue
        path = pointer("nodes", name, "topology")
        inline = isinstance(reference, dict)
        label = reference.partition("@")[0] if isinstance(reference, str) else f"{spec.name}/{name}"
        if label in (*around, spec.name) or len(around) >= DEEPEST_NESTING:
            chain = " → ".join((*around, spec.name, label))
            message = (
                f"The topology is nested in itself: {chain}."
                if label in (*around, spec.name)
                else (f"Topologies are nested more than {DEEPEST_NESTING} deep: {chain}.")
            )
            yield Problem("error", "nested_in_itself", path, message, "Use a cycle of edges instead.")
            continue
        try:
            inner = nested_spec(reference, catalogue)
        except InvalidDocument as error:
            yield from (problem._replace(path=path + (problem.path if inline else "")) for problem in error.problems)
            continue
        inner = with_defaults(inner, spec.defaults)
        unknown = [key for key in (node.config.get("inputs") or {}) if key != "problem" and key not in inner.vars]
        for key in unknown:
            message = f"The nested topology has no var {key!r} to set.{nearest(key, ['problem', *inner.vars])}"
            yield Problem("error", "unknown_name", pointer("nodes", name, "inputs", key), message)
        for problem in topology_problems(inner, catalogue, around=(*around, spec.name)):
            if inline:
                yield problem._replace(path=path + problem.path)
            elif problem.severity == "error":
                yield problem._replace(path=path, message=f"In the topology {reference!r}: {problem.message}")


def nested_spec(reference: str | dict[str, Any], catalogue: Catalogue) -> TopologySpec:
    """The topology that a node nests. Raises `InvalidDocument`: unknown, or of a wrong shape."""
    if isinstance(reference, dict):
        spec, problems = read_shape(reference, TopologySpec, "topology")
        if spec is None:
            raise InvalidDocument(problems)
        return cast(TopologySpec, spec)
    find = getattr(catalogue, "topology", None)
    found = find(reference) if find else None
    if found is None:
        message = f"There is no topology {reference!r}."
        raise InvalidDocument([Problem("error", "unknown_topology", "", message, "The page Topologies lists them.")])
    return cast(TopologySpec, found)


def with_defaults(spec: TopologySpec, defaults: Defaults) -> TopologySpec:
    """A nested topology uses the defaults around it where it has none of its own."""
    merged = Defaults(model=spec.defaults.model or defaults.model, params=defaults.params.merged(spec.defaults.params))
    return spec.model_copy(update={"defaults": merged})


def _resolved(node: ParsedNode) -> Any:
    return node.kind.resolve(node.config, node.around)


def _ids(spec: TopologySpec) -> Iterator[Problem]:
    for name in spec.nodes:
        if not NODE_ID.fullmatch(name):
            hint = 'Begin with a letter; then letters, digits, _ and -, 64 at most. Put any other text into "label".'
            yield Problem("error", "bad_id", pointer("nodes", name), f"{name!r} can't be the id of a node.", hint)
        elif name in RESERVED_IDS:
            message = f"{name!r} is a reserved word and can't be the id of a node."
            yield Problem("error", "reserved_id", pointer("nodes", name), message, "Choose another id.")


def _edges(spec: TopologySpec) -> Iterator[Problem]:
    seen: dict[str, int] = {}
    between = Counter((edge.source, edge.target) for edge in spec.edges)
    near = Nearest(spec.nodes)
    for index, edge in enumerate(spec.edges):
        path = f"/edges/{index}"
        for end, name in (("from", edge.source), ("to", edge.target)):
            if name not in spec.nodes:
                message = f"There is no node {name!r}.{near(name)}"
                yield Problem("error", "edge_to_nowhere", f"{path}/{end}", message)
        alone = between[edge.source, edge.target] == 1
        same = index if alone else seen.setdefault(edge.model_dump_json(), index)
        if same != index:
            message = f"This edge is the same as edge {same}."
            yield Problem("error", "identical_edges", path, message, "Delete one of them, or let them differ.")
        if not edge.carry and not edge.trigger:
            message = 'An edge with "carry": false and "trigger": false does nothing.'
            yield Problem("error", "edge_without_effect", path, message, "Set one of them to true, or delete the edge.")
        yield from condition_problems(edge.when, f"{path}/when")
        yield from transform_problems(edge.transform, f"{path}/transform")
        yield from map_problems(edge.map, edge.reduce, path)
        if edge.map is not None and not (edge.trigger and edge.carry):
            message = 'An edge that maps triggers its target and carries the units: "trigger" and "carry" stay true.'
            yield Problem("error", "map_without_units", f"{path}/map", message)
        target = spec.nodes.get(edge.target)
        if edge.map is not None and target is not None and target.type == "router":
            message = f"Node {edge.target!r} is a router: it chooses for a whole visit, not for each unit of a map."
            hint = "Map into an agent that answers in JSON, and test its answer on the edges out of it."
            yield Problem("error", "router_in_map", f"{path}/map", message, hint)
        if edge.when == {"otherwise": True} and not edge.trigger:
            message = '"otherwise" is for edges that trigger; this one only carries data.'
            yield Problem("error", "otherwise_on_data_edge", f"{path}/when", message)


def _node(node: NodeSpec, around: Surroundings, parsed: dict[str, ParsedNode]) -> Iterator[Problem]:
    name = around.node
    path = pointer("nodes", name)
    try:
        kind = NODES.get(node.type)
    except PluginError:
        message = f"There is no node type {node.type!r}.{nearest(node.type, NODES.names())}"
        yield Problem("error", "unknown_type", path + "/type", message, _listed(NODES.names()))
        return
    config = node.config
    try:
        checked = kind.Config.model_validate(config)
    except ValidationError as error:
        shared = ["type", "label", "join", "on_error", "retries"]
        for fault in error.errors(include_url=False):
            problem = _shape_problem(fault, kind.Config, config)
            if problem.code == "unknown_key" and problem.path.count("/") == 1:
                known = [*shared, *kind.Config.model_fields]
                message = (
                    f"A node of type {node.type!r} has no key {problem.path[1:]!r}.{nearest(problem.path[1:], known)}"
                )
                problem = problem._replace(message=message, hint=_listed(known))
            yield problem._replace(path=path + problem.path)
        return
    problems = list(kind.problems(checked, around))
    yield from (problem._replace(path=path + problem.path) for problem in problems)
    if not has_errors(problems):
        parsed[name] = ParsedNode(kind, checked, around)


def _money(spec: TopologySpec, parsed: dict[str, ParsedNode]) -> Iterator[Problem]:
    """A money limit only means something when every call has a price."""
    if spec.limits.cost_usd is None:
        return
    for name, node in parsed.items():
        model = getattr(_resolved(node), "model", None)
        if model and not model_has_price(model, os.environ):
            message = f"The run has a money limit, but {model!r} (node {name!r}) has no price."
            hint = "Set a price for the model, or limit tokens instead of money."
            yield Problem("error", "unpriced_model", "/limits/cost_usd", message, hint)


def _tools(spec: TopologySpec, shape: Shape, parsed: dict[str, ParsedNode]) -> Iterator[Problem]:
    """What is wrong with tools: of each node by itself, and where several may change files."""
    writers = {}
    for name, node in parsed.items():
        config, path = _resolved(node), pointer("nodes", name)
        yield from tool_problems(name, config, path)
        if _changes_files(node.kind, config):
            writers[name] = path + ("/tools" if getattr(node.config, "tools", None) else "")
    if spec.workspace is None:
        mapped = {edge.target for edge in spec.edges if edge.map is not None and edge.map.get("max_parallel") != 1}
        yield from writer_problems(shape, writers, mapped)


def _changes_files(kind: type[Node], config: Any) -> bool:
    """Whether a node changes files by itself: what people bring along with an answer is no contest."""
    tools = [TOOLS.get(name) for name in getattr(config, "tools", None) or ()]
    if tools:
        return any(tool.writes and not tool.asks() for tool in tools)
    return kind not in (NODES.get("human"), NODES.get("router")) and kind.writes_files(config)


_NO_DEFAULTS = TopologySpec.model_fields["defaults"].default
