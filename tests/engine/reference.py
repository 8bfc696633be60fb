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


@dataclass
class Reference:
    size: int
    links: list[Link]
    starts: list[int]
    outcome: object  # (node, visit number) -> (status, [texts], targets or None)
    pick: object  # (number of choices) -> which unit settles next: the result must not depend on it
    fired_count: dict[int, int] = field(default_factory=dict)
    visits: dict[int, int] = field(default_factory=dict)
    inboxes: dict[tuple[int, int], list[str]] = field(default_factory=dict)
    fired: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    waiting: list[tuple[int, int, list[str]]] = field(default_factory=list)  # (edge, target, texts) in firing order
    kept: dict[int, list[str]] = field(default_factory=dict)

    def run(self):
        for node in self.starts:
            self.waiting.append((-1, node, ["input"]))
        self.one_pass(set(range(self.size)), entries=set(), arrived=set(self.starts), passes=[])
        return self

    def one_pass(self, members, entries, arrived, passes):
        """One pass over `members`; returns what left it and what goes back, as (edge, texts)."""
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
        settled, fired_into = set(), set(arrived)
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
            entered = fired_into & set(group)
            if entered:
                for number, texts in self.do_unit(group, entered, here, passes):
                    link = self.links[number]
                    if link.target not in members:
                        exits.append((number, texts))
                    elif link.target in entries:
                        held.append((number, texts))
                    else:
                        fired_into.add(link.target)
                        self.waiting.append((number, link.target, texts))
            settled.add(group)
        for number, texts in arriving_late:
            self.waiting.append((number, self.links[number].target, texts))
        return exits, held

    def do_unit(self, group, entered, here, passes):
        node = group[0]
        selfish = any(self.links[n].source == self.links[n].target == node and self.links[n].trigger for n in here)
        if len(group) == 1 and not selfish:
            return self.visit(node, passes)
        return self.scope(set(group), entered, passes)

    def scope(self, members, entries, passes):
        arrived = entries
        while True:
            exits, held = self.one_pass(members, entries, arrived, passes)
            if exits or not held:
                for number, _ in held:
                    self.fired_count[number] -= 1
                return exits
            for number, texts in held:
                self.waiting.append((number, self.links[number].target, texts))
            arrived = {self.links[number].target for number, _ in held}

    def visit(self, node, passes):
        """Run a node; its trigger firings are returned, its data-only firings are sent on their way."""
        number = self.visits[node] = self.visits.get(node, 0) + 1
        self.inboxes[node, number] = self.read_inbox(node)
        status, texts, targets = self.outcome(node, number)
        fired = []
        if texts or status == "failed":
            tested = texts[-1] if texts else ""
            out = [n for n, link in enumerate(self.links) if link.source == node]
            out = [n for n in out if targets is None or self.links[n].target in targets]
            for n in out:
                if not self.links[n].otherwise and self.links[n].passes(tested, status) and self.has_left(n):
                    fired.append(n)
            if not any(self.links[n].trigger for n in fired):
                for n in out:
                    if self.links[n].otherwise and status == "succeeded" and self.has_left(n):
                        fired.append(n)
        fired.sort()
        for n in fired:
            self.fired_count[n] = self.fired_count.get(n, 0) + 1
        self.fired[node, number] = fired
        firings = [(n, texts if self.links[n].carry else []) for n in fired]
        for n, carried in firings:
            if not self.links[n].trigger:
                self.send_data(n, carried, passes)
        return [(n, carried) for n, carried in firings if self.links[n].trigger]

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
        inbox = [(text, True) for text in self.kept.get(node, [])]
        mine = sorted((item for item in self.waiting if item[1] == node), key=lambda item: item[0])
        self.waiting = [item for item in self.waiting if item[1] != node]
        for number, _, texts in mine:
            link = self.links[number] if number >= 0 else None
            if link and link.clear in ("inbox", "all"):
                inbox = [(text, keep) for text, keep in inbox if keep]
            if link and link.clear in ("kept", "all"):
                inbox = [(text, keep) for text, keep in inbox if not keep]
            inbox += [(text, bool(link and link.keep)) for text in texts]
        self.kept[node] = [text for text, keep in inbox if keep]
        return [text for text, _ in inbox]

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
