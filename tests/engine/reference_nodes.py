"""What each node type does, and what becomes of a run, a second time: written from TOPOLOGY.md §1 and §2, as an oracle.

Conditions, transforms and splits are read by the engine's own functions, which have tests of their own.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field

from tests.engine.reference import Broken, Link, Reference, Said
from workbench.engine.conditions import Judged, read_condition
from workbench.engine.events import MessageData
from workbench.engine.transforms import NoMatch, read_split, read_transform


class Failed(Exception):
    """A node that failed."""


def link_of(edge, index=None):
    """An edge of a document; `index`: id → place, where its ends are ids."""
    condition = read_condition(edge.get("when"))
    ends = [
        edge[end] if index is None else index[edge[end]]
        for end in (("source", "target") if index is None else ("from", "to"))
    ]
    transform = read_transform(edge["transform"]) if edge.get("transform") else None
    split = read_split(edge["map"]) if edge.get("map") is not None else None

    def passes(message, status):
        return condition.test(Judged(message.text, message.data, message.structured, status))

    def transformed(message):
        try:
            new = transform(_data(message))
        except NoMatch as error:
            raise Broken from error
        return None if new is None else said(new)

    return Link(
        *ends,
        passes,
        condition.otherwise,
        edge.get("trigger", True),
        edge.get("carry", True),
        edge.get("keep", False),
        edge.get("clear"),
        edge.get("max"),
        transformed if transform else None,
        (lambda message: [said(unit) for unit in split(_data(message))]) if split else None,
        (edge.get("reduce") or {}).get("group_size"),
        edge.get("when") is None,
    )


def said(message):
    """A message of the engine as the oracle writes it."""
    return Said(message.text, message.status, message.source, message.data, message.structured)


def _data(message):
    return MessageData(
        text=message.text,
        status=message.status,
        source=message.source,
        data=message.data,
        structured=message.structured,
    )


@dataclass
class Expected:
    """How a document runs. `answer` is what its models say: "text", "json" or "router" (with the choices), node, visit,
    prompt → the answer, None for a fault. `winners`: the joins at the first that time decided, as path → {(node, visit):
    edge}."""

    document: dict
    answer: object
    winners: dict = field(default_factory=dict)
    given: str = "input"
    path: tuple = ()
    messages: dict = field(default_factory=dict)  # (node, visit) → messages, of this document
    statuses: dict = field(default_factory=dict)
    mapped: set = field(default_factory=set)
    failed: bool = False
    visits: dict = field(default_factory=dict)  # (path, node id, visit) → how it went, nested documents included

    unsure: set = field(default_factory=set)  # visits inside of failures: only those that had started took place

    def run(self):
        self.ids = list(self.document["nodes"])
        index = {name: place for place, name in enumerate(self.ids)}
        joins = {name: node.get("join") for name, node in self.document["nodes"].items()}
        self.reference = Reference(
            len(self.ids),
            [link_of(edge, index) for edge in self.document["edges"]],
            [index[name] for name in self.document["start"]],
            self.outcome,
            lambda count: 0,
            {index[name] for name, join in joins.items() if join == "all"},
            {index[name] for name, join in joins.items() if join == "first"},
            {(index[node], visit): edge for (node, visit), edge in self.winners.get(self.path, {}).items()},
            Said(self.given, source="start"),
        ).run()
        for (node, number), inbox in self.reference.inboxes.items():
            self.visits[self.path, self.ids[node], number] = {
                "inbox": inbox[0] if isinstance(inbox, tuple) else inbox,
                "messages": self.messages[node, number],
                "status": self.statuses[node, number],
                "fired": self.reference.fired[node, number],
                "senders": {(self.path, self.ids[n], v) for n, v in self.reference.senders.get((node, number), ())},
            }
        if self.status == "failed":
            self.unsure |= set(self.visits)
        return self

    # How it ends

    @property
    def status(self):
        if self.failed or self.reference.broken:
            return "failed"
        if self.outputs:
            return "succeeded"
        return "limit_reached" if self.reference.refused else "incomplete"

    @property
    def results(self):
        """The last output of each end node that has one, in declared order."""
        found = {}
        for name in self.document["end"]:
            node = self.ids.index(name)
            emitted = [
                m for visit in range(1, self.reference.visits.get(node, 0) + 1) for m in self.messages[node, visit]
            ]
            if emitted:
                found[name] = emitted[-1]
        return found

    @property
    def outputs(self):
        return {name: message.text for name, message in self.results.items()}

    # Node types

    def outcome(self, turn):
        name = self.ids[turn.node]
        node = self.document["nodes"][name]
        try:
            if turn.units is None:
                messages, targets = self.once(name, node, turn, turn.inbox, None)
                status = "succeeded"
            else:
                messages, targets = self.mapped_once(name, node, turn), None
                status = "succeeded"
                self.mapped.add((turn.node, turn.number))
        except Failed:
            messages, targets, status = [], None, "failed"
            self.failed = self.failed or node.get("on_error") != "continue"
        self.messages[turn.node, turn.number], self.statuses[turn.node, turn.number] = messages, status
        return status, messages, None if targets is None else [self.ids.index(target) for target in targets]

    def mapped_once(self, name, node, turn):
        """Once for each unit; or for each group of units, then of results, until one is left."""
        numbers = iter(range(10**6))

        def layer(inboxes):
            results = []
            for inbox in inboxes:
                unit = next(numbers)
                try:
                    results.append((self.once(name, node, turn, inbox, unit)[0], False))
                except Failed:
                    results.append(([Said("", "failed", name)], True))
            return results

        size = turn.group_size
        if not size:
            results = layer([[*turn.inbox, unit] for unit in turn.units])
        else:
            results = layer([[*turn.inbox, *group] for group in _groups(turn.units, size)])
            while len(results) > 1:
                if any(failed for _, failed in results):
                    raise Failed
                results = layer(_groups([message for messages, _ in results for message in messages[-1:]], size))
        if node.get("on_error") != "continue" and any(failed for _, failed in results):
            raise Failed
        return [message for messages, _ in results for message in messages]

    def once(self, name, node, turn, inbox, unit):
        return getattr(self, f"do_{node['type']}")(name, node, turn, inbox, unit)

    def do_literal(self, name, node, turn, inbox, unit):
        return [Said(node["content"], source=name)], None

    def do_passthrough(self, name, node, turn, inbox, unit):
        taken = inbox if node.get("all") else inbox[-1:]
        return [message._replace(source=name) for message in taken] or [Said("", source=name)], None

    def do_loop_counter(self, name, node, turn, inbox, unit):
        turn.memory["seen"] = turn.memory.get("seen", 0) + 1
        if turn.memory["seen"] < node["count"]:
            return [], None
        turn.memory["seen"] = 0
        return [Said(node["message"], source=name)], None

    def do_loop_timer(self, name, node, turn, inbox, unit):
        """Its time is never over here."""
        return [message._replace(source=name) for message in inbox[-1:]] if node.get("forward") else [], None

    def do_vote(self, name, node, turn, inbox, unit):
        if not inbox:
            raise Failed
        most = max(Counter(message.text for message in inbox).values())
        chosen = next(m for m in inbox if sum(other.text == m.text for other in inbox) == most)
        return [chosen._replace(source=name)], None

    def do_router(self, name, node, turn, inbox, unit):
        last = inbox[-1] if inbox else Said("")
        ways = [edge["to"] for edge in self.document["edges"] if edge["from"] == name and edge.get("trigger", True)]
        if node["mode"] == "model":
            chosen = self.answer("router", name, turn.number, [*dict.fromkeys(ways), "end"])
        else:
            judged = Judged(last.text, last.data, last.structured, last.status)
            rules = [rule["to"] for rule in node["rules"] if read_condition(rule["when"]).test(judged)]
            chosen = rules[0] if rules else ([] if node["on_unclear"] == "end" else None)
        if chosen is None:
            raise Failed
        return [last._replace(source=name)], [way for way in ways if way in chosen]

    def do_agent(self, name, node, turn, inbox, unit):
        prompt = "\n\n".join(message.text for message in inbox)
        for other in node.get("reads", ()):
            place = self.ids.index(other)
            earlier = self.messages.get((place, turn.seen(place)), [])
            prompt += "#" + (earlier[-1].text if earlier else "-")
        answer = self.answer("text" if node.get("output") is None else "json", name, turn.number, prompt)
        if answer is None:
            raise Failed
        if node.get("output") is None:
            return [Said(answer, source=name)], None
        return [Said(json.dumps(answer), source=name, data=answer, structured=True)], None

    def do_topology(self, name, node, turn, inbox, unit):
        step = f"{name}.{turn.number}" + ("" if unit is None else f".{unit}")
        given = "\n\n".join(message.text for message in inbox)
        inner = Expected(node["topology"], self.answer, self.winners, given, (*self.path, step)).run()
        self.visits |= inner.visits
        self.unsure |= inner.unsure
        if inner.status != "succeeded":
            raise Failed
        return [message._replace(source=name) for message in inner.results.values()], None


def _groups(items, size):
    return [items[first : first + size] for first in range(0, len(items), size)]
