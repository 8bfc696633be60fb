"""Which visit comes next: the semantics of TOPOLOGY.md §2, pure, deterministic, without recursion and without I/O.

A *pass* is one execution of the outermost graph, or one iteration of a scope. In it every unit (a node, or a nested
scope taken as one) settles exactly once: it ran or it was skipped. `Frame` is a pass under way, `Region` what is known
of it beforehand: its units, which edges lead between them, which go back, which leave.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import rustworkx

from workbench.engine.conditions import Condition, Judged
from workbench.engine.events import MessageData

START = -1
"""The index of the edge before all others that carries the input into each start node."""


class Edge(NamedTuple):
    """An edge as the scheduler sees it: nodes by index, the condition read."""

    source: int
    target: int
    condition: Condition
    trigger: bool = True
    carry: bool = True
    keep: bool = False
    clear: str | None = None
    max: int | None = None


class Visit(NamedTuple):
    """An execution of a node that may start now, with the inbox it reads. `number` counts from 1."""

    node: int
    number: int
    inbox: tuple[MessageData, ...]


class Outcome(NamedTuple):
    """How a visit ended. `messages` is empty for one that emitted nothing or failed; `targets` is a router's choice."""

    status: str = "succeeded"
    messages: tuple[MessageData, ...] = ()
    targets: tuple[int, ...] | None = None


class Firing(NamedTuple):
    """An edge that fired, with what it carries."""

    edge: int
    messages: tuple[MessageData, ...]


class Region(NamedTuple):
    """What is fixed of a pass: for the outermost graph, or for a scope entered by given entries.

    `units[i]` are the node indices of unit i; `nested[i]` says whether it is a scope. `waits[i]` counts what must settle
    before it; `after[i]` are the units that wait for i (as often as edges lead there). `late` are the data-only edges
    that close a circle here: they arrive when the iteration ends.
    """

    units: list[tuple[int, ...]]
    nested: list[bool]
    unit_of: dict[int, int]
    entries: frozenset[int]
    waits: list[int]
    after: list[list[int]]
    late: frozenset[int]

    def precedes(self, first: int, second: int) -> bool:
        """Whether unit `second` waits, directly or not, until unit `first` has settled."""
        waiting, seen = [first], {first}
        while waiting:
            for unit in self.after[waiting.pop()]:
                if unit == second:
                    return True
                if unit not in seen:
                    seen.add(unit)
                    waiting.append(unit)
        return False


class Frame:
    """A pass under way."""

    __slots__ = ("arrived", "begun", "exits", "fired", "held", "late", "parent", "region", "unit", "unsettled", "waits")

    def __init__(self, region: Region, parent: Frame | None, unit: int) -> None:
        self.region, self.parent, self.unit = region, parent, unit
        self.held: list[Firing] = []
        self.exits: list[Firing] = []
        self.late: list[Firing] = []

    def begin(self, begun: dict[int, int]) -> None:
        """A fresh iteration: nothing has settled. `begun`: how often watched nodes had run before it."""
        self.waits = list(self.region.waits)
        self.fired: list[set[int]] = [set() for _ in self.region.units]
        self.unsettled = len(self.region.units)
        self.arrived: set[int] = set()
        self.begun = begun


class Graph:
    """A topology by indices, with the regions already worked out; shared by all runs of one plan.

    `watched` are the nodes whose outputs some prompt reads by name.
    """

    def __init__(
        self, size: int, edges: Sequence[Edge], starts: Iterable[int], watched: frozenset[int] = frozenset()
    ) -> None:
        self.size, self.edges, self.starts, self.watched = size, list(edges), tuple(starts), watched
        self.out: list[list[int]] = [[] for _ in range(size)]
        for index, edge in enumerate(self.edges):
            self.out[edge.source].append(index)
        self._regions: dict[tuple[tuple[int, ...], frozenset[int]], Region] = {}
        self.root = self.region(tuple(range(size)), frozenset())

    def region(self, members: tuple[int, ...], entries: frozenset[int]) -> Region:
        """The region of a scope entered by `entries`; worked out once for each set of entries."""
        key = (members, entries)
        found = self._regions.get(key)
        if found is None:
            found = self._regions[key] = self._region(members, entries)
        return found

    def _region(self, members: tuple[int, ...], entries: frozenset[int]) -> Region:
        inside = set(members)
        between = [
            index
            for node in members
            for index in self.out[node]
            if (target := self.edges[index].target) in inside and not (self.edges[index].trigger and target in entries)
        ]
        trigger = [index for index in between if self.edges[index].trigger]
        components = self._components(members, trigger)
        unit_of = {node: unit for unit, nodes in enumerate(components) for node in nodes}
        selfish = {
            self.edges[index].source for index in trigger if self.edges[index].source == self.edges[index].target
        }
        nested = [len(nodes) > 1 or nodes[0] in selfish for nodes in components]
        late = self._late(between, unit_of, len(components))
        waits, after = [0] * len(components), [[] for _ in components]  # type: tuple[list[int], list[list[int]]]
        for index in between:
            source, target = unit_of[self.edges[index].source], unit_of[self.edges[index].target]
            if source != target and index not in late:
                waits[target] += 1
                after[source].append(target)
        return Region(components, nested, unit_of, entries, waits, after, late)

    def _components(self, members: tuple[int, ...], trigger: list[int]) -> list[tuple[int, ...]]:
        """Strongly connected components over trigger edges, in the order in which their first nodes are declared."""
        graph = rustworkx.PyDiGraph()
        position = {node: place for place, node in enumerate(members)}
        graph.add_nodes_from(members)
        graph.add_edges_from_no_data(
            [(position[self.edges[index].source], position[self.edges[index].target]) for index in trigger]
        )
        components = [
            sorted(members[place] for place in found) for found in rustworkx.strongly_connected_components(graph)
        ]
        return [tuple(found) for found in sorted(components)]

    def _late(self, between: list[int], unit_of: Mapping[int, int], count: int) -> frozenset[int]:
        """The data-only edges that close a circle with the other edges of the pass, scopes taken as one node."""
        data = [index for index in between if not self.edges[index].trigger]
        if not data:
            return frozenset()
        graph = rustworkx.PyDiGraph()
        graph.add_nodes_from(range(count))
        pairs = [(unit_of[self.edges[index].source], unit_of[self.edges[index].target]) for index in between]
        graph.add_edges_from_no_data(pairs)
        circle = {}
        for number, found in enumerate(rustworkx.strongly_connected_components(graph)):
            circle.update(dict.fromkeys(found, number))
        return frozenset(
            index
            for index in data
            if circle[unit_of[self.edges[index].source]] == circle[unit_of[self.edges[index].target]]
            and (
                unit_of[self.edges[index].source] != unit_of[self.edges[index].target]
                or self.edges[index].source == self.edges[index].target
            )
        )


class Scheduler:
    """One run of a graph. Take visits from `ready`, do them in any order, tell `finish` how each ended.

    >>> scheduler = Scheduler(graph)
    >>> scheduler.begin(MessageData(text="input"))
    >>> while scheduler.ready:
    ...     visit = scheduler.ready.popleft()
    ...     fired = scheduler.finish(visit, Outcome(messages=(MessageData(text="…"),)))
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.ready: deque[Visit] = deque()
        self.done = False
        self.firings: Counter[int] = Counter()
        self.refused: dict[int, int] = {}
        """Edge → the visit of its source at which its `max` was used up first."""
        self.visits: list[int] = [0] * graph.size
        self._frame_of: dict[int, Frame] = {}
        self._pending: dict[int, list[Firing]] = {}
        self._inbox: dict[int, list[tuple[MessageData, bool]]] = {}
        self._settled: deque[tuple[Frame, int, Sequence[Firing]]] = deque()
        self._check: deque[tuple[Frame, int]] = deque()

    # The story of a run

    def begin(self, message: MessageData) -> None:
        """Start: the edge before all others has fired into each start node."""
        frame = Frame(self.graph.root, None, -1)
        self._enter(frame, [(node, Firing(START, (message,))) for node in self.graph.starts])
        self._work()

    def finish(self, visit: Visit, outcome: Outcome) -> tuple[int, ...]:
        """A visit ended: its edges are judged, what follows becomes ready. Returns the edges that fired, in order."""
        frame = self._frame_of.pop(visit.node)
        firings = self._judge(visit.node, outcome)
        self._settle(frame, frame.region.unit_of[visit.node], firings)
        self._work()
        return tuple(firing.edge for firing in firings)

    def visible(self, visit: Visit, other: int) -> int:
        """Which visit of `other` a prompt of this visit reads: the latest if `other` comes before it in this pass, else
        the latest of earlier iterations. It never depends on what happens to finish first. 0: none."""
        if other == visit.node:
            return visit.number - 1
        frame: Frame | None = self._frame_of[visit.node]
        while frame is not None and other not in frame.region.unit_of:
            frame = frame.parent
        if frame is None:
            return 0
        first, second = frame.region.unit_of[other], frame.region.unit_of[visit.node]
        return self.visits[other] if frame.region.precedes(first, second) else frame.begun.get(other, 0)

    def undelivered(self) -> list[int]:
        """The nodes that messages were waiting for and that never ran."""
        return sorted(node for node, waiting in self._pending.items() if waiting and not self.visits[node])

    # Judging edges

    def _judge(self, node: int, outcome: Outcome) -> list[Firing]:
        """The edges of a node that fire. One that failed emits nothing, but its status can be tested."""
        if not outcome.messages and outcome.status == "succeeded":
            return []
        last = outcome.messages[-1] if outcome.messages else None
        tested = Judged(
            last.text if last else "", last.data if last else None, bool(last and last.structured), outcome.status
        )
        edges = self.graph.edges
        chosen = [
            index for index in self.graph.out[node] if outcome.targets is None or edges[index].target in outcome.targets
        ]
        fired = {
            index
            for index in chosen
            if not edges[index].condition.otherwise and edges[index].condition.test(tested) and self._admit(index, node)
        }
        if not any(edges[index].trigger for index in fired):
            fired |= {
                index
                for index in chosen
                if edges[index].condition.otherwise and edges[index].condition.test(tested) and self._admit(index, node)
            }
        return [Firing(index, outcome.messages if edges[index].carry else ()) for index in sorted(fired)]

    def _admit(self, index: int, node: int) -> bool:
        """Count a firing, unless the edge's `max` is used up."""
        most = self.graph.edges[index].max
        if most is not None and self.firings[index] >= most:
            self.refused.setdefault(index, self.visits[node])
            return False
        self.firings[index] += 1
        return True

    # Passes

    def _settle(self, frame: Frame, unit: int, firings: Sequence[Firing]) -> None:
        self._settled.append((frame, unit, firings))

    def _work(self) -> None:
        """Follow what settled, without recursion, until only visits are left to be done."""
        while self._settled or self._check:
            if self._settled:
                self._spread(*self._settled.popleft())
            else:
                self._start_or_skip(*self._check.popleft())

    def _spread(self, frame: Frame, unit: int, firings: Sequence[Firing]) -> None:
        """A unit settled: hand on its firings, then release what waited for it."""
        region = frame.region
        for firing in firings:
            self._route(frame, firing)
        for target in region.after[unit]:
            frame.waits[target] -= 1
            if not frame.waits[target]:
                self._check.append((frame, target))
        frame.unsettled -= 1
        if not frame.unsettled:
            self._end_iteration(frame)

    def _route(self, frame: Frame, firing: Firing) -> None:
        edge = self.graph.edges[firing.edge]
        if not edge.trigger:
            self._route_data(frame, firing)
        elif edge.target not in frame.region.unit_of:
            frame.exits.append(firing)
        elif edge.target in frame.region.entries:
            frame.held.append(firing)
        else:
            frame.fired[frame.region.unit_of[edge.target]].add(edge.target)
            self._deliver(firing)

    def _route_data(self, frame: Frame | None, firing: Firing) -> None:
        """To the smallest pass that holds both ends: at once where the target waits for it, else at the iteration's end."""
        target = self.graph.edges[firing.edge].target
        while frame is not None and target not in frame.region.unit_of:
            frame = frame.parent
        if frame is not None and firing.edge in frame.region.late:
            frame.late.append(firing)
        else:
            self._deliver(firing)

    def _deliver(self, firing: Firing) -> None:
        self._pending.setdefault(self.graph.edges[firing.edge].target, []).append(firing)

    def _start_or_skip(self, frame: Frame, unit: int) -> None:
        """All that a unit waited for has settled: it runs if anything fired into it, else it is skipped."""
        region = frame.region
        fired = frame.fired[unit] | (frame.arrived.intersection(region.units[unit]) if frame.arrived else set())
        if not fired:
            self._settle(frame, unit, ())
        elif region.nested[unit]:
            entries = frozenset(fired)
            inner = Frame(self.graph.region(region.units[unit], entries), frame, unit)
            self._enter(inner, [(node, None) for node in sorted(entries)])
        else:
            node = region.units[unit][0]
            self._frame_of[node] = frame
            self.visits[node] += 1
            self.ready.append(Visit(node, self.visits[node], self._take_inbox(node)))

    def _enter(self, frame: Frame, arrivals: Iterable[tuple[int, Firing | None]]) -> None:
        """Begin an iteration: what arrived stands as settled and fired; units that wait for nothing are looked at."""
        watched = self.graph.watched
        frame.begin({node: self.visits[node] for node in watched if node in frame.region.unit_of} if watched else {})
        for node, firing in arrivals:
            frame.arrived.add(node)
            if firing is not None:
                self._pending.setdefault(node, []).append(firing)
        self._check.extend((frame, unit) for unit, count in enumerate(frame.waits) if not count)

    def _end_iteration(self, frame: Frame) -> None:
        """Every unit settled. An exit ends the loop; else a held back edge begins the next iteration; else it is over."""
        for firing in frame.late:
            self._deliver(firing)
        frame.late = []
        held, frame.held = frame.held, []
        exits, frame.exits = frame.exits, []
        if frame.parent is None:
            self.done = True
        elif exits or not held:
            for firing in held:
                self.firings[firing.edge] -= 1
            self._settle(frame.parent, frame.unit, exits)
        else:
            for firing in held:
                self._deliver(firing)
            self._enter(frame, [(node, None) for node in sorted({self.graph.edges[f.edge].target for f in held})])

    # Inboxes

    def _take_inbox(self, node: int) -> tuple[MessageData, ...]:
        """Apply what was delivered, in edge order: clear, then append. What is kept stays for later visits."""
        inbox = self._inbox.get(node, [])
        for firing in sorted(self._pending.pop(node, ()), key=_edge_order):
            edge = self.graph.edges[firing.edge] if firing.edge != START else None
            if edge is not None and edge.clear:
                inbox = _cleared(inbox, edge.clear)
            keep = edge is not None and edge.keep
            inbox.extend((message, keep) for message in firing.messages)
        self._inbox[node] = [(message, keep) for message, keep in inbox if keep]
        return tuple(message for message, _ in inbox)


def _edge_order(firing: Firing) -> int:
    return firing.edge


def _cleared(inbox: list[tuple[MessageData, bool]], what: str) -> list[tuple[MessageData, bool]]:
    if what == "all":
        return []
    return [(message, keep) for message, keep in inbox if keep is (what == "inbox")]
