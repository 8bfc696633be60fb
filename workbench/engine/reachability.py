"""What can be known of a topology's graph before a run: components, reachability, which nodes ran for sure before which.

All of it is iterative; sets of nodes are integers used as bit sets, so that 10,000 nodes are no matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import rustworkx

from workbench.engine.plugins import Nearest
from workbench.engine.spec import EdgeSpec


class Shape:
    """A topology's nodes by position and the edges between known nodes. `choosers`: nodes whose edges
    may stay silent though they succeed (routers, counters, timers). `firsts`: nodes that start at the first of their
    sources and do not wait for the others."""

    def __init__(
        self,
        nodes: Sequence[str],
        start: Iterable[str],
        end: Iterable[str],
        edges: Iterable[EdgeSpec],
        choosers: frozenset[str] = frozenset(),
        firsts: frozenset[str] = frozenset(),
    ) -> None:
        self.nodes = tuple(nodes)
        self.index = {name: position for position, name in enumerate(self.nodes)}
        self.start = [self.index[name] for name in start if name in self.index]
        self.end = [self.index[name] for name in end if name in self.index]
        self.choosers = {self.index[name] for name in choosers}
        self.firsts = {self.index[name] for name in firsts}
        self.edges = [
            (number, self.index[edge.source], self.index[edge.target], edge)
            for number, edge in enumerate(edges)
            if edge.source in self.index and edge.target in self.index
        ]

    @cached_property
    def nearest(self) -> Nearest:
        """Hints for misspelt ids."""
        return Nearest(self.nodes)

    @cached_property
    def out(self) -> list[list[tuple[int, int, int, EdgeSpec]]]:
        """Node → its edges, as (number, source, target, edge)."""
        found: list[list[tuple[int, int, int, EdgeSpec]]] = [[] for _ in self.nodes]
        for edge in self.edges:
            found[edge[1]].append(edge)
        return found

    @cached_property
    def into(self) -> list[list[tuple[int, int, int, EdgeSpec]]]:
        """Node → the edges that lead to it."""
        found: list[list[tuple[int, int, int, EdgeSpec]]] = [[] for _ in self.nodes]
        for edge in self.edges:
            found[edge[2]].append(edge)
        return found

    def sure_edge(self, source: int, edge: EdgeSpec) -> bool:
        """Whether the edge fires whenever its source succeeds."""
        drops = edge.transform is not None and edge.transform.get("on_no_match") == "drop"
        sure = edge.trigger and edge.when is None and edge.max is None and not drops
        return sure and source not in self.choosers

    @cached_property
    def component(self) -> list[int]:
        """Node → its strongly connected component over trigger edges."""
        return self._components([(source, target) for _, source, target, edge in self.edges if edge.trigger])

    @cached_property
    def circle(self) -> list[int]:
        """Node → its strongly connected component over all edges."""
        return self._components([(source, target) for _, source, target, _ in self.edges])

    def _components(self, pairs: list[tuple[int, int]]) -> list[int]:
        graph = rustworkx.PyDiGraph()
        graph.add_nodes_from(range(len(self.nodes)))
        graph.add_edges_from_no_data(pairs)
        found = [0] * len(self.nodes)
        for number, members in enumerate(rustworkx.strongly_connected_components(graph)):
            for node in members:
                found[node] = number
        return found

    @cached_property
    def cycles(self) -> list[list[int]]:
        """The cyclic components: more than one node, or a self edge that triggers."""
        members: dict[int, list[int]] = {}
        for node, number in enumerate(self.component):
            members.setdefault(number, []).append(node)
        selfish = {source for _, source, target, edge in self.edges if edge.trigger and source == target}
        return [nodes for nodes in members.values() if len(nodes) > 1 or nodes[0] in selfish]

    def entries(self, cycle: Iterable[int]) -> list[int]:
        """The nodes at which a cycle can be entered: from outside, or by the start."""
        inside = set(cycle)
        found = {node for node in self.start if node in inside}
        found |= {t for node in inside for _, s, t, edge in self.into[node] if edge.trigger and s not in inside}
        return sorted(found)

    def reached(self, begin: Iterable[int], *, backwards: bool = False, data: bool = False) -> set[int]:
        """The nodes that can be reached, those at the beginning included."""
        after: dict[int, list[int]] = {}
        for _, source, target, edge in self.edges:
            if edge.trigger or data:
                first, second = (target, source) if backwards else (source, target)
                after.setdefault(first, []).append(second)
        return _closure(begin, after)

    @cached_property
    def runs_from_start(self) -> set[int]:
        return self.reached(self.start)

    def beside(self, nodes: Iterable[int]) -> dict[int, list[int]]:
        """Node → those of the nodes that may run at the same time: neither waits for the other, in whatever iteration."""
        chosen = sorted(nodes)
        if len(chosen) < 2:
            return {}
        mask = sum(1 << node for node in chosen)
        after = self._after
        before = dict.fromkeys(chosen, 0)
        for node in chosen:
            for later in _bits(after[node] & mask):
                before[later] |= 1 << node
        found = {node: mask & ~(after[node] | before[node] | 1 << node) for node in chosen}
        return {node: _bits(others) for node, others in found.items() if others}

    @cached_property
    def _after(self) -> list[int]:
        """Node → the nodes (bits) that wait for it within one iteration: what leads back is left out."""
        back, place = self._walked
        graph = rustworkx.PyDiGraph()
        graph.add_nodes_from(range(len(self.nodes)))
        for number, source, target, edge in self.edges:
            apart = self.circle[source] != self.circle[target]
            if number not in back and (edge.trigger or apart or place[source] < place[target]):
                graph.add_edge(source, target, None)
        after = [0] * len(self.nodes)
        for node in reversed(rustworkx.topological_sort(graph)):
            for follower in graph.successor_indices(node):
                after[node] |= after[follower] | 1 << follower
        return after

    @cached_property
    def _walked(self) -> tuple[set[int], list[int]]:
        """Depth first from the start: the trigger edges that close a circle, and each node's place in the order found."""
        back: set[int] = set()
        done: list[int] = []
        seen: set[int] = set()
        walking: set[int] = set()
        for root in [*self.start, *range(len(self.nodes))]:
            if root in seen:
                continue
            seen.add(root)
            walking.add(root)
            stack = [(root, iter(self.out[root]))]
            while stack:
                node, rest = stack[-1]
                step = next((edge for edge in rest if edge[3].trigger), None)
                if step is None:
                    walking.discard(node)
                    done.append(node)
                    stack.pop()
                elif step[2] in walking:
                    back.add(step[0])
                elif step[2] not in seen:
                    seen.add(step[2])
                    walking.add(step[2])
                    stack.append((step[2], iter(self.out[step[2]])))
        place = [0] * len(self.nodes)
        for number, node in enumerate(reversed(done)):
            place[node] = number
        return back, place

    @cached_property
    def before(self) -> list[int]:
        """Node → the nodes (bits) that have run for sure before it starts its first visit.

        A forward must-analysis, largest fixpoint: a node that runs was fired by one of its edges, so what is sure before
        all of them is sure; and it waits for its other sources, so those that must have run count too.
        """
        size = len(self.nodes)
        incoming: list[list[tuple[int, EdgeSpec]]] = [[] for _ in range(size)]
        for _, source, target, edge in self.edges:
            incoming[target].append((source, edge))
        starts = set(self.start)
        everything = (1 << size) - 1
        before = [0 if node in starts else everything for node in range(size)]
        waiting = list(range(size))
        queued = set(waiting)
        after: list[list[int]] = [[] for _ in range(size)]
        for _, source, target, _ in self.edges:
            after[source].append(target)
        while waiting:
            node = waiting.pop()
            queued.discard(node)
            found = self._before(node, incoming, before, starts)
            if found != before[node]:
                before[node] = found
                for follower in after[node]:
                    if follower not in queued:
                        queued.add(follower)
                        waiting.append(follower)
        return before

    def _before(
        self, node: int, incoming: list[list[tuple[int, EdgeSpec]]], before: list[int], starts: set[int]
    ) -> int:
        triggers = [source for source, edge in incoming[node] if edge.trigger]
        sure = 0 if node in starts or not triggers else -1
        for source in triggers:
            sure &= before[source] | (1 << source)
        if sure == -1:
            sure = 0
        waits = [source for source, edge in incoming[node] if not edge.trigger or node not in self.firsts]
        waited = [source for source in waits if self._waits_for(node, source)]
        changed = True
        while changed:
            changed = False
            for source in waited:
                if not sure >> source & 1 and self._must_have_run(source, sure, incoming, starts):
                    sure |= before[source] | (1 << source)
                    changed = True
        return sure

    def _waits_for(self, node: int, source: int) -> bool:
        return self.component[source] != self.component[node] and self.circle[source] != self.circle[node]

    def _must_have_run(
        self, source: int, sure: int, incoming: list[list[tuple[int, EdgeSpec]]], starts: set[int]
    ) -> bool:
        return source in starts or any(
            sure >> origin & 1 and self.sure_edge(origin, edge) for origin, edge in incoming[source]
        )


def _closure(begin: Iterable[int], after: dict[int, list[int]]) -> set[int]:
    seen = set(begin)
    waiting = list(seen)
    while waiting:
        for node in after.get(waiting.pop(), ()):
            if node not in seen:
                seen.add(node)
                waiting.append(node)
    return seen


def _bits(bits: int) -> list[int]:
    """The positions of the bits that are set."""
    found = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return found
