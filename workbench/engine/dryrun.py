"""Which edges of a topology can fire: the real schedule, run many times, with made-up outputs in place of every model,
tool and nested topology. Nothing is executed; the same plan always gives the same report.

Each run has a goal, an edge that has not fired yet: nodes give outputs that fire it, or that lead towards its source.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from workbench.engine.conditions import Judged, read_condition
from workbench.engine.documents import pointer
from workbench.engine.errors import Problem, WorkbenchError
from workbench.engine.events import MessageData
from workbench.engine.nodes import Node
from workbench.engine.outputs import (
    Wish,
    both,
    condition_wishes,
    held,
    json_candidates,
    split_wishes,
    text_candidates,
    transform_wishes,
)
from workbench.engine.planning import RunPlan
from workbench.engine.scheduling import Edge, EdgeFailed, Graph, Outcome, Scheduler, Visit
from workbench.engine.units import Units

Json = Any
MAX_VISITS = 20_000
ATTEMPTS = 3
SHUFFLED = 12
FAR = 1_000_000_000
MAX_RELAYED = 60
FORWARDERS = ("passthrough", "router", "vote", "loop_timer")


class EdgeReport(NamedTuple):
    """Whether an edge fired; `why` says what made it, or what kept it from firing. `edge` is its place in the file."""

    edge: int
    source: str
    target: str
    fired: bool
    why: str


class Inside(NamedTuple):
    """What a dry run found in the topology that a node nests; `inline`: it stands in the document itself."""

    node: str
    inline: bool
    report: DryRun


class DryRun(NamedTuple):
    """What a dry run found. `runs` and `visits` count those inside nested topologies too."""

    edges: tuple[EdgeReport, ...]
    runs: int
    visits: int
    nested: tuple[Inside, ...] = ()

    def every_edge(self) -> list[EdgeReport]:
        """The edges, then those of nested topologies."""
        return [*self.edges, *(edge for inside in self.nested for edge in inside.report.every_edge())]

    def as_json(self) -> dict[str, Json]:
        """For programs: `from` and `to` as in the document."""
        edges = [
            {"edge": edge.edge, "from": edge.source, "to": edge.target, "fired": edge.fired, "why": edge.why}
            for edge in self.edges
        ]
        nested = {inside.node: inside.report.as_json() for inside in self.nested}
        return {"edges": edges, "runs": self.runs, "visits": self.visits, "nested": nested}

    def problems(self) -> list[Problem]:
        """A warning for each edge that never fired."""
        hint = "Change its condition or the outputs that its source may give, or delete the edge."
        own = [
            Problem(
                "warning",
                "edge_never_fired",
                f"/edges/{edge.edge}",
                f"In the dry run the edge from {edge.source!r} to {edge.target!r} never fired. {edge.why}",
                hint,
            )
            for edge in self.edges
            if not edge.fired
        ]
        return own + [
            _problem_inside(inside, problem) for inside in self.nested for problem in inside.report.problems()
        ]


def _problem_inside(inside: Inside, problem: Problem) -> Problem:
    """A problem of a nested topology at its place in the document around it."""
    path = pointer("nodes", inside.node, "topology")
    if inside.inline:
        return problem._replace(path=path + problem.path)
    return problem._replace(path=path, message=f"In the topology of node {inside.node!r}: {problem.message}")


def dry_run(plan: RunPlan, *, max_visits: int = MAX_VISITS) -> DryRun:
    """Drive every branch of the plan and of the topologies nested in it, within `max_visits` visits in all."""
    outer = _DryRun(plan, max_visits)
    report = outer.report()
    nested: list[Inside] = []
    known: dict[str, DryRun] = {}
    for name, inner in plan.nested().items():
        left = max_visits - report.visits
        if outer.ids.index(name) not in outer.ran:
            found = _never_entered(inner, name)
        elif (again := known.get(inner.hash)) is not None:
            found = again
        else:
            found = known[inner.hash] = dry_run(inner, max_visits=max(left, 0))
            report = report._replace(runs=report.runs + found.runs, visits=report.visits + found.visits)
        inline = not isinstance(plan.nodes[name].config["topology"], str)
        nested.append(Inside(name, inline, found))
    return report._replace(nested=tuple(nested))


def _never_entered(plan: RunPlan, node: str) -> DryRun:
    """What is to be said of a topology whose node never ran."""
    why = f"Node {node!r}, which nests its topology, never ran."
    edges = (EdgeReport(index, edge["from"], edge["to"], False, why) for index, edge in enumerate(plan.edges))
    return DryRun(tuple(edges), 0, 0)


class Choice(NamedTuple):
    """An output that a node may give. `message` None: it fails, or, for a timer, keeps silent. `passes` are the edges
    whose conditions hold for it, its own and those behind nodes that forward it; `fatal`: a transform would fail;
    `barren`: a map would split it into nothing."""

    message: MessageData | None
    passes: frozenset[int]
    status: str = "succeeded"
    targets: tuple[int, ...] | None = None
    fatal: bool = False
    barren: bool = False


class _DryRun:
    """The runs, and what they have fired so far."""

    def __init__(self, plan: RunPlan, max_visits: int) -> None:
        self.plan, self.graph = plan, plan.graph()
        self.nodes: list[Node] = plan.made_nodes()
        self.ids = list(plan.nodes)
        self.choices = Choices(plan, self.graph, self.nodes)
        self.fired: dict[int, str] = {}
        self.failed: set[int] = set()
        self.ran: set[int] = set()
        self.runs = self.visits = 0
        self._left = max_visits + 2 * len(self.nodes)
        self._cap = _visits_cap(plan)
        self._used: Counter[tuple[int, int]] = Counter()
        self._distances: dict[int, list[int]] = {}
        self._sent: dict[int, str] = {}

    def report(self) -> DryRun:
        self._run(None)
        for attempt in range(ATTEMPTS):
            for goal in self._goals():
                if goal not in self.fired and self._left > 0:
                    self._run(goal, Random(attempt) if attempt == ATTEMPTS - 1 else None)
        for seed in range(SHUFFLED):
            if self._goals() and self._left > 0:
                self._run(None, Random(seed))
        return DryRun(tuple(self._edge(index) for index in range(len(self.graph.edges))), self.runs, self.visits)

    def _goals(self) -> list[int]:
        """Edges that have not fired and might, those whose sources have run first."""
        left = [index for index in range(len(self.graph.edges)) if index not in self.fired]
        return sorted(left, key=lambda index: self.graph.edges[index].source not in self.ran)

    # One run

    def _run(self, goal: int | None, chance: Random | None = None) -> None:
        self.runs += 1
        scheduler = Scheduler(self.graph)
        counts: Counter[int] = Counter()
        self._sent = {}
        scheduler.begin(self._input(goal))
        while scheduler.ready and self._left > 0 and len(self.fired) < len(self.graph.edges):
            visit = scheduler.ready.popleft()
            self.visits, self._left = self.visits + 1, self._left - 1
            counts[visit.node] += 1
            self.ran.add(visit.node)
            if counts[visit.node] > self._cap:
                return
            outcome = self._outcome(visit, goal, scheduler, chance)
            if outcome.status == "failed" and self.plan.nodes[self.ids[visit.node]].on_error == "fail":
                return
            try:
                fired = scheduler.finish(visit, outcome)
            except EdgeFailed as error:
                self.failed.add(error.edge)
                return
            for edge in fired:
                self.fired.setdefault(edge, self._sent.get(visit.node, ""))
            if goal in self.fired:
                goal = None

    def _input(self, goal: int | None) -> MessageData:
        found = self.choices.of_input()
        aimed = [choice for choice in found if goal in choice.passes]
        message = (aimed or found)[0].message
        return message or MessageData(text="", source="start")

    def _outcome(self, visit: Visit, goal: int | None, scheduler: Scheduler, chance: Random | None) -> Outcome:
        node = self.nodes[visit.node]
        if not node.waits and not node.timed:
            return self._wired(node, visit)
        found = self.choices.of(visit.node)
        number = self._choose(visit.node, found, goal, scheduler, chance)
        self._used[visit.node, number] += 1
        choice = found[number]
        self._sent[visit.node] = _said(self.ids[visit.node], choice, self._names(choice))
        if visit.units is not None:
            return self._units(visit, choice)
        messages = self._messages(visit, choice)
        return Outcome(choice.status, messages, choice.targets)

    def _wired(self, node: Node, visit: Visit) -> Outcome:
        """Wiring is done as in a run."""
        try:
            if visit.units is not None:
                wired = Units(node.node, visit, lambda _, inbox: node.wire(inbox, visit.state).messages).wired()
                return Outcome(messages=wired.messages, mapped=True)
            emitted = node.wire(visit.inbox, visit.state)
        except WorkbenchError:
            return Outcome("failed")
        targets = None if emitted.targets is None else tuple(self.ids.index(name) for name in emitted.targets)
        return Outcome(messages=emitted.messages, targets=targets)

    def _messages(self, visit: Visit, choice: Choice) -> tuple[MessageData, ...]:
        """Routers and judges forward one of the messages that they read, as the real ones do."""
        if choice.message is None:
            return ()
        forwards = self.plan.nodes[self.ids[visit.node]].type in FORWARDERS
        if forwards and visit.inbox:
            return (visit.inbox[-1].by(self.ids[visit.node]),)
        return (choice.message,)

    def _units(self, visit: Visit, choice: Choice) -> Outcome:
        units = visit.units or ()
        count = min(1, len(units)) if visit.group_size else len(units)
        failed = MessageData(text="", source=self.ids[visit.node], status="failed")
        message = choice.message if choice.status == "succeeded" and choice.message is not None else failed
        return Outcome(messages=(message,) * count, mapped=True)

    # Choosing

    def _choose(
        self, node: int, found: Sequence[Choice], goal: int | None, scheduler: Scheduler, chance: Random | None
    ) -> int:
        """The choice that fires the goal, else the one that leads closest to it, else one that was used least."""
        if goal is None and chance is not None:
            sound = [number for number, choice in enumerate(found) if not choice.fatal]
            return chance.choice(sound or range(len(found)))
        distance = self._distance(self.graph.edges[goal].source) if goal is not None else []

        def score(number: int) -> tuple[Any, ...]:
            choice = found[number]
            fires = self._fires(node, choice, scheduler)
            used = self._used[node, number]
            if goal is None:
                return (choice.fatal, -sum(edge not in self.fired for edge in fires), choice.barren, used)
            ways = [
                0 if edge == goal else 1 + distance[self.graph.edges[edge].target]
                for edge in fires
                if edge == goal or self.graph.edges[edge].trigger
            ]
            leading = sum(way < FAR for way in ways)
            tie = chance.random() if chance is not None else 0
            return (choice.fatal, min(ways, default=FAR), goal not in choice.passes, choice.barren, -leading, tie, used)

        return min(range(len(found)), key=score)

    def _fires(self, node: int, choice: Choice, scheduler: Scheduler) -> list[int]:
        """The edges of the node that would fire, as far as can be told beforehand."""
        edges = self.graph.edges
        fires, others, triggered = [], [], False
        for index in self.graph.out[node]:
            edge = edges[index]
            if edge.max is not None and scheduler.firings[index] >= edge.max:
                continue
            if choice.targets is not None and edge.target not in choice.targets:
                continue
            if edge.condition.otherwise:
                others.append(index)
            elif index in choice.passes:
                fires.append(index)
                triggered = triggered or edge.trigger
        if not triggered and choice.status == "succeeded" and choice.message is not None:
            fires += others
        return fires

    def _distance(self, source: int) -> list[int]:
        """How many edges lead from each node to the source of the goal; FAR where none do."""
        found = self._distances.get(source)
        if found is None:
            found = self._distances[source] = [FAR] * self.graph.size
            found[source] = 0
            waiting = deque([source])
            while waiting:
                node = waiting.popleft()
                for before in self.choices.before[node]:
                    if found[before] == FAR:
                        found[before] = found[node] + 1
                        waiting.append(before)
        return found

    # Telling

    def _names(self, choice: Choice) -> list[str]:
        return [self.ids[target] for target in choice.targets or ()]

    def _edge(self, index: int) -> EdgeReport:
        edge = self.graph.edges[index]
        source, target = self.ids[edge.source], self.ids[edge.target]
        if index in self.fired:
            return EdgeReport(index, source, target, True, self.fired[index] or "Its source ran.")
        return EdgeReport(index, source, target, False, self._why_not(index, edge, source))

    def _why_not(self, index: int, edge: Edge, source: str) -> str:
        node = self.plan.nodes[source]
        when = self.plan.edges[index].get("when")
        if self._left <= 0:
            return f"It was not reached within {self.visits:,} visits."
        if edge.source not in self.ran:
            return f"Node {source!r} never ran."
        if edge.condition.names_status and node.on_error == "fail" and not edge.condition.test(Judged("")):
            return f'The run fails when node {source!r} fails; set its "on_error" to "continue".'
        if index in self.failed:
            return "Its transform found nothing in any output that was tried."
        if node.type == "literal":
            return f"Node {source!r} always says the same, and that does not pass."
        if edge.condition.otherwise:
            return f"Another edge of node {source!r} fired each time."
        if "field" in json.dumps(when or {}) and isinstance(node.config.get("output"), str):
            return f"Node {source!r} answers in text, so that no field can be tested."
        return f"No output of node {source!r} that was tried passes its condition."


def _visits_cap(plan: RunPlan) -> int:
    """Enough visits of one node in one run to use up every counter and every edge's `max` once."""
    counts = sum(int(node.config.get("count", 0)) for node in plan.nodes.values() if node.type == "loop_counter")
    counts += sum(int(edge.get("max") or 0) for edge in plan.edges)
    return min(plan.limits.visits_per_node or 1000, max(12, 2 * counts + 4), 1000)


def _said(node: str, choice: Choice, targets: Sequence[str]) -> str:
    if choice.status == "failed":
        return f"Node {node!r} failed."
    if choice.targets is not None:
        return f"Node {node!r} chose {', '.join(map(repr, targets)) or 'the end'}."
    if choice.message is None:
        return f"Node {node!r} kept silent."
    text = " ".join(choice.message.text.split())
    return f"Node {node!r} answered {text[:117] + '…' if len(text) > 118 else text}"


class Choices:
    """The outputs that each node may give, made when they are first asked for."""

    def __init__(self, plan: RunPlan, graph: Graph, nodes: Sequence[Node]) -> None:
        self.plan, self.graph, self.nodes, self.ids = plan, graph, nodes, list(plan.nodes)
        self._made: dict[int, list[Choice]] = {}
        self.before: list[list[int]] = [[] for _ in range(graph.size)]
        for edge in graph.edges:
            if edge.trigger:
                self.before[edge.target].append(edge.source)

    def of(self, node: int) -> list[Choice]:
        """The choices of a node that waits, or that goes by the clock."""
        if node not in self._made:
            # A schema may admit nothing that can be made up: such a node can only fail.
            self._made[node] = list(self._make(node)) or [Choice(None, frozenset(), "failed")]
        return self._made[node]

    def of_input(self) -> list[Choice]:
        """The texts that a run may start from."""
        behind = {index for start in self.graph.starts for index in self._behind(start)}
        return self._texts(sorted(behind), "start", self.graph.starts[0] if self.graph.starts else 0)

    def _make(self, node: int) -> Iterator[Choice]:
        plan, out = self.plan.nodes[self.ids[node]], self.graph.out[node]
        if plan.type == "router":
            yield from self._routes(out)
        elif self.nodes[node].timed:
            yield Choice(None, frozenset())
            yield from self._texts(out, self.ids[node], node)[:1]
        else:
            edges = sorted({*out, *(index for edge in out for index in self._behind(self.graph.edges[edge].target))})
            schema = (plan.config.get("output") or {}) if plan.type == "agent" else {}
            if samples := self.nodes[node].samples():
                yield from (self._choice(message, edges, node) for message in samples)
            elif isinstance(schema, Mapping) and schema:
                wishes = self._wishes(edges, out)
                made = json_candidates(schema["json_schema"], wishes, self.ids[node])
                yield from (self._choice(message, edges, node) for message in made)
            else:
                yield from self._texts(edges, self.ids[node], node)
        if plan.on_error == "continue":
            failed = Judged("", status="failed")
            yield Choice(None, frozenset(i for i in out if self.graph.edges[i].condition.test(failed)), "failed")

    def _routes(self, out: Sequence[int]) -> Iterator[Choice]:
        targets = list(
            dict.fromkeys(self.graph.edges[index].target for index in out if self.graph.edges[index].trigger)
        )
        for chosen in [(target,) for target in targets] + [tuple(targets), ()]:
            passes = frozenset(index for index in out if self.graph.edges[index].target in chosen)
            yield Choice(MessageData(text=""), passes, targets=chosen)

    def _texts(self, edges: Sequence[int], name: str, node: int) -> list[Choice]:
        made = text_candidates(self._wishes(edges, self.graph.out[node] if name != "start" else ()), name)
        return [self._choice(message, edges, node) for message in made]

    def _behind(self, node: int) -> list[int]:
        """The edges that judge what came into a node unchanged: those of nodes that only forward it."""
        found: list[int] = []
        seen, waiting = {node}, deque([node])
        while waiting and len(found) < MAX_RELAYED:
            current = waiting.popleft()
            if self.nodes[current].waits or self.plan.nodes[self.ids[current]].type not in FORWARDERS:
                continue
            for index in self.graph.out[current]:
                found.append(index)
                target = self.graph.edges[index].target
                if self.graph.edges[index].carry and target not in seen:
                    seen.add(target)
                    waiting.append(target)
        return found

    def _wishes(self, edges: Sequence[int], own: Sequence[int]) -> list[Wish]:
        """For each edge, what would make it fire, with what the node's other edges need in any case."""
        always = [Wish()]
        for index in own:
            data = self.plan.edges[index]
            needed = (data.get("transform") or {}).get("on_no_match", "fail") == "fail"
            if data.get("when") is None and data.get("transform") is not None and needed:
                always = both(always, transform_wishes(data["transform"]))
        wishes = list(always) if any(wish != Wish() for wish in always) else []
        for index in edges:
            data = self.plan.edges[index]
            made = both(transform_wishes(data.get("transform")), split_wishes(data.get("map")))
            for condition in self._conditions(index):
                wishes += both(both(condition_wishes(condition), made), always)
        return wishes

    def _conditions(self, index: int) -> list[Mapping[str, Json] | None]:
        """What an edge tests; for one out of a router, the rules that choose its target too."""
        data = self.plan.edges[index]
        rules = self.plan.nodes[data["from"]].config.get("rules") or ()
        return [data.get("when"), *(rule["when"] for rule in rules if data["to"] in rule["to"])]

    def _choice(self, message: MessageData, edges: Sequence[int], node: int) -> Choice:
        judged = Judged(message.text, message.data, message.structured)
        passes, fatal, barren = set(), False, False
        for index in edges:
            edge = self.graph.edges[index]
            if edge.condition.otherwise or not edge.condition.test(judged):
                continue
            let = held(edge.transform, message)
            fatal = fatal or (let is None and edge.source == node)
            rules = [read_condition(when) for when in self._conditions(index)[1:] if when is not None]
            if let and (not rules or any(rule.test(judged) for rule in rules)):
                passes.add(index)
                barren = barren or _splits_into_nothing(edge, message)
        return Choice(message, frozenset(passes), fatal=fatal, barren=barren)


def _splits_into_nothing(edge: Edge, message: MessageData) -> bool:
    passed = edge.transform(message) if edge.transform is not None else message
    return edge.split is not None and passed is not None and not edge.split(passed)
