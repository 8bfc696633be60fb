"""The semantics of TOPOLOGY.md §2 a second time: slow, recursive and obvious, as an oracle for the engine.

It shares no code with it. Everything is looked for anew at each step; nothing is counted down or remembered.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

INPUT = -1  # the edge before all others


class Said(NamedTuple):
    """A message."""

    text: str
    status: str = "succeeded"
    source: str = ""
    data: object = None
    structured: bool = False


class Broken(Exception):
    """A transform that found nothing and must not let that pass: the run fails."""


@dataclass
class Link:
    source: int
    target: int
    passes: object  # (message, status) -> bool
    otherwise: bool = False
    trigger: bool = True
    carry: bool = True
    keep: bool = False
    clear: str | None = None
    max: int | None = None
    transform: object = None  # message -> message, or None where it is dropped; raises Broken
    split: object = None  # message -> messages; the edge maps
    group_size: int | None = None
    always: bool = False


class Turn(NamedTuple):
    """A visit as the node sees it. `units` is None but for a map; `memory` is the node's own in this entry of its scope;
    `seen(other)` says which visit of another node it may know of."""

    node: int
    number: int
    inbox: list[Said]
    units: list[Said] | None
    group_size: int | None
    memory: dict
    seen: object


@dataclass
class Pass:
    """A pass under way: its members, what must settle before what, what arrives at its end."""

    members: set[int]
    unit: dict[int, tuple[int, ...]]
    here: list[int]
    ordering: list[int]
    late: set[int]
    begun: dict[int, int]
    memory: dict[int, dict]
    arriving_late: list = field(default_factory=list)


@dataclass
class Reference:
    size: int
    links: list[Link]
    starts: list[int]
    outcome: object  # Turn -> (status, messages, targets or None)
    pick: object  # (number of choices) -> which unit settles next: the result must not depend on it
    join_all: set[int] = field(default_factory=set)
    join_first: set[int] = field(default_factory=set)
    winners: dict[tuple[int, int], int] = field(default_factory=dict)  # (node, visit) -> the edge that came first
    given: Said | None = None
    fired_count: dict[int, int] = field(default_factory=dict)
    visits: dict[int, int] = field(default_factory=dict)
    inboxes: dict[tuple[int, int], object] = field(default_factory=dict)
    fired: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    senders: dict[tuple[int, int], set[tuple[int, int]]] = field(
        default_factory=dict
    )  # visit -> whose messages it read
    refused: set[int] = field(default_factory=set)  # edges that would have fired once more than their max
    broken: bool = False
    waiting: list = field(default_factory=list)  # (edge, target, messages, visit of its source) in firing order
    kept: dict[int, list[Said]] = field(default_factory=dict)

    def run(self):
        for node in self.starts:
            self.waiting.append((INPUT, node, [self.given or Said("input")], 0))
        arrived = {node: {INPUT} for node in self.starts}
        self.one_pass(set(range(self.size)), set(), arrived, arrived, [], {})
        return self

    def one_pass(self, members, entries, arrived, expected, passes, memory):
        """One pass over `members`; returns what left it and what goes back, as (edge, messages).

        `arrived`: entry -> the sources that fired into it from outside (or by back edges); `expected`: those that could;
        `memory`: what its nodes remember since the scope was entered.
        """
        here = [
            number
            for number, link in enumerate(self.links)
            if link.source in members and link.target in members and not (link.trigger and link.target in entries)
        ]
        units = self.units(members, [n for n in here if self.links[n].trigger])
        unit = {node: group for group in units for node in group}
        ordering = [n for n in here if unit[self.links[n].source] != unit[self.links[n].target]]
        late = {n for n in here if not self.links[n].trigger and self.closes_circle(n, here, unit)}
        ordering = [n for n in ordering if n not in late]
        settled, fired_into = set(), {node: set(sources) for node, sources in arrived.items()}
        exits, held = [], []
        passes = [*passes, Pass(members, unit, here, ordering, late, dict(self.visits), memory)]
        while len(settled) < len(units):
            free = [
                group
                for group in units
                if group not in settled
                and all(unit[self.links[n].source] in settled for n in ordering if unit[self.links[n].target] == group)
            ]
            group = free[self.pick(len(free))]
            entered = {node: fired_into[node] for node in group if node in fired_into}
            could = {
                node: expected.get(node, set())
                | {self.links[n].source for n in ordering if self.links[n].trigger and self.links[n].target == node}
                for node in group
            }
            if entered:
                for number, messages in self.do_unit(group, entered, could, here, passes):
                    link = self.links[number]
                    if link.target not in members:
                        exits.append((number, messages))
                    elif link.target in entries:
                        held.append((number, messages))
                    elif self.comes_too_late(number, unit[link.target], here):
                        pass
                    else:
                        fired_into.setdefault(link.target, set()).add(link.source)
                        self.deliver(number, messages)
            settled.add(group)
        for number, messages in passes[-1].arriving_late:
            self.deliver(number, messages)
        return exits, held

    def comes_too_late(self, number, group, here):
        """Whether the edge leads to a join at the first, and another edge came first."""
        node = self.links[number].target
        if node not in self.join_first or self.is_scope(group, here):
            return False
        return self.winners.get((node, self.visits.get(node, 0) + 1)) != number

    def deliver(self, number, messages):
        link = self.links[number]
        self.waiting.append((number, link.target, messages, self.visits[link.source]))

    def is_scope(self, group, here):
        return len(group) > 1 or any(
            self.links[n].source == self.links[n].target == group[0] and self.links[n].trigger for n in here
        )

    def do_unit(self, group, entered, could, here, passes):
        node = group[0]
        if not self.is_scope(group, here):
            if node in self.join_all and could[node] - entered[node]:
                return []
            return self.visit(node, passes)
        return self.scope(set(group), entered, could, passes)

    def scope(self, members, entered, could, passes):
        entries, arrived, expected = set(entered), entered, {entry: could[entry] for entry in entered}
        back = {
            entry: {k.source for k in self.links if k.trigger and k.target == entry and k.source in members}
            for entry in entries
        }
        memory = {}
        while True:
            exits, held = self.one_pass(members, entries, arrived, expected, passes, memory)
            if exits or not held:
                for number, _ in held:
                    self.fired_count[number] -= 1
                return exits
            for number, messages in held:
                self.deliver(number, messages)
            arrived, expected = {}, back
            for number, _ in held:
                arrived.setdefault(self.links[number].target, set()).add(self.links[number].source)

    def visit(self, node, passes):
        """Run a node; its trigger firings are returned, its data-only firings are sent on their way."""
        number = self.visits[node] = self.visits.get(node, 0) + 1
        inbox, units, group_size = self.read_inbox(node, number)
        self.inboxes[node, number] = inbox if units is None else (inbox, units)
        memory = passes[-1].memory.setdefault(node, {})
        turn = Turn(
            node, number, inbox, units, group_size, memory, lambda other: self.seen(node, number, other, passes)
        )
        status, messages, targets = self.outcome(turn)
        out = [n for n, link in enumerate(self.links) if link.source == node]
        out = [n for n in out if targets is None or self.links[n].target in targets]
        plain = [n for n in out if not self.links[n].otherwise]
        others = [n for n in out if self.links[n].otherwise]
        carried = {}  # edge -> what it carries
        if status in ("failed", "silent"):
            units = None
        if units is not None and not messages:
            for n in [*[n for n in plain if self.links[n].always], *others]:
                self.fire(n, [], carried, empty=True)
        elif units is not None:
            for n in plain:
                self.fire(n, [m for m in messages if self.links[n].passes(m, m.status)], carried)
            taken = [m for n in carried if self.links[n].trigger for m in messages if self.links[n].passes(m, m.status)]
            left = [m for m in messages if m not in taken and m.status == "succeeded"]
            for n in others:
                self.fire(n, left, carried)
        elif messages or status == "failed":
            tested = messages[-1] if messages else Said("")
            for n in plain:
                if self.links[n].passes(tested, status):
                    self.fire(n, messages, carried, empty=True)
            if not any(self.links[n].trigger for n in carried) and status == "succeeded":
                for n in others:
                    self.fire(n, messages, carried, empty=True)
        self.fired[node, number] = sorted(carried)
        firings = [(n, carried[n] if self.links[n].carry else []) for n in sorted(carried)]
        for n, texts in firings:
            if not self.links[n].trigger:
                self.send_data(n, texts, passes)
        return [(n, texts) for n, texts in firings if self.links[n].trigger]

    def seen(self, node, number, other, passes):
        """Which visit of another node a prompt may read: the latest, where that node comes before in this pass, else the
        latest of earlier iterations."""
        if other == node:
            return number - 1
        current = next(item for item in reversed(passes) if other in item.members)
        waited = [self.links[n] for n in current.ordering if not self.lost(n, current)]
        order = {(current.unit[link.source], current.unit[link.target]) for link in waited}
        if current.unit[node] in self.reachable(current.unit[other], order):
            return self.visits.get(other, 0)
        return current.begun.get(other, 0)

    def lost(self, number, current):
        """Whether the edge leads to a join at the first that has run in this pass and did not wait for it."""
        link, node = self.links[number], self.links[number].target
        if node not in self.join_first or not link.trigger or self.is_scope(current.unit[node], current.here):
            return False
        visit = self.visits.get(node, 0)
        return visit > current.begun.get(node, 0) and self.winners.get((node, visit)) != number

    def fire(self, number, messages, carried, empty=False):
        """The edge fires with these messages, unless its transform drops them all or it has fired often enough."""
        link = self.links[number]
        changed = messages
        if messages and link.transform:
            try:
                changed = [new for message in messages if (new := link.transform(message)) is not None]
            except Broken:
                self.broken = True
                return
        if not changed and (messages or not empty):
            return
        if not self.has_left(number):
            self.refused.add(number)
            return
        self.fired_count[number] = self.fired_count.get(number, 0) + 1
        carried[number] = changed

    def has_left(self, number):
        most = self.links[number].max
        return most is None or self.fired_count.get(number, 0) < most

    def send_data(self, number, messages, passes):
        target = self.links[number].target
        for current in reversed(passes):
            if target in current.members:
                if number in current.late:
                    current.arriving_late.append((number, messages))
                else:
                    self.deliver(number, messages)
                return

    def read_inbox(self, node, visit):
        """The messages in edge order, and the units where an edge maps (else None). Items are (message, kept, is a
        unit)."""
        inbox = [(message, True, False) for message in self.kept.get(node, [])]
        mine = sorted((item for item in self.waiting if item[1] == node), key=lambda item: item[0])
        self.waiting = [item for item in self.waiting if item[1] != node]
        mapping = []
        for number, _, messages, sent in mine:
            link = self.links[number] if number != INPUT else None
            if link:
                self.senders.setdefault((node, visit), set()).add((link.source, sent))
            if link and link.clear in ("inbox", "all"):
                inbox = [item for item in inbox if item[1]]
            if link and link.clear in ("kept", "all"):
                inbox = [item for item in inbox if not item[1]]
            if link and link.split:
                mapping.append(link)
                inbox += [(unit, link.keep, True) for message in messages for unit in link.split(message)]
            else:
                inbox += [(message, bool(link and link.keep), False) for message in messages]
        self.kept[node] = [message for message, keep, _ in inbox if keep]
        messages = [message for message, _, unit in inbox if not unit]
        units = [message for message, _, unit in inbox if unit] if mapping else None
        return messages, units, next((link.group_size for link in mapping if link.group_size), None)

    def units(self, members, triggers):
        """Strongly connected components, by asking each pair whether it reaches each other."""
        pairs = {(self.links[n].source, self.links[n].target) for n in triggers}
        reach = {node: self.reachable(node, pairs) for node in members}
        groups = {tuple(sorted({node} | {o for o in reach[node] if node in reach[o]})) for node in members}
        return sorted(groups)

    def closes_circle(self, number, here, unit):
        link = self.links[number]
        if link.source == link.target:
            return True
        if unit[link.source] == unit[link.target]:
            return False
        pairs = {(unit[self.links[n].source], unit[self.links[n].target]) for n in here}
        return unit[link.source] in self.reachable(unit[link.target], pairs)

    @staticmethod
    def reachable(begin, pairs):
        seen, todo = set(), [begin]
        while todo:
            current = todo.pop()
            for source, target in pairs:
                if source == current and target not in seen:
                    seen.add(target)
                    todo.append(target)
        return seen
