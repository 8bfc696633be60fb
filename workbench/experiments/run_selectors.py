"""What the page of a run shows, added up by the database: ten thousand events cost as many queries as ten."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from django.db.models import Count, Max, Min, Q, QuerySet, Sum
from django.db.models.functions import Length, Substr

from workbench.experiments.journal import events_read
from workbench.experiments.models import Question, Run, RunEvent
from workbench.experiments.totals import plus
from workbench.topologies.picture import NodeState

OWN = Q(attempt__gt=0)
"""What a run made itself; what a fork has from its parent is attempt 0 and cost it nothing."""
CALLED = Q(kind="model_called") & OWN
KINDS = (
    *("run_started", "visit_started", "model_called", "tool_called", "asked", "answered"),
    *("joined", "visit_ended", "merge_conflicted", "noted", "limit_hit", "run_ended"),
)
EXCERPT = 2000
"""So much of an event stands in the list."""

UNKNOWN = CALLED & Q(input_tokens=None, output_tokens=None)
ENDED = Q(kind="visit_ended")


class NodeSums(NamedTuple):
    """What the journal says of one node. `started` counts visits that wait for something, ended or not."""

    node: str
    visits: int
    open: int
    failed: int
    calls: int
    input_tokens: int | None
    output_tokens: int | None
    unknown_calls: int
    model_seconds: float

    @property
    def tokens(self) -> int | None:
        """Input and output together; None when nothing is known."""
        total: int | None = plus(self.input_tokens, self.output_tokens)
        return total


def run_nodes(run: Run) -> list[NodeSums]:
    """Each node that was touched, in the order of its first event."""
    rows = (
        run.events.exclude(node="")
        .exclude(visit=0)
        .order_by()
        .values("node")
        .annotate(
            first=Min("sequence"),
            visits=Count("visit", filter=ENDED, distinct=True),
            begun=Max("visit"),
            failed=Count("pk", filter=ENDED & Q(status="failed")),
            calls=Count("pk", filter=CALLED),
            tokens_in=Sum("input_tokens", filter=OWN),
            tokens_out=Sum("output_tokens", filter=OWN),
            unknown=Count("pk", filter=UNKNOWN),
            model_seconds=Sum("seconds", filter=CALLED, default=0.0),
        )
        .order_by("first")
    )
    return [
        NodeSums(
            row["node"], row["visits"], row["begun"] - row["visits"], row["failed"], row["calls"],
            row["tokens_in"], row["tokens_out"], row["unknown"], row["model_seconds"],
        )
        for row in rows
    ]  # fmt: skip


def node_states(run: Run, nodes: list[NodeSums]) -> dict[str, NodeState]:
    """The nodes as the picture wants them. What is open in a run that is over was cut short."""
    cut = run.status if run.has_ended else "running"
    asking = set() if run.has_ended else nodes_asking(run)
    return {
        it.node: NodeState(node_status(it, "waiting" if it.node in asking else cut), it.visits + it.open, it.tokens)
        for it in nodes
    }


def nodes_asking(run: Run) -> set[str]:
    """The nodes that wait for a person, or hold one that does."""
    found: set[str] = set()
    for node in run.questions.filter(status=Question.Status.OPEN).values_list("node", flat=True):
        found |= {node, node.partition(":")[0].partition(".")[0]}
    return found


def node_status(node: NodeSums, cut: str) -> str:
    if node.open > 0:
        return "stopped" if cut == "succeeded" else cut
    return "failed" if node.failed else "succeeded"


def run_edges(run: Run) -> dict[int, int]:
    """How often each edge fired. Visits that fired the same edges are one row, however many there were. Edges of nested
    topologies have numbers of their own."""
    rows = (
        run.events.filter(ENDED)
        .exclude(fired="")
        .exclude(node__contains=":")
        .order_by()
        .values_list("fired")
        .annotate(Count("pk"))
    )
    counts: dict[int, int] = {}
    for fired, number in rows:
        for edge in map(int, fired.split(",")):
            counts[edge] = counts.get(edge, 0) + number
    return counts


def run_visits(run: Run) -> Any:
    """The visits in the order in which they began, for a table that shows a page of them."""
    return (
        run.events.exclude(node="")
        .exclude(visit=0)
        .order_by()
        .values("node", "visit")
        .annotate(
            first=Min("sequence"),
            status=Max("status", filter=ENDED),
            seconds=Max("seconds", filter=ENDED),
            fired=Max("fired", filter=ENDED),
            calls=Count("pk", filter=CALLED),
            tools=Count("pk", filter=Q(kind="tool_called") & OWN),
            made=Max("attempt"),
            tokens_in=Sum("input_tokens", filter=OWN),
            tokens_out=Sum("output_tokens", filter=OWN),
            unknown=Count("pk", filter=UNKNOWN),
        )
        .order_by("first")
    )


def visit_rows(visits: list[dict[str, Any]], plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the table says of each visit: its sums, and where its edges led."""
    return [
        {
            **visit,
            "tokens": plus(visit["tokens_in"], visit["tokens_out"]),
            "targets": targets(plan, visit["node"], [int(edge) for edge in (visit["fired"] or "").split(",") if edge]),
        }
        for visit in visits
    ]


def targets(plan: Mapping[str, Any], node: str, fired: Iterable[int]) -> list[str]:
    """Where the edges led that fired from a node, which may stand in a nested topology (`outer.1:inner`)."""
    for step in node.split(":")[:-1]:
        outer = plan.get("nodes", {}).get(step.partition(".")[0]) or {}
        plan = outer.get("config", {}).get("plan") or {}
    edges = plan.get("topology", {}).get("edges", [])
    return [edges[edge]["to"] for edge in fired if edge < len(edges)]


class Talk(NamedTuple):
    """A question to a person, and what came of it so far."""

    asked: Any
    answered: Any


class Visit(NamedTuple):
    """One visit in full."""

    started: Any
    ended: Any
    calls: list[Any]
    notes: list[Any]
    talks: list[Talk]


class Told(NamedTuple):
    """An event with its number in the journal, by which its raw form is found."""

    sequence: int
    event: Any


def run_visit(run: Run, node: str, visit: int) -> Visit:
    """Everything the journal holds of one visit. A visit that was begun anew is told from its last beginning."""
    rows = list(run.events.filter(node=node, visit=visit).order_by("sequence").values_list("sequence", "data"))
    read = events_read([data for _, data in rows])
    told = [Told(sequence, event) for (sequence, _), event in zip(rows, read, strict=True)]
    kinds: dict[str, list[Told]] = {}
    for one in told:
        kinds.setdefault(one.event.kind, []).append(one)
    calls = [one for one in told if one.event.kind in ("model_called", "tool_called")]
    notes = [one for one in told if one.event.kind in ("noted", "limit_hit")]
    answers = {one.event.key: one.event for one in kinds.get("answered", [])}
    talks = [Talk(one.event, answers.get(one.event.key)) for one in kinds.get("asked", [])]
    started, ended = kinds.get("visit_started", []), kinds.get("visit_ended", [])
    return Visit(started[-1] if started else None, ended[-1] if ended else None, calls, notes, talks)


def run_notes(run: Run, number: int = 50) -> list[Any]:
    """What the run wants people to know."""
    rows = run.events.filter(kind__in=("noted", "limit_hit")).values_list("data", flat=True)[:number]
    return events_read(list(rows))


def run_events(run: Run, *, kind: str = "", node: str = "") -> QuerySet[RunEvent]:
    """The journal in order, perhaps of one kind or one node, with the beginning of each event's text."""
    wanted = {name: value for name, value in {"kind": kind, "node": node}.items() if value}
    events = run.events.filter(**wanted).order_by("sequence").defer("data")
    return events.annotate(beginning=Substr("data", 1, EXCERPT), length=Length("data"))
