"""A run that leaves another one at one of its visits: what it takes from there, and what it has to make itself.

What does not wait for that visit is taken as recorded; the visit itself and all that waits for it is made again, by the
plan with its changes. Where the change is the visit's answer, only what waits for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from pydantic import Field, ValidationError

from workbench.engine.context import RunInput
from workbench.engine.documents import pointer
from workbench.engine.errors import InvalidDocument, NodeFailed, Problem, WorkbenchError, has_errors
from workbench.engine.events import Joined, Noted, VisitEnded, VisitStarted
from workbench.engine.faultwords import fault_words
from workbench.engine.nodes import NODES, Node
from workbench.engine.planning import NodePlan, RunPlan
from workbench.engine.prompt_rules import prompt_problems
from workbench.engine.providers import PROVIDERS
from workbench.engine.reachability import Shape
from workbench.engine.recorded import Place, ends_the_run, is_of_a_visit, plan_at, that_count
from workbench.engine.replay import edges_moved, replay
from workbench.engine.spec import Json, Spec, TopologySpec

PARAMS = "params"


class Change(Spec):
    """What a fork changes: settings of the visit's node (`prompt`, `model`, `params` key by key …), for this visit and all
    that follow, or the answer of this one visit. Neither: it is made again as it was."""

    settings: dict[str, Json] = Field(
        {}, description="Field of the node → its value; of params only those that change."
    )
    answer: str | None = None


class CannotFork(WorkbenchError):
    """A visit that can't be forked so."""

    code = "cannot_fork"


class Again(NamedTuple):
    """What a fork makes again, if it goes the way its parent went: calls, and what they took then. None: unknown."""

    place: Place
    calls: tuple[Any, ...]


class Fork(NamedTuple):
    """What a fork begins with: the events it takes from its parent, and the visits with calls that it makes again."""

    events: tuple[Any, ...]
    taken: tuple[Place, ...]
    again: tuple[Again, ...]


def changed_plan(plan: RunPlan, place: Place, change: Change) -> RunPlan:
    """The plan with the settings of a node changed. Raises `InvalidDocument` with everything wrong with them, and
    `CannotFork` where there is no such node."""
    if not change.settings:
        return plan
    if place.path:
        return _changed_inside(plan, place, change)
    node = plan.nodes.get(place.node)
    if node is None:
        raise CannotFork(f"There is no node {place.node!r} in this topology.")
    config = _changed_config(plan, place.node, node, change)
    document = plan.topology["nodes"][place.node] | _shown(plan.topology["nodes"][place.node], change)
    nodes = plan.topology["nodes"] | {place.node: document}
    return _with_node(plan, place.node, config, topology=plan.topology | {"nodes": nodes})


def _with_node(plan: RunPlan, name: str, config: dict[str, Json], **more: Any) -> RunPlan:
    nodes = plan.nodes | {name: plan.nodes[name].model_copy(update={"config": config})}
    return plan.changed(nodes=nodes, **more)


def _changed_inside(plan: RunPlan, place: Place, change: Change) -> RunPlan:
    outer = place.path[0].partition(".")[0]
    inner = plan.nested().get(outer)
    if inner is None:
        raise CannotFork(f"Node {outer!r} holds no topology.")
    changed = changed_plan(inner, place._replace(path=place.path[1:]), change)
    return _with_node(plan, outer, plan.nodes[outer].config | {"plan": changed.model_dump(mode="json")})


def _shown(document: Mapping[str, Json], change: Change) -> dict[str, Json]:
    """The changes as the topology's document says them."""
    params = {**(document.get(PARAMS) or {}), **(change.settings.get(PARAMS) or {})}
    return change.settings | ({PARAMS: params} if PARAMS in change.settings else {})


def _changed_config(plan: RunPlan, name: str, node: NodePlan, change: Change) -> dict[str, Json]:
    kind = NODES.get(node.type)
    given = dict(change.settings)
    problems = [
        Problem("error", "unknown_key", f"/{key}", f"Node {name!r} (type {node.type}) has no {key!r} to change.")
        for key in given
        if key not in kind.Config.model_fields
    ]
    if PARAMS in given and not isinstance(given[PARAMS], Mapping):
        problems.append(Problem("error", "bad_value", f"/{PARAMS}", "Params are an object: names and values."))
    if problems:
        raise InvalidDocument(problems)
    if PARAMS in given:
        given[PARAMS] = {**(node.config.get(PARAMS) or {}), **given[PARAMS]}
    try:
        config = kind.Config.model_validate({**node.config, **given})
    except ValidationError as error:
        raise InvalidDocument(list(_faults(error))) from error
    problems = [*_prompt_problems(plan, name, kind, config), *_model_problems(given)]
    if has_errors(problems):
        raise InvalidDocument(problems)
    return dict(config.model_dump(mode="json", exclude_none=True))


def _faults(error: ValidationError) -> Iterable[Problem]:
    for fault in error.errors(include_url=False):
        where = pointer(*fault["loc"])
        yield Problem("error", "bad_value", where, f"{where.strip('/')} does not fit: {fault_words(fault)}.")


def _prompt_problems(plan: RunPlan, name: str, kind: type[Node], config: Any) -> Iterable[Problem]:
    spec = TopologySpec.model_validate(plan.topology)
    choosers = frozenset(node for node, given in spec.nodes.items() if given.type != "agent")
    shape = Shape(tuple(spec.nodes), spec.start, spec.end, spec.edges, choosers)
    return prompt_problems(shape, {name: kind.prompts(config)}, {name: ""}, set(plan.vars))


def _model_problems(given: Mapping[str, Json]) -> Iterable[Problem]:
    provider = str(given.get("model") or "").partition("/")[0]
    if provider and provider not in PROVIDERS.names():
        hint = f"The providers are {', '.join(PROVIDERS.names())}."
        yield Problem("error", "unknown_provider", "/model", f"There is no provider {provider!r}.", hint)


def fork(
    plan: RunPlan,
    parent_plan: RunPlan,
    given: RunInput,
    events: Sequence[Any],
    place: Place,
    change: Change,
    *,
    parent_id: str,
    repetition: int = 1,
) -> Fork:
    """What a run of `plan` takes from the events of its parent when it leaves it at a visit. Raises `CannotFork`."""
    counted = _without_failures(that_count(events), parent_plan, place)
    end = _known_end(counted, place)
    again = partial(replay, run_id=parent_id, repetition=repetition, trusted=lambda _: True)
    held = again(parent_plan, given, counted, hold=place)
    kept = set(held.taken)
    started = (set(held.open) | kept) - {place}
    chosen = [event for event in counted if _is_kept(event, kept, started, held.joined)]
    if change.answer is not None:
        chosen += _answered(plan, counted, place, end, change.answer)
    if plan is not parent_plan:
        chosen = list(_moved(chosen, parent_plan, plan))
        reached = again(plan, given, chosen)
        places = {*reached.taken, *reached.open, *reached.joined}
        chosen = [event for event in chosen if not is_of_a_visit(event) or Place.of(event) in places]
    taken = tuple(dict.fromkeys(Place.of(event) for event in chosen if isinstance(event, VisitEnded)))
    return Fork(tuple(chosen), taken, tuple(_again(counted, chosen)))


def _without_failures(events: Sequence[Any], plan: RunPlan, place: Place) -> list[Any]:
    """Without the visits that made the run fail, but for the one that is forked: a fork does them again."""
    failed = {
        Place.of(event)
        for event in events
        if isinstance(event, VisitEnded) and event.status == "failed" and ends_the_run(plan, event)
    }
    failed.discard(place)
    return [event for event in events if not is_of_a_visit(event) or Place.of(event) not in failed]


def _known_end(events: Sequence[Any], place: Place) -> VisitEnded | None:
    """The recorded end of the visit; None if it did not come to one."""
    mine = [event for event in events if is_of_a_visit(event) and Place.of(event) == place]
    if not mine:
        raise CannotFork(f"The run has no such visit: {place}.")
    return next((event for event in mine if isinstance(event, VisitEnded)), None)


def _is_kept(event: Any, kept: set[Place], started: set[Place], joined: frozenset[Place]) -> bool:
    if isinstance(event, Noted):
        return bool(event.visit) and Place(event.path, event.node, event.visit) in started
    if not is_of_a_visit(event):
        return False
    place = Place.of(event)
    if isinstance(event, Joined):
        return place in joined
    return place in (kept if isinstance(event, VisitEnded) else started)


def _answered(plan: RunPlan, events: Sequence[Any], place: Place, end: VisitEnded | None, answer: str) -> list[Any]:
    """The visit with a person's answer in the place of its own; what it had asked stays beside it."""
    node = _made_node(plan, place)
    if not node.waits:
        raise CannotFork(f"Node {place.node!r} only passes on what it reads: fork at a visit before it.")
    if end is not None and end.mapped:
        raise CannotFork(f"{place}, is a map: it has an answer for each unit. Change its prompt, or fork after it.")
    started = next((event for event in events if isinstance(event, VisitStarted) and Place.of(event) == place), None)
    try:
        emitted = node.given(answer, started.inbox if started else ())
    except NodeFailed as error:
        raise CannotFork(str(error)) from error
    before = [
        event
        for event in events
        if is_of_a_visit(event) and Place.of(event) == place and not isinstance(event, VisitEnded | Joined)
    ]
    at = end.at if end is not None else (before[-1].at if before else 0.0)
    said = Noted(
        at=at, path=place.path, node=place.node, visit=place.visit, code="answer_given",
        text="The answer of this visit was given by a person when the run was forked.",
    )  # fmt: skip
    ended = VisitEnded(
        at=at, path=place.path, node=place.node, visit=place.visit, status="succeeded", messages=emitted.messages,
        targets=emitted.targets,
    )  # fmt: skip
    return [*before, said, ended]


def _made_node(plan: RunPlan, place: Place) -> Node:
    at = plan_at(plan, place.path)
    made = {node.node: node for node in at.made_nodes()} if at is not None else {}
    if place.node not in made:
        raise CannotFork(f"There is no node {place.full_node!r} in this topology.")
    return made[place.node]


def _moved(events: Iterable[Any], was: RunPlan, now: RunPlan) -> Iterable[Any]:
    """The events as another plan would have written them: edges by their numbers there, without nodes that are gone."""
    known: dict[tuple[str, ...], tuple[RunPlan | None, dict[int, int]]] = {}
    for event in events:
        if not is_of_a_visit(event):
            yield event
            continue
        if event.path not in known:
            before, after = plan_at(was, event.path), plan_at(now, event.path)
            known[event.path] = after, edges_moved(before.edges, after.edges) if before and after else {}
        after, moved = known[event.path]
        if after is None or event.node not in after.nodes:
            continue
        if isinstance(event, Joined):
            if event.edge < 0 or event.edge in moved:
                yield event.model_copy(update={"edge": moved.get(event.edge, event.edge)})
        elif isinstance(event, VisitEnded):
            fired = tuple(moved[edge] for edge in event.fired if edge in moved)
            targets = event.targets and tuple(name for name in event.targets if name in after.nodes)
            yield event.model_copy(update={"fired": fired, "targets": targets})
        else:
            yield event


def _again(events: Sequence[Any], chosen: Sequence[Any]) -> Iterable[Again]:
    """The visits whose recorded calls a fork does not take, in their order."""
    kept = {id(event) for event in chosen}
    left: dict[Place, list[Any]] = {}
    for event in events:
        if event.kind in ("model_called", "tool_called") and id(event) not in kept:
            left.setdefault(Place.of(event), []).append(event)
    return (Again(place, tuple(calls)) for place, calls in left.items())
