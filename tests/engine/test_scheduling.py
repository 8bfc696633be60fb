"""The scheduler against a slow interpreter written from the format's own words, and against its worked examples."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.engine.reference import Reference, Said
from tests.engine.reference_nodes import link_of
from workbench.engine.conditions import read_condition
from workbench.engine.events import MessageData
from workbench.engine.scheduling import Edge, Graph, Outcome, Scheduler
from workbench.engine.transforms import read_split, read_transform

TEXTS = ("a", "b", "c")
CONDITIONS = (
    None,
    None,
    {"contains_any": ["a"]},
    {"contains_any": ["b", "c"]},
    {"contains_none": ["a"]},
    {"status": "failed"},
    {"otherwise": True},
)
TRANSFORMS = (None,) * 6 + ({"regex": "[ab].*", "on_no_match": "drop"}, {"regex": "^[0-9.]+", "on_no_match": "keep"})
MAPS = (None,) * 6 + ({"split": "messages"}, {"split": {"regex": "[abc]"}}, {"split": {"regex": "[ab]"}})
MANY_VISITS = 4  # after so many a node falls silent, so that every run ends


@st.composite
def topologies(draw):
    size = draw(st.integers(1, 7))
    nodes = st.integers(0, size - 1)
    edges = []
    for _ in range(draw(st.integers(0, 14))):
        when = draw(st.sampled_from(CONDITIONS))
        trigger = draw(st.booleans()) or draw(st.booleans()) or when == {"otherwise": True}
        carry = draw(st.booleans()) or not trigger
        edges.append(
            {
                "source": draw(nodes),
                "target": draw(nodes),
                "when": when,
                "trigger": trigger,
                "carry": carry,
                "keep": draw(st.integers(0, 4)) == 0,
                "clear": draw(st.sampled_from((None, None, None, "inbox", "kept", "all"))),
                "max": draw(st.sampled_from((None, None, 1, 2, 3))),
                "transform": draw(st.sampled_from(TRANSFORMS)),
                "map": draw(st.sampled_from(MAPS)) if trigger and carry else None,
            }
        )
    starts = draw(st.lists(nodes, min_size=1, max_size=3, unique=True))
    joins = draw(st.dictionaries(nodes, st.just("all"), max_size=2))
    return size, edges, starts, joins, draw(st.integers(0, 2**32))


def outcomes(seed, edges):
    """What each visit of each node brings: fixed by the seed, the same for whoever asks and whenever."""

    def outcome(node, number, units):
        dice = random.Random(f"{seed}/{node}/{number}")
        words = iter(range(10**6))

        def said():
            return f"{node}.{number}.{next(words)}:" + ",".join(dice.choice(TEXTS) for _ in range(dice.choice((1, 2))))

        if units is not None:
            if number > MANY_VISITS:
                return "silent", [], None  # no units at all would fire on, so a ring of maps would never end
            units = units[:3]  # maps that feed maps grow without end
            return "succeeded", [(said(), dice.choice(("succeeded",) * 5 + ("failed",))) for _ in units], None
        if number > MANY_VISITS or dice.random() < 0.08:
            return "succeeded", [], None
        if dice.random() < 0.1:
            return "failed", [], None
        messages = [(said(), "succeeded") for _ in range(dice.choice((1, 1, 1, 2)))]
        targets = None
        if dice.random() < 0.2:
            followers = sorted({edge["target"] for edge in edges if edge["source"] == node})
            targets = [target for target in followers if dice.random() < 0.6]
        return "succeeded", messages, targets

    return outcome


def made(edge):
    transform = edge.get("transform")
    split = edge.get("map")
    return Edge(
        edge["source"],
        edge["target"],
        read_condition(edge["when"]),
        edge["trigger"],
        edge["carry"],
        edge["keep"],
        edge["clear"],
        edge["max"],
        read_transform(transform) if transform else None,
        read_split(split) if split else None,
    )


def scheduled(size, edges, starts, outcome, pick, joins=None, winners=None):
    scheduler = Scheduler(Graph(size, [made(edge) for edge in edges], starts, joins=joins), winners)
    scheduler.begin(MessageData(text="input"))
    inboxes, fired, flying = {}, {}, []
    while scheduler.ready or flying:
        while scheduler.ready:
            visit = scheduler.ready.popleft()
            texts = [message.text for message in visit.inbox]
            units = None if visit.units is None else [unit.text for unit in visit.units]
            inboxes[visit.node, visit.number] = texts if units is None else (texts, units)
            flying.append((visit, units))
        visit, units = flying.pop(pick(len(flying)))
        status, said, targets = outcome(visit.node, visit.number, units)
        messages = tuple(MessageData(text=text, status=each) for text, each in said)
        chosen = None if targets is None else tuple(targets)
        mapped = units is not None and status != "silent"
        result = Outcome("succeeded" if status == "silent" else status, messages, chosen, mapped)
        fired[visit.node, visit.number] = list(scheduler.finish(visit, result))
    assert scheduler.done
    return inboxes, fired, {index: count for index, count in enumerate(scheduler.firings) if count}, scheduler.won


def referred(size, edges, starts, outcome, joins):
    def answered(turn):
        units = None if turn.units is None else [unit.text for unit in turn.units]
        status, messages, targets = outcome(turn.node, turn.number, units)
        return status, [Said(*message) for message in messages], targets

    ran = Reference(size, [link_of(edge) for edge in edges], starts, answered, lambda count: 0, set(joins)).run()
    inboxes = {visit: texts_of(inbox) for visit, inbox in ran.inboxes.items()}
    return inboxes, ran.fired, {number: count for number, count in ran.fired_count.items() if count}


def texts_of(inbox):
    if isinstance(inbox, tuple):
        return tuple(texts_of(part) for part in inbox)
    return [message.text for message in inbox]


@settings(max_examples=1500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(topologies())
def test_any_topology_runs_as_the_format_says_whatever_finishes_first(drawn):
    size, edges, starts, joins, seed = drawn
    outcome = outcomes(seed, edges)

    expected = referred(size, edges, starts, outcome, joins)

    for order in range(3):
        dice = random.Random(f"{seed}/{order}")
        assert scheduled(size, edges, starts, outcome, dice.randrange, joins)[:3] == expected


def cycle_of(node, triggers):
    """The nodes that a node reaches by one step or more."""
    return Reference.reachable(node, {(edge["source"], edge["target"]) for edge in triggers})


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(topologies(), st.sets(st.integers(0, 6), min_size=1, max_size=3), st.integers(0, 2**32))
def test_join_at_the_first_is_decided_once_and_replayed_whatever_finishes_first(drawn, firsts, order):
    size, edges, starts, _, seed = drawn
    outcome = outcomes(seed, edges)
    triggers = [edge for edge in edges if edge["trigger"]]
    looping = {node for node in range(size) if node in cycle_of(node, triggers)}
    joins = dict.fromkeys((node for node in firsts if node < size and node not in looping), "first")
    decided = scheduled(size, edges, starts, outcome, random.Random(order).randrange, joins)
    winners = {(node, number): edge for node, number, edge in decided[3]}

    again = scheduled(size, edges, starts, outcome, random.Random(order + 1).randrange, joins, winners)

    assert again[:3] == decided[:3]


BARE = {"when": None, "trigger": True, "carry": True, "keep": False, "clear": None, "max": None}


def run(edges, outcome, starts=(0,)):
    size = 1 + max(max(edge[0], edge[1]) for edge in edges)
    full = [BARE | {"source": e[0], "target": e[1]} | (e[2] if len(e) > 2 else {}) for e in edges]
    inboxes, *_ = scheduled(size, full, list(starts), outcome, lambda count: 0)
    visits = {node: sum(1 for key in inboxes if key[0] == node) for node in range(size)}
    return visits, inboxes


def said(**by_visit):
    """n1="a,b": node 1 says a, then b, and the last for ever."""

    def outcome(node, number, units):
        words = by_visit.get(f"n{node}", "ok").split(",")
        return "succeeded", [(words[min(number, len(words)) - 1], "succeeded")], None

    return outcome


def test_exit_that_is_an_outer_back_edge_ends_the_inner_loop_and_repeats_the_outer():
    # A → B → C → B (inner), C → A (outer), exits C → D, B → T
    edges = [
        (0, 1),
        (1, 2),
        (2, 1, {"when": {"contains_any": ["inner"]}}),
        (2, 0, {"when": {"contains_any": ["outer"]}}),
        (2, 3, {"when": {"contains_any": ["leave"]}}),
        (1, 4, {"when": {"contains_any": ["never"]}}),
    ]

    visits, _ = run(edges, said(n2="inner,outer,inner,leave"))

    assert visits == {0: 2, 1: 4, 2: 4, 3: 1, 4: 0}


def test_exit_wins_over_a_back_edge_of_the_same_iteration():
    visits, _ = run([(0, 1), (1, 0), (1, 2)], said())

    assert visits == {0: 1, 1: 1, 2: 1}


def test_join_fed_from_inside_and_outside_a_cycle_runs_once_with_its_inbox_in_edge_order():
    again = {"when": {"contains_any": ["again"]}}
    done = {"when": {"contains_any": ["done"]}}

    visits, inboxes = run(
        [(3, 2), (0, 1), (1, 0, again), (1, 2, done), (4, 0), (4, 3)], said(n1="again,again,done"), starts=(4,)
    )

    assert visits == {0: 3, 1: 3, 2: 1, 3: 1, 4: 1}
    assert inboxes[2, 1] == ["ok", "done"]


def test_revise_with_a_bound_of_four_makes_five_visits():
    visits, _ = run(
        [(0, 1), (1, 0, {"when": {"contains_any": ["revise"]}, "max": 4}), (1, 2, {"when": {"contains_any": ["yes"]}})],
        said(n1="revise"),
    )

    assert visits == {0: 5, 1: 5, 2: 0}


def test_self_edge_inside_a_bigger_cycle_is_a_loop_of_its_own():
    edges = [
        (0, 1),
        (1, 1, {"when": {"contains_any": ["more"]}}),
        (1, 2, {"when": {"contains_none": ["more"]}}),
        (2, 0, {"when": {"contains_any": ["back"]}}),
        (2, 3, {"when": {"contains_any": ["out"]}}),
    ]

    visits, _ = run(edges, said(n1="more,more,on,more,on", n2="back,out"))

    assert visits == {0: 2, 1: 5, 2: 2, 3: 1}


def test_join_at_the_first_inside_a_cycle_runs_once_in_each_iteration():
    again, done = {"when": {"contains_any": ["again"]}}, {"when": {"contains_any": ["done"]}}
    edges = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 0, again), (3, 4, done)]
    full = [BARE | {"source": e[0], "target": e[1]} | (e[2] if len(e) > 2 else {}) for e in edges]

    inboxes, fired, _, won = scheduled(5, full, [0], said(n3="again,done"), lambda count: count - 1, {3: "first"})

    assert inboxes[3, 1] == inboxes[3, 2] == ["ok"]
    assert [(node, number) for node, number, _ in won] == [(3, 1), (3, 2)]
    assert fired[1, 1] == [2]
    assert fired[2, 1] == [3]


def test_join_at_the_first_that_ends_before_its_iteration_does_runs_once_in_the_next():
    edges = [(0, 1), (0, 2), (2, 1), (1, 0, {"when": {"contains_any": ["never"]}}), (0, 0, {"max": 2})]
    full = [BARE | {"source": e[0], "target": e[1]} | (e[2] if len(e) > 2 else {}) for e in edges]

    inboxes, _, _, won = scheduled(3, full, [0], said(), lambda count: 0, {1: "first"})

    assert won == [(1, 1, 0), (1, 2, 0), (1, 3, 0)]
    assert sorted(inboxes) == [(node, number) for node in range(3) for number in (1, 2, 3)]


@pytest.mark.parametrize("last", [True, False])
def test_data_that_branches_send_each_other_arrives_when_the_iteration_ends_whichever_is_quicker(last):
    data, back = {"trigger": False}, {"max": 1}
    edges = [(0, 1), (0, 3), (3, 2), (1, 2, data), (2, 1, data), (1, 0, back), (2, 0, back)]

    def outcome(node, number, units):
        return "succeeded", [(f"{node}.{number}", "succeeded")], None

    full = [BARE | {"source": e[0], "target": e[1]} | (e[2] if len(e) > 2 else {}) for e in edges]
    inboxes, *_ = scheduled(4, full, [0], outcome, lambda count: count - 1 if last else 0)

    assert (inboxes[1, 1], inboxes[2, 1]) == (["0.1"], ["3.1"])
    assert (inboxes[1, 2], inboxes[2, 2]) == (["0.2", "2.1"], ["3.2", "1.1"])


@pytest.mark.parametrize("size", [20_000])
def test_long_chain_and_large_ring_run_without_recursion(size):
    chain = [(node, node + 1) for node in range(size)]
    visits, _ = run(chain, said())
    assert sum(visits.values()) == size + 1

    ring = [(node, (node + 1) % 3000) for node in range(3000)]
    ring[-1] = (2999, 0, {"max": 2})
    visits, _ = run(ring, said())
    assert set(visits.values()) == {3}
