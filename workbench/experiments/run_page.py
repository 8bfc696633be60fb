"""The parts of a run's page that change while it goes on, each for itself: visits with their clock, what is under way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.db.models import Q, Sum
from django.http import HttpRequest

from workbench.experiments import run_selectors
from workbench.experiments.models import Run
from workbench.experiments.paging import page_of, query_without
from workbench.experiments.run_selectors import NodeSums
from workbench.experiments.run_timeline import run_timeline
from workbench.topologies.words import condition_words

VISITS_PER_PAGE = 100
MOST_OPEN = 12


def visits_part(request: HttpRequest, run: Run, document: Mapping[str, Any]) -> dict[str, Any]:
    """A page of visits. The newest come first while the run goes on, the first one when it has ended."""
    newest = request.GET.get("order", "oldest" if run.has_ended else "newest") == "newest"
    visits = run_selectors.run_visits(run).order_by("-first" if newest else "first")
    page = page_of(request, visits, VISITS_PER_PAGE, "visits")
    rows = run_selectors.visit_rows(list(page), run.plan.data)
    timeline = run_timeline(run, rows)
    for row in rows:
        row["bar"] = timeline.bars.get((row["node"], row["visit"]))
    return {
        "visits": rows,
        "page": page,
        "timeline": timeline,
        "newest": newest,
        "query": query_without(request, "visits", "seen", "part"),
        "times": run_times(run) if rows else None,
    }


class Times(NamedTuple):
    """Seconds of a run by what they went on, calls that went on together each counted whole. None is unknown."""

    queue: float | None
    turn: float
    model: float
    tool: float


def run_times(run: Run) -> Times:
    """Where the run's time went."""
    found = run.events.filter(run_selectors.OWN).aggregate(
        turn=Sum("waited", default=0.0),
        model=Sum("seconds", filter=Q(kind="model_called"), default=0.0),
        tool=Sum("seconds", filter=Q(kind="tool_called"), default=0.0),
    )
    queue = None
    if run.started_at is not None and run.attempt == 1:
        queue = max(0.0, (run.started_at - run.queued_at).total_seconds())
    return Times(queue, **found)


class Open(NamedTuple):
    """A visit under way, as the journal has it."""

    node: str
    visit: int
    since: datetime


def run_open(run: Run, nodes: Sequence[NodeSums]) -> list[Open]:
    """The visits that have begun and not ended, for pages that nobody tells more."""
    names = [node.node for node in nodes if node.open > 0]
    if run.has_ended or not names:
        return []
    events = run.events.filter(node__in=names).order_by("sequence")
    ended = set(events.filter(kind="visit_ended").values_list("node", "visit"))
    begun = events.filter(kind="visit_started").values_list("node", "visit", "at")
    found = {(node, visit): at for node, visit, at in begun if (node, visit) not in ended}
    return [Open(*place, datetime.fromtimestamp(at, UTC)) for place, at in list(found.items())[:MOST_OPEN]]


def run_sums(nodes: Sequence[NodeSums], fired: Mapping[int, int], document: Mapping[str, Any]) -> dict[str, Any]:
    """From where a page that is told of events counts on: nodes, and edges with the words on them."""
    return {
        "nodes": {
            it.node: {"begun": it.visits + it.open, "ended": it.visits, "failed": it.failed, "tokens": it.tokens}
            for it in nodes
        },
        "edges": [
            {
                "to": edge.get("to", ""),
                "fired": fired.get(number, 0),
                "max": edge.get("max"),
                "when": condition_words(edge["when"]) if edge.get("when") is not None else "",
            }
            for number, edge in enumerate(document.get("edges", []))
        ],
    }
