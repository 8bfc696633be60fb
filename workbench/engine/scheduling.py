"""Which visit comes next: the semantics of TOPOLOGY.md §2, pure, deterministic, without recursion and without I/O.

A *pass* is one execution of the outermost graph, or one iteration of a scope. In it every unit (a node, or a nested
scope taken as one) settles exactly once: it ran or it was skipped. `Frame` is a pass under way, `Region` what is known
of it beforehand: its units, which edges lead between them, which go back, which leave.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import rustworkx

from workbench.engine.conditions import Condition, Judged
from workbench.engine.errors import WorkbenchError
from workbench.engine.events import MessageData
from workbench.engine.transforms import NoMatch, Split, Transform

Sources = dict[int, set[int]]
START = -1
"""The index of the edge before all others that carries the input into each start node."""


class Edge(NamedTuple):
    """An edge as the scheduler sees it: nodes by index, condition, transform and split read. An edge that maps has a
    `split`; with `group_size` its units are reduced."""

    source: int
    target: int
    condition: Condition
    trigger: bool = True
    carry: bool = True
    keep: bool = False
    clear: str | None = None
    max: int | None = None
    transform: Transform | None = None
    split: Split | None = None
    group_size: int | None = None
    max_parallel: int = 10

    @property
    def plain(self) -> bool:
        """Whether it fires at every success and passes on what there is."""
        return self.condition.always and self.max is None and self.transform is None


class Visit(NamedTuple):
    """An execution of a node that may start now, with the inbox it reads. `number` counts from 1.

    `units` is None but for a map: then the node runs once for each of them, with the inbox before it, `max_parallel` at
    a time; with `group_size` layer by layer. `state` is the node's own for this entry of its innermost scope.
    """

    node: int
    number: int
    inbox: tuple[MessageData, ...]
    units: tuple[MessageData, ...] | None = None
    group_size: int | None = None
    max_parallel: int = 10
    state: dict[str, Any] = {}


class Outcome(NamedTuple):
    """How a visit ended. `messages` is empty for one that emitted nothing or failed; `targets` is a router's choice.
    `mapped`: the messages are the results of units, each judged by itself."""

    status: str = "succeeded"
    messages: tuple[MessageData, ...] = ()
    targets: tuple[int, ...] | None = None
    mapped: bool = False


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
    sources: dict[int, frozenset[int]]
    """Node → the nodes in other units whose trigger edges lead to it in this pass."""
    data_waits: list[int]
    """How many of `waits` are data-only edges."""
    after_data: list[list[int]]
    behind: dict[int, int]
    """Unit → the units that wait for it, directly or not, as bits; found when first asked for."""

    def precedes(self, first: int, second: int) -> bool:
        """Whether unit `second` waits, directly or not, until unit `first` has settled."""
        if first not in self.behind:
            self.behind[first] = self._behind(first)
        return bool(self.behind[first] >> second & 1)

    def _behind(self, first: int) -> int:
        waiting, found = [first], set[int]()
        while waiting:
            for unit in self.after[waiting.pop()]:
                if unit not in found:
                    found.add(unit)
                    waiting.append(unit)
        bits = bytearray(len(self.units) // 8 + 1)
        for unit in found:
            bits[unit >> 3] |= 1 << (unit & 7)
        return int.from_bytes(bits, "little")


class Frame:
    """A pass under way.

    `fired[unit]`: node → the sources that fired into it; `arrived` the same for what came from outside (or by back
    edges), `expected` what could have come that way; `decided`: unit whose join is `first` → the edge that won, `launched`
    those that it has started.
    """

    __slots__ = (
        "arrived",
        "begun",
        "data_waits",
        "decided",
        "exits",
        "expected",
        "fired",
        "held",
        "late",
        "launched",
        "parent",
        "region",
        "state",
        "unit",
        "unsettled",
        "waits",
    )

    def __init__(self, region: Region, parent: Frame | None, unit: int) -> None:
        self.region, self.parent, self.unit = region, parent, unit
        self.held: list[Firing] = []
        self.exits: list[Firing] = []
        self.late: list[Firing] = []
        self.state: dict[int, dict[str, Any]] = {}

    def begin(self, begun: dict[int, int], arrived: Sources, expected: Sources) -> None:
        """A fresh iteration: nothing has settled. `begun`: how often watched nodes had run before it."""
        self.waits = list(self.region.waits)
        self.data_waits = list(self.region.data_waits)
        self.fired: list[Sources] = [{} for _ in self.region.units]
        self.unsettled = len(self.region.units)
        self.decided: dict[int, int] = {}
        self.launched: set[int] = set()
        self.arrived, self.expected, self.begun = arrived, expected, begun

    def fired_into(self, unit: int) -> Sources:
        """The nodes of a unit that something fired into, each with its sources."""
        found = self.fired[unit]
        if not self.arrived:
            return found
        found = dict(found)
        for node in self.region.units[unit]:
            if node in self.arrived:
                found[node] = found.get(node, set()) | self.arrived[node]
        return found

    def awaited(self, node: int) -> set[int]:
        """The sources whose edges into the node can fire in this pass."""
        return self.expected.get(node, set()) | self.region.sources.get(node, frozenset())


class Graph:
    """A topology by indices, with the regions already worked out; shared by all runs of one plan.

    `watched` are the nodes whose outputs some prompt reads by name; `joins` those that join by `all` or `first`.
    """

    def __init__(
        self,
        size: int,
        edges: Sequence[Edge],
        starts: Iterable[int],
        watched: frozenset[int] = frozenset(),
        joins: Mapping[int, str] | None = None,
    ) -> None:
        self.size, self.edges, self.starts, self.watched = size, list(edges), tuple(starts), watched
        self.joins = {node: join for node, join in (joins or {}).items() if join != "settled"}
        self.out: list[list[int]] = [[] for _ in range(size)]
        for index, edge in enumerate(self.edges):
            self.out[edge.source].append(index)
        self.shaped = {edge.target for edge in self.edges if edge.keep or edge.clear or edge.split}
        """The nodes whose inbox is more than what was delivered last."""
        self.plain = [all(self.edges[index].plain for index in out) for out in self.out]
        """Whether nothing has to be asked of a node's edges: they fire whenever it succeeds with a message."""
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
        count = len(components)
        waits, data_waits = [0] * count, [0] * count
        after: list[list[int]] = [[] for _ in components]
        after_data: list[list[int]] = [[] for _ in components]
        sources: dict[int, set[int]] = {}
        for index in between:
            edge = self.edges[index]
            source, target = unit_of[edge.source], unit_of[edge.target]
            if source == target or index in late:
                continue
            waits[target] += 1
            after[source].append(target)
            if edge.trigger:
                sources.setdefault(edge.target, set()).add(edge.source)
            else:
                data_waits[target] += 1
                after_data[source].append(target)
        fixed = {node: frozenset(found) for node, found in sources.items()}
        return Region(components, nested, unit_of, entries, waits, after, late, fixed, data_waits, after_data, {})

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


class EdgeFailed(WorkbenchError):
    """An edge whose transform found nothing and must not let that pass. `edge` is its index."""

    code = "no_match"

    def __init__(self, edge: int, message: str) -> None:
        super().__init__(message)
        self.edge = edge


class Skipped(NamedTuple):
    """A node that waited for all of its sources and did not run, because some never fired."""

    node: int
    missing: tuple[int, ...]


class Scheduler:
    """One run of a graph. Take visits from `ready`, do them in any order, tell `finish` how each ended.

    `winners` are the joins that an earlier attempt decided: (node, visit) → the edge that came first.

    >>> scheduler = Scheduler(graph)
    >>> scheduler.begin(MessageData(text="input"))
    >>> while scheduler.ready:
    ...     visit = scheduler.ready.popleft()
    ...     fired = scheduler.finish(visit, Outcome(messages=(MessageData(text="…"),)))
    """

    def __init__(self, graph: Graph, winners: Mapping[tuple[int, int], int] | None = None) -> None:
        self.graph = graph
        self.ready: deque[Visit] = deque()
        self.done = False
        self.firings = [0] * len(graph.edges)
        self.refused: dict[int, int] = {}
        """Edge → the visit of its source at which its `max` was used up first."""
        self.skipped: list[Skipped] = []
        self.won: list[tuple[int, int, int]] = []
        """The joins `first` that were decided here, in order: node, visit, edge."""
        self.visits: list[int] = [0] * graph.size
        self._winners = winners or {}
        self._frame_of: dict[int, Frame] = {}
        self._pending: dict[int, list[Firing]] = {}
        self._inbox: dict[int, list[Kept]] = {}
        self._settled: deque[tuple[Frame, int, Sequence[Firing]]] = deque()
        self._check: deque[tuple[Frame, int]] = deque()

    # The story of a run

    def begin(self, message: MessageData) -> None:
        """Start: the edge before all others has fired into each start node."""
        for node in self.graph.starts:
            self._pending.setdefault(node, []).append(Firing(START, (message,)))
        arrived = {node: {START} for node in self.graph.starts}
        self._enter(Frame(self.graph.root, None, -1), arrived, arrived)
        self._work()

    def finish(self, visit: Visit, outcome: Outcome) -> tuple[int, ...]:
        """A visit ended: its edges are judged, what follows becomes ready. Returns the edges that fired, in order.
        Raises `EdgeFailed`; the run is over then."""
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
        return self.visits[other] if self._precedes(frame, first, second) else frame.begun.get(other, 0)

    def _precedes(self, frame: Frame, first: int, second: int) -> bool:
        """Whether a unit had settled for sure when another started: a join at the first waits for its winner only."""
        if not frame.decided:
            return frame.region.precedes(first, second)
        waiting, seen = [second], {second}
        while waiting:
            for unit in self._awaited_units(frame, waiting.pop()):
                if unit == first:
                    return True
                if unit not in seen:
                    seen.add(unit)
                    waiting.append(unit)
        return False

    def _awaited_units(self, frame: Frame, unit: int) -> list[int]:
        """The units that this one waited for."""
        region, won = frame.region, frame.decided.get(unit)
        if won is None:
            return [before for before, followers in enumerate(region.after) if unit in followers]
        winner = [] if won == START else [region.unit_of[self.graph.edges[won].source]]
        return winner + [before for before, followers in enumerate(region.after_data) if unit in followers]

    def undelivered(self) -> list[int]:
        """The nodes that messages were waiting for and that never ran."""
        return sorted(node for node, waiting in self._pending.items() if waiting and not self.visits[node])

    # Judging edges

    def _judge(self, node: int, outcome: Outcome) -> list[Firing]:
        """The edges of a node that fire, each with what it carries. A node that emitted nothing fires none; one that
        failed emits nothing, but its status can be tested."""
        edges = self.graph.edges
        if outcome.status == "failed":
            outcome = outcome._replace(mapped=False)
        elif self.graph.plain[node] and outcome.messages and not outcome.mapped and outcome.targets is None:
            return [self._fired(index, outcome.messages) for index in self.graph.out[node]]
        silent = not outcome.messages and outcome.status == "succeeded"
        if silent and not outcome.mapped:
            return []
        chosen = [i for i in self.graph.out[node] if outcome.targets is None or edges[i].target in outcome.targets]
        fired: dict[int, tuple[MessageData, ...]] = {}
        taken: set[int] = set()
        for index in chosen:
            if not edges[index].condition.otherwise:
                passed = self._passed(edges[index], outcome)
                if self._fires(index, node, passed, fired) and edges[index].trigger and passed is not None:
                    taken.update(map(id, passed))
        left = outcome
        if outcome.mapped:
            left = outcome._replace(messages=tuple(m for m in outcome.messages if id(m) not in taken))
        if silent or left.messages if outcome.mapped else not any(edges[index].trigger for index in fired):
            for index in chosen:
                if edges[index].condition.otherwise:
                    self._fires(index, node, self._passed(edges[index], left), fired)
        return [Firing(index, messages if edges[index].carry else ()) for index, messages in sorted(fired.items())]

    def _fired(self, index: int, messages: tuple[MessageData, ...]) -> Firing:
        self.firings[index] += 1
        return Firing(index, messages if self.graph.edges[index].carry else ())

    def _passed(self, edge: Edge, outcome: Outcome) -> tuple[MessageData, ...] | None:
        """What an edge would carry if it fires; None if its condition does not hold."""
        condition, messages = edge.condition, outcome.messages
        if not outcome.mapped:
            last = messages[-1] if messages else None
            judged = (
                Judged(last.text, last.data, last.structured, outcome.status)
                if last
                else Judged("", status=outcome.status)
            )
            return messages if condition.test(judged) else None
        if not messages:
            return () if condition.otherwise or condition.always else None
        passed = tuple(m for m in messages if condition.test(Judged(m.text, m.data, m.structured, m.status)))
        return passed or None

    def _fires(
        self, index: int, node: int, passed: tuple[MessageData, ...] | None, fired: dict[int, tuple[MessageData, ...]]
    ) -> bool:
        """Transform what passed and count the firing, unless all of it was dropped or the edge's `max` is used up."""
        edge = self.graph.edges[index]
        if passed is None:
            return False
        if edge.transform is not None and passed:
            passed = self._transformed(index, edge.transform, passed)
            if not passed:
                return False
        if edge.max is not None and self.firings[index] >= edge.max:
            self.refused.setdefault(index, self.visits[node])
            return False
        self.firings[index] += 1
        fired[index] = passed
        return True

    def _transformed(
        self, index: int, transform: Transform, messages: tuple[MessageData, ...]
    ) -> tuple[MessageData, ...]:
        try:
            return tuple(new for message in messages if (new := transform(message)) is not None)
        except NoMatch as error:
            raise EdgeFailed(index, str(error)) from error

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
            if not frame.waits[target] and target not in frame.launched:  # it may have ended, and the iteration with it
                self._check.append((frame, target))
        for target in region.after_data[unit]:
            frame.data_waits[target] -= 1
            self._start_first(frame, target)
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
            unit = frame.region.unit_of[edge.target]
            first = self.graph.joins.get(edge.target) == "first" and not frame.region.nested[unit]
            if first and not self._wins(frame, unit, firing.edge):
                return  # later than the first: recorded, its data dropped
            frame.fired[unit].setdefault(edge.target, set()).add(edge.source)
            self._deliver(firing)
            self._start_first(frame, unit)

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
        if unit in frame.launched:
            return
        region = frame.region
        fired = frame.fired_into(unit)
        if not fired:
            self._settle(frame, unit, ())
        elif region.nested[unit]:
            inner = Frame(self.graph.region(region.units[unit], frozenset(fired)), frame, unit)
            self._enter(inner, fired, {node: frame.awaited(node) for node in fired})
        elif self._joins_all(frame, region.units[unit][0], fired):
            self._start(frame, region.units[unit][0])
        else:
            self._settle(frame, unit, ())

    def _joins_all(self, frame: Frame, node: int, fired: Sources) -> bool:
        """Whether a join `all` has all of its sources; other joins have what they need."""
        if self.graph.joins.get(node) != "all":
            return True
        missing = frame.awaited(node) - fired[node]
        if missing:
            self.skipped.append(Skipped(node, tuple(sorted(missing))))
        return not missing

    def _wins(self, frame: Frame, unit: int, index: int) -> bool:
        """Whether the edge is the first into a join `first`; what an earlier attempt decided stands."""
        node = frame.region.units[unit][0]
        if unit in frame.decided or self._winners.get((node, self.visits[node] + 1), index) != index:
            return False
        frame.decided[unit] = index
        self.won.append((node, self.visits[node] + 1, index))
        return True

    def _start_first(self, frame: Frame, unit: int) -> None:
        """Start a join `first` that is decided, as soon as what it reads besides has settled."""
        if unit in frame.decided and unit not in frame.launched and not frame.data_waits[unit]:
            frame.launched.add(unit)
            self._start(frame, frame.region.units[unit][0])

    def _start(self, frame: Frame, node: int) -> None:
        self._frame_of[node] = frame
        self.visits[node] += 1
        self.ready.append(self._visit(node, frame.state.setdefault(node, {})))

    def _enter(self, frame: Frame, arrived: Sources, expected: Sources) -> None:
        """Begin an iteration: what arrived stands as settled and fired; units that wait for nothing are looked at."""
        watched = self.graph.watched
        begun = {node: self.visits[node] for node in watched if node in frame.region.unit_of} if watched else {}
        frame.begin(begun, arrived, expected)
        for node in arrived:
            unit = frame.region.unit_of[node]
            if (
                self.graph.joins.get(node) == "first"
                and not frame.region.nested[unit]
                and self._wins(frame, unit, START)
            ):
                self._start_first(frame, unit)
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
            arrived: Sources = {}
            for firing in held:
                self._deliver(firing)
                edge = self.graph.edges[firing.edge]
                arrived.setdefault(edge.target, set()).add(edge.source)
            self._enter(frame, arrived, self._back_sources(frame) if self.graph.joins else arrived)

    def _back_sources(self, frame: Frame) -> Sources:
        """Entry → the nodes whose back edges lead to it."""
        found: Sources = {}
        for node in frame.region.unit_of:
            for index in self.graph.out[node]:
                edge = self.graph.edges[index]
                if edge.trigger and edge.target in frame.region.entries:
                    found.setdefault(edge.target, set()).add(node)
        return found

    # Inboxes

    def _visit(self, node: int, state: dict[str, Any]) -> Visit:
        """Apply what was delivered, in edge order: clear, then append. What is kept stays for later visits; what came
        over an edge that maps is split into units."""
        pending = self._pending.pop(node, ())
        if node not in self.graph.shaped:
            if len(pending) > 1:
                pending = sorted(pending, key=_edge_order)
            return Visit(node, self.visits[node], tuple(m for firing in pending for m in firing.messages), state=state)
        inbox = self._inbox.get(node, [])
        mapping: list[Edge] = []
        for firing in sorted(pending, key=_edge_order):
            edge = self.graph.edges[firing.edge] if firing.edge != START else None
            if edge is None:
                inbox.extend(Kept(message) for message in firing.messages)
                continue
            if edge.clear:
                inbox = _cleared(inbox, edge.clear)
            if edge.split is None:
                inbox.extend(Kept(message, edge.keep) for message in firing.messages)
            else:
                mapping.append(edge)
                units = (unit for message in firing.messages for unit in edge.split(message))
                inbox.extend(Kept(unit, edge.keep, True) for unit in units)
        self._inbox[node] = [item._replace(unit=False) for item in inbox if item.keep]
        messages = tuple(item.message for item in inbox if not item.unit)
        if not mapping:
            return Visit(node, self.visits[node], messages, state=state)
        return Visit(
            node,
            self.visits[node],
            messages,
            units=tuple(item.message for item in inbox if item.unit),
            group_size=next((edge.group_size for edge in mapping if edge.group_size), None),
            max_parallel=min(edge.max_parallel for edge in mapping),
            state=state,
        )


class Kept(NamedTuple):
    """A message in an inbox: whether it stays over visits, and whether it is a unit of a map."""

    message: MessageData
    keep: bool = False
    unit: bool = False


def _edge_order(firing: Firing) -> int:
    return firing.edge


def _cleared(inbox: list[Kept], what: str) -> list[Kept]:
    if what == "all":
        return []
    return [item for item in inbox if item.keep is (what == "inbox")]
