"""Rules about a topology's graph: where it starts and ends, what is never reached, what never ends."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from workbench.engine.documents import pointer
from workbench.engine.errors import Problem
from workbench.engine.nodes import NODES
from workbench.engine.reachability import Shape
from workbench.engine.spec import EdgeSpec, NodeSpec, TopologySpec

DEEPEST_SCOPES = 3


def graph_problems(shape: Shape, spec: TopologySpec) -> Iterator[Problem]:
    """Every problem of the graph, errors and warnings."""
    yield from _ends(shape, spec)
    yield from _reach(shape)
    yield from _cycles(shape)
    yield from _late_data(shape)
    yield from _silent_inputs(shape, spec)
    yield from _calls(shape, spec)
    yield from _joins(shape, spec)


def _joins(shape: Shape, spec: TopologySpec) -> Iterator[Problem]:
    looping = {node: set(cycle) for cycle in shape.cycles for node in cycle}
    for node, name in enumerate(shape.nodes):
        join, path = spec.nodes[name].join, pointer("nodes", name, "join")
        if join == "settled":
            continue
        incoming = [(number, source, edge) for number, source, _, edge in shape.into[node] if edge.trigger]
        cycle = looping.get(node)
        if join == "first" and cycle and (node in shape.start or any(source not in cycle for _, source, _ in incoming)):
            message = f"Node {name!r} is entered from outside its cycle: there it can't join at the first."
            yield Problem("error", "first_enters_cycle", path, message, 'Join "first" in a node before the cycle.')
        if join != "all":
            continue
        if cycle:
            message = (
                f"Node {name!r} waits for all of its sources inside a cycle: a source that is skipped ends the loop."
            )
            yield Problem("warning", "all_in_cycle", path, message, 'Use "settled" unless every source runs each time.')
        pair = _exclusive(shape, spec, incoming)
        if pair:
            first, second = (shape.nodes[source] for source in pair)
            message = f"Node {name!r} waits for all of its sources, but {first!r} and {second!r} exclude each other."
            yield Problem(
                "error", "all_of_exclusive", path, message, 'Use "settled": it waits for what can still come.'
            )


def _exclusive(shape: Shape, spec: TopologySpec, incoming: list[tuple[int, int, EdgeSpec]]) -> tuple[int, int] | None:
    """Two sources of a join that can never both fire: each runs only by one edge, and the two edges exclude each other."""
    fired_by: dict[int, list[tuple[int, EdgeSpec]]] = {}
    for _, source, target, edge in shape.edges:
        if edge.trigger:
            fired_by.setdefault(target, []).append((source, edge))
    sources = sorted({source for _, source, _ in incoming} - set(shape.start))
    for position, first in enumerate(sources):
        for second in sources[position + 1 :]:
            one, other = fired_by.get(first, []), fired_by.get(second, [])
            if len(one) != 1 or len(other) != 1 or one[0][0] != other[0][0]:
                continue
            origin = spec.nodes[shape.nodes[one[0][0]]]
            if _exclude(one[0][1].when, other[0][1].when) or _routed_apart(origin, one[0][1], other[0][1]):
                return first, second
    return None


def _routed_apart(origin: NodeSpec, one: EdgeSpec, other: EdgeSpec) -> bool:
    """Whether a router chooses between the two, and none of its rules names both."""
    rules = origin.config.get("rules") or ()
    both = any(isinstance(rule, dict) and {one.target, other.target} <= set(rule.get("to") or ()) for rule in rules)
    return origin.type == "router" and not both


def _exclude(one: dict[str, Any] | None, other: dict[str, Any] | None) -> bool:
    """Whether two conditions on one message can never both hold: a closed list of plain cases."""
    if one is None or other is None:
        return False
    for a, b in ((one, other), (other, one)):
        if b == {"not": a} or (b == {"otherwise": True} and a != b):
            return True
        if set(a) == {"contains_any"} and b == {"contains_none": a["contains_any"]}:
            return True
    mine, yours = _values(one), _values(other)
    if one.get("field") == other.get("field") and mine is not None and yours is not None:
        return not any(value in yours for value in mine)
    return {one.get("status"), other.get("status")} == {"succeeded", "failed"}


def _values(condition: dict[str, Any]) -> list[Any] | None:
    if "field" not in condition or not condition.get("case_sensitive", True):
        return None
    return [condition["equals"]] if "equals" in condition else condition.get("in")


def _ends(shape: Shape, spec: TopologySpec) -> Iterator[Problem]:
    known = list(spec.nodes)
    for word, names in (("start", spec.start), ("end", spec.end)):
        if not names:
            example = f'"{word}": ["{known[0] if known else "writer"}"]'
            yield Problem(
                "error", f"no_{word}", f"/{word}", f"The topology has no {word} node.", f"For example {example}."
            )
        for position, name in enumerate(names):
            path = f"/{word}/{position}"
            if name not in spec.nodes:
                yield Problem("error", f"unknown_{word}", path, f"There is no node {name!r}.{shape.nearest(name)}")
            elif name in names[:position]:
                yield Problem("error", f"duplicate_{word}", path, f"{name!r} stands twice in {word!r}.", "Delete one.")


def _reach(shape: Shape) -> Iterator[Problem]:
    if not shape.start:
        return
    for node, name in enumerate(shape.nodes):
        if node not in shape.runs_from_start:
            end = node in shape.end
            message = f"{'The end node' if end else 'Node'} {name!r} can never be reached from a start node."
            hint = "Draw an edge that triggers it, make it a start node, or delete it."
            yield Problem("error", "unreachable_end" if end else "unreachable", pointer("nodes", name), message, hint)
    if not shape.end:
        return
    useful = shape.reached(shape.end, backwards=True, data=True)
    for node, name in enumerate(shape.nodes):
        if node not in useful and node in shape.runs_from_start:
            message = f"No path leads from node {name!r} to an end node."
            hint = "Draw an edge onwards, make it an end node, or delete it."
            yield Problem("error", "no_path_to_end", pointer("nodes", name), message, hint)


def _cycles(shape: Shape) -> Iterator[Problem]:
    for cycle in shape.cycles:
        inside = set(cycle)
        entries = shape.entries(cycle)
        leading = [edge for node in cycle for edge in shape.out[node] if edge[3].trigger]
        inner = [edge for edge in leading if edge[2] in inside]
        exits = [edge for edge in leading if edge[2] not in inside]
        names = ", ".join(repr(shape.nodes[node]) for node in cycle[:5]) + (" …" if len(cycle) > 5 else "")
        if not exits and all(shape.sure_edge(source, edge) for _, source, _, edge in inner):
            message = f"Nothing can end the cycle of {names}."
            hint = 'Give an edge in it a condition ("when") or a bound ("max"), and draw a way out.'
            yield Problem("error", "endless_cycle", pointer("nodes", shape.nodes[cycle[0]]), message, hint)
        always = _run_every_iteration(shape, inside, entries)
        for number, source, _, edge in exits:
            if source in always and shape.sure_edge(source, edge):
                message = f"This edge leaves the cycle of {names} in its first iteration: the loop runs once."
                yield Problem("warning", "loop_runs_once", f"/edges/{number}", message, 'Give it a condition ("when").')
        for number, source, target, _ in inner:
            if source != target and source in entries and target in entries:
                message = (
                    f"{shape.nodes[source]!r} and {shape.nodes[target]!r} may both be entries of their cycle: then this"
                )
                message += " edge leads back, and its message is dropped if the loop ends in the first iteration."
                yield Problem("warning", "edge_between_entries", f"/edges/{number}", message)
        if _depth(shape, cycle) > DEEPEST_SCOPES:
            message = f"The cycle of {names} nests more than {DEEPEST_SCOPES} loops in each other."
            hint = "Split it: deep nests are hard to follow."
            yield Problem("warning", "deep_nesting", pointer("nodes", shape.nodes[cycle[0]]), message, hint)


def _run_every_iteration(shape: Shape, inside: set[int], entries: list[int]) -> set[int]:
    """The nodes that run in each first iteration, whichever entry is taken."""
    found: set[int] | None = None
    for entry in entries:
        reached, waiting = {entry}, [entry]
        while waiting:
            node = waiting.pop()
            for _, source, target, edge in shape.out[node]:
                if target in inside and target not in reached and shape.sure_edge(source, edge):
                    reached.add(target)
                    waiting.append(target)
        found = reached if found is None else found & reached
    return found or set()


def _depth(shape: Shape, cycle: list[int]) -> int:
    """How many loops lie in each other, when each is entered wherever it can be."""
    deepest, waiting = 0, [(cycle, shape.entries(cycle), 1)]
    while waiting:
        members, entries, depth = waiting.pop()
        deepest = max(deepest, depth)
        if depth > DEEPEST_SCOPES:
            break
        cut = set(entries) or {members[0]}
        inside = set(members)
        kept = [
            edge
            for node in members
            for _, _, target, edge in shape.out[node]
            if edge.trigger and target in inside and target not in cut
        ]
        part = Shape([shape.nodes[node] for node in members], (), (), kept)
        for inner in part.cycles:
            nodes = [shape.index[part.nodes[node]] for node in inner]
            waiting.append((nodes, shape.entries(nodes), depth + 1))
    return deepest


def _late_data(shape: Shape) -> Iterator[Problem]:
    for number, source, target, edge in shape.edges:
        if edge.trigger or shape.circle[source] != shape.circle[target]:
            continue
        if shape.component[source] == shape.component[target] and any(source in cycle for cycle in shape.cycles):
            continue
        message = (
            f"What {shape.nodes[source]!r} sends {shape.nodes[target]!r} here can never arrive: it starts earlier."
        )
        hint = "Turn the edge round, or let it trigger and close a loop."
        yield Problem("warning", "data_never_arrives", f"/edges/{number}", message, hint)


def _silent_inputs(shape: Shape, spec: TopologySpec) -> Iterator[Problem]:
    fed = {target for _, _, target, edge in shape.edges if edge.carry} | set(shape.start)
    for node in sorted({target for _, _, target, _ in shape.edges} - fed):
        name = shape.nodes[node]
        kind = spec.nodes[name]
        if kind.type in ("passthrough", "vote", "router") or (kind.type == "agent" and not kind.config.get("prompt")):
            message = f'Node {name!r} only ever runs with an empty inbox: every edge into it has "carry": false.'
            yield Problem("warning", "empty_inbox", pointer("nodes", name), message, "Let one edge carry its message.")


def _calls(shape: Shape, spec: TopologySpec) -> Iterator[Problem]:
    most = spec.limits.model_calls
    if most is None or not shape.start or not shape.end:
        return
    least = _fewest_calls(shape, spec)
    if least is not None and most < least:
        message = f"The shortest way from start to end makes {least} model calls; the limit is {most}."
        yield Problem("warning", "limit_too_small", "/limits/model_calls", message, "Raise the limit.")


def _fewest_calls(shape: Shape, spec: TopologySpec) -> int | None:
    """Model calls on the cheapest path (0-1 breadth first)."""

    def calls(node: int) -> int:
        kind = spec.nodes[shape.nodes[node]]
        return int(kind.type in NODES.names() and NODES.get(kind.type).asks_model(kind.config))

    after: dict[int, list[int]] = {}
    for _, source, target, edge in shape.edges:
        if edge.trigger:
            after.setdefault(source, []).append(target)
    best = {node: calls(node) for node in shape.start}
    waiting = deque(sorted(best, key=lambda node: best[node]))
    while waiting:
        node = waiting.popleft()
        for target in after.get(node, ()):
            cost = best[node] + calls(target)
            if cost < best.get(target, cost + 1):
                best[target] = cost
                (waiting.append if calls(target) else waiting.appendleft)(target)
    return min((best[node] for node in shape.end if node in best), default=None)
