"""What an experiment would roughly take, from its plans and from earlier runs: for the page before the click."""

from __future__ import annotations

import os
from collections.abc import Iterable
from decimal import Decimal
from statistics import median
from typing import Any, NamedTuple

import rustworkx
from django.db.models import Avg
from django.db.models.functions import Length

from workbench.engine.planning import NodePlan, RunPlan
from workbench.engine.prices import prices_from
from workbench.engine.providers import PROVIDERS, Usage, model_cost
from workbench.experiments.drafting import Draft, Planned
from workbench.experiments.models import Configuration, Run
from workbench.experiments.totals import plus

LETTERS_A_TOKEN = 4
ANSWER_TOKENS = 150
"""So long is an answer taken to be of which nothing is known."""
EARLIER = 200
"""So many earlier runs are asked how many tokens they took."""


class Calls(NamedTuple):
    """Model calls of one run. `most` None: only the run's limits end it."""

    least: int
    most: int | None


class Line(NamedTuple):
    """A configuration in the plan."""

    configuration: Configuration
    models: list[str]
    calls: Calls | None
    runs: int


class Estimate(NamedTuple):
    """All of it. None: unknown. `ground` says what the tokens are guessed from."""

    lines: list[Line]
    least: int
    most: int | None
    tokens: int | None
    money: Decimal | None
    ground: str


class Guess(NamedTuple):
    """What one run may take."""

    tokens: float
    money: Decimal | None
    measured: bool


def draft_estimate(draft: Draft) -> Estimate:
    """What the draft would take; configurations that can't be planned are left out."""
    runs = len(draft.instances) * draft.experiment.repetitions
    lines = [line(planned, runs) for planned in draft.configurations]
    letters = draft.experiment.dataset_version.instances.aggregate(mean=Avg(Length("problem")))["mean"] or 0
    guesses = [run_guess(it.plan, letters) for it in draft.configurations if it.plan is not None]
    known = [it.calls for it in lines if it.calls is not None]
    return Estimate(
        lines=lines,
        least=sum(calls.least for calls in known) * runs,
        most=times((calls.most for calls in known), runs),
        tokens=rounded(sum(guess.tokens for guess in guesses) * runs) if guesses else None,
        money=times((guess.money for guess in guesses), runs) if guesses else None,
        ground=ground([guess.measured for guess in guesses]),
    )


def times(values: Iterable[Any], runs: int) -> Any:
    """The sum of all, for so many runs; unknown when one is."""
    given = list(values)
    return None if None in given else sum(given) * runs


def ground(measured: list[bool]) -> str:
    if measured and all(measured):
        return "as earlier runs took"
    return "partly as earlier runs took" if any(measured) else "from the prompts’ length"


def rounded(tokens: float) -> int:
    """Two digits are all that a guess is worth."""
    whole = round(tokens)
    return whole if whole < 100 else round(whole, 2 - len(str(whole)))


def line(planned: Planned, runs: int) -> Line:
    """A configuration with its calls."""
    plan = planned.plan
    if plan is None:
        return Line(planned.configuration, [], None, 0)
    return Line(planned.configuration, sorted(plan.models()), plan_calls(plan), runs)


def asks(node: NodePlan) -> bool:
    """Whether a visit of the node asks a model."""
    return bool(node.config.get("model"))


def calls_a_visit(node: NodePlan) -> int:
    """How many calls one visit may make."""
    config, output = node.config, node.config.get("output")
    if node.type != "agent":
        return 3  # a choice that can't be read is asked for twice more
    steps = int(config.get("max_steps", 1))
    repairs = int(output.get("repairs", 0)) if isinstance(output, dict) else 0
    return steps if config.get("tools") else min(steps, 1 + repairs)


def plan_calls(plan: RunPlan) -> Calls:
    """The calls of one run: at least those of nodes that always run, at most what loops and repairs allow."""
    always = nodes_that_always_run(plan)
    least = sum(1 for name, node in plan.nodes.items() if asks(node) and name in always)
    limit = plan.limits.model_calls
    bounds = visit_bounds(plan)
    counts = [(bounds[name], calls_a_visit(node)) for name, node in plan.nodes.items() if asks(node)]
    if any(visits is None for visits, _ in counts):
        return Calls(least, limit)
    most = sum(visits * calls for visits, calls in counts if visits is not None)
    return Calls(least, most if limit is None else min(most, limit))


def nodes_that_always_run(plan: RunPlan) -> set[str]:
    """Nodes that are reached from a start without any condition or choice."""
    ways: dict[str, list[str]] = {}
    for edge in plan.edges:
        free = edge.get("trigger", True) and not edge.get("when") and plan.nodes[edge["from"]].type != "router"
        if free:
            ways.setdefault(edge["from"], []).append(edge["to"])
    found, waiting = set[str](), list(plan.start)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += ways.get(node, [])
    return found


def visit_bounds(plan: RunPlan) -> dict[str, int | None]:
    """How often each node may be visited: once outside cycles; in a cycle as its edges' `max` or the limit allow."""
    names = list(plan.nodes)
    index = {name: number for number, name in enumerate(names)}
    edges = [edge for edge in plan.edges if edge.get("trigger", True)]
    graph = whole_graph(len(names), [(index[edge["from"]], index[edge["to"]]) for edge in edges])
    bounds: dict[str, int | None] = dict.fromkeys(names, 1)
    for component in rustworkx.strongly_connected_components(graph):
        inside = [edge for edge in edges if index[edge["from"]] in component and index[edge["to"]] in component]
        if inside:
            bound = cycle_bound(inside, index, plan.limits.visits_per_node)
            bounds.update({names[number]: bound for number in component})
    return bounds


def cycle_bound(inside: list[dict[str, Any]], index: dict[str, int], most: int | None) -> int | None:
    """Visits of the nodes of one cycle: where edges with `max` cut every way round, the sum of these and one."""
    free = [(index[edge["from"]], index[edge["to"]]) for edge in inside if edge.get("max") is None]
    if rustworkx.is_directed_acyclic_graph(whole_graph(len(index), free)):
        rounds = 1 + sum(edge.get("max") or 0 for edge in inside)
        return rounds if most is None else min(rounds, most)
    return most


def whole_graph(size: int, edges: Iterable[tuple[int, int]]) -> Any:
    graph = rustworkx.PyDiGraph()
    graph.add_nodes_from(range(size))
    graph.add_edges_from_no_data(list(edges))
    return graph


def run_guess(plan: RunPlan, letters: float) -> Guess:
    """One run: as earlier runs of the same plan took, else from the length of its prompts."""
    rows = Run.objects.filter(plan__hash=plan.hash, status=Run.Status.SUCCEEDED).order_by("-pk")
    earlier = list(rows.values_list("input_tokens", "output_tokens", "cost_usd", "unpriced_calls")[:EARLIER])
    tokens = [plus(given, answered) for given, answered, _, _ in earlier]
    told = [number for number in tokens if number is not None]
    if told:
        priced = [cost or Decimal(0) for _, _, cost, unpriced in earlier if not unpriced]
        money = sum(priced, Decimal(0)) / len(priced) if len(priced) == len(earlier) else None
        return Guess(float(median(told)), money, True)
    return prompt_guess(plan, letters)


def prompt_guess(plan: RunPlan, letters: float) -> Guess:
    """Each node that asks, once: its prompts and the problem in, a short answer out."""
    tokens, money = 0.0, Decimal(0)
    unknown = False
    for node in plan.nodes.values():
        if not asks(node):
            continue
        prompts = len(str(node.config.get("system") or "")) + len(str(node.config.get("prompt") or ""))
        given = int((prompts + letters) / LETTERS_A_TOKEN)
        longest = (node.config.get("params") or {}).get("max_output_tokens")
        answered = min(longest or ANSWER_TOKENS, ANSWER_TOKENS)
        tokens += given + answered
        cost = call_money(node.config["model"], given, answered)
        unknown = unknown or cost is None
        money += cost or 0
    return Guess(tokens, None if unknown else money, False)


def call_money(model: str, given: int, answered: int) -> Decimal | None:
    """What a call of that size costs; None when the model has no price, or no provider."""
    name = model.partition("/")[0]
    if name not in PROVIDERS.names():
        return None
    usage = Usage(input_tokens=given, output_tokens=answered, source="estimated")
    return model_cost(PROVIDERS.get(name).from_environ(os.environ), model, usage, prices=prices_from(os.environ)).amount
