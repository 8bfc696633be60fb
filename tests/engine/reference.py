"""The semantics of TOPOLOGY.md §2 a second time: slow, recursive and obvious, as an oracle for the scheduler.

It shares no code with it. Everything is looked for anew at each step; nothing is counted down or remembered.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Link:
    source: int
    target: int
    passes: object  # (text, status) -> bool
    otherwise: bool = False
    trigger: bool = True
    carry: bool = True
    keep: bool = False
    clear: str | None = None
    max: int | None = None
    transform: object = None  # text -> text, or None where the message is dropped
    split: object = None  # text -> texts; the edge maps
    always: bool = False


@dataclass
class Reference:
    size: int
    links: list[Link]
    starts: list[int]
    outcome: object  # (node, visit number, units or None) -> (status, [(text, status)], targets or None)
    pick: object  # (number of choices) -> which unit settles next: the result must not depend on it
    join_all: set[int] = field(default_factory=set)
    fired_count: dict[int, int] = field(default_factory=dict)
    visits: dict[int, int] = field(default_factory=dict)
    inboxes: dict[tuple[int, int], list[str]] = field(default_factory=dict)
    fired: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    waiting: list[tuple[int, int, list[str]]] = field(default_factory=list)  # (edge, target, texts) in firing order
    kept: dict[int, list[str]] = field(default_factory=dict)

    def run(self):
        for node in self.starts:
            self.waiting.append((-1, node, ["input"]))
        arrived = {node: {-1} for node in self.starts}
        self.one_pass(set(range(self.size)), set(), arrived, arrived, [])
        return self

    def one_pass(self, members, entries, arrived, expected, passes):
        """One pass over `members`; returns what left it and what goes back, as (edge, texts).

        `arrived`: entry -> the sources that fired into it from outside (or by back edges); `expected`: those that could.
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
        exits, held, arriving_late = [], [], []
        passes = [*passes, (members, late, arriving_late)]
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
                for number, texts in self.do_unit(group, entered, could, here, passes):
                    link = self.links[number]
                    if link.target not in members:
                        exits.append((number, texts))
                    elif link.target in entries:
                        held.append((number, texts))
                    else:
                        fired_into.setdefault(link.target, set()).add(link.source)
                        self.waiting.append((number, link.target, texts))
            settled.add(group)
        for number, texts in arriving_late:
            self.waiting.append((number, self.links[number].target, texts))
        return exits, held

    def do_unit(self, group, entered, could, here, passes):
        node = group[0]
        selfish = any(self.links[n].source == self.links[n].target == node and self.links[n].trigger for n in here)
        if len(group) == 1 and not selfish:
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
        while True:
            exits, held = self.one_pass(members, entries, arrived, expected, passes)
            if exits or not held:
                for number, _ in held:
                    self.fired_count[number] -= 1
                return exits
            for number, texts in held:
                self.waiting.append((number, self.links[number].target, texts))
            arrived, expected = {}, back
            for number, _ in held:
                arrived.setdefault(self.links[number].target, set()).add(self.links[number].source)

    def visit(self, node, passes):
        """Run a node; its trigger firings are returned, its data-only firings are sent on their way."""
        number = self.visits[node] = self.visits.get(node, 0) + 1
        inbox, units = self.read_inbox(node)
        self.inboxes[node, number] = inbox if units is None else (inbox, units)
        status, messages, targets = self.outcome(node, number, units)
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
                self.fire(n, [m for m in messages if self.links[n].passes(*m)], carried)
            taken = [m for n in carried if self.links[n].trigger for m in messages if self.links[n].passes(*m)]
            left = [m for m in messages if m not in taken and m[1] == "succeeded"]
            for n in others:
                self.fire(n, left, carried)
        elif messages or status == "failed":
            tested = messages[-1] if messages else ("", status)
            for n in plain:
                if self.links[n].passes(*tested):
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

    def fire(self, number, messages, carried, empty=False):
        """The edge fires with these messages, unless its transform drops them all or it has fired often enough."""
        link = self.links[number]
        texts = [text for text, _ in messages]
        if texts and link.transform:
            texts = [new for text in texts if (new := link.transform(text)) is not None]
        if not texts and (messages or not empty):
            return
        if not self.has_left(number):
            return
        self.fired_count[number] = self.fired_count.get(number, 0) + 1
        carried[number] = texts

    def has_left(self, number):
        most = self.links[number].max
        return most is None or self.fired_count.get(number, 0) < most

    def send_data(self, number, texts, passes):
        target = self.links[number].target
        for members, late, arriving_late in reversed(passes):
            if target in members:
                if number in late:
                    arriving_late.append((number, texts))
                else:
                    self.waiting.append((number, target, texts))
                return

    def read_inbox(self, node):
        """The messages in edge order, and the units where an edge maps (else None). Items are (text, kept, is a unit)."""
        inbox = [(text, True, False) for text in self.kept.get(node, [])]
        mine = sorted((item for item in self.waiting if item[1] == node), key=lambda item: item[0])
        self.waiting = [item for item in self.waiting if item[1] != node]
        mapped = False
        for number, _, texts in mine:
            link = self.links[number] if number >= 0 else None
            if link and link.clear in ("inbox", "all"):
                inbox = [item for item in inbox if item[1]]
            if link and link.clear in ("kept", "all"):
                inbox = [item for item in inbox if not item[1]]
            if link and link.split:
                mapped = True
                inbox += [(unit, link.keep, True) for text in texts for unit in link.split(text)]
            else:
                inbox += [(text, bool(link and link.keep), False) for text in texts]
        self.kept[node] = [text for text, keep, _ in inbox if keep]
        messages = [text for text, _, unit in inbox if not unit]
        return messages, [text for text, _, unit in inbox if unit] if mapped else None

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
