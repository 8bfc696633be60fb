"""Forks in the database: what they take from their parents, what they cost, what is said before the click."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from tests.engine.support import asks, topology
from tests.engine.test_replay import SCRIPT, WHOLE
from tests.experiments.executing import execute, queued_experiment, queued_run
from tests.experiments.test_resume import Calls, at_work, fresh_run
from workbench.engine.forking import CannotFork, Change
from workbench.engine.recorded import Place
from workbench.experiments.forking import Wish, fork_look, run_fork
from workbench.experiments.forking_many import experiment_fork, experiment_fork_look
from workbench.experiments.models import Experiment, Run
from workbench.experiments.replaying import run_replay
from workbench.experiments.sweeping import tickets_again
from workbench.results.selectors import experiment_spent

pytestmark = pytest.mark.django_db(transaction=True)

QUICK = {**SCRIPT, "nodes": {**SCRIPT["nodes"], "plan": [{"text": "a plan", "tokens": 5, "cost_usd": 0.25}]}}
NEW = {"default": "new", "nodes": {"each": [{"text": "again", "tokens": {"input": 3, "output": 4}, "cost_usd": 0.5}]}}
EACH = Wish(Place((), "each", 1), Change(settings={"prompt": "Again: {{ inbox }}"}))


@pytest.fixture(autouse=True)
def here(settings, tmp_path):
    settings.WORKSPACES = tmp_path / "workspaces"


@pytest.fixture
def parent():
    run = queued_run(WHOLE)
    execute(run, QUICK)
    assert run.status == "succeeded", run.reason
    return run


def own_calls(run):
    return list(
        run.events.filter(kind="model_called", attempt__gt=0).order_by("sequence").values_list("node", flat=True)
    )


def test_a_fork_has_its_parent_its_step_and_costs_what_it_made_itself(parent):
    fork = run_fork(parent, EACH)
    assert (fork.status, fork.parent, fork.fork_node, fork.fork_visit) == ("queued", parent, "each", 1)

    execute(fork, NEW)

    assert fork.status == "succeeded", fork.reason
    assert own_calls(fork) == ["each"] * 3
    assert (fork.model_calls, fork.input_tokens, fork.output_tokens) == (3, 9, 12)
    assert fork.cost_usd == Decimal("1.5")
    assert fork.plan.hash != parent.plan.hash
    taken = fork.events.filter(attempt=0)
    assert taken.filter(kind="model_called").exists()
    assert not taken.filter(node="each").exists()
    parent.refresh_from_db()
    assert parent.cost_usd == Decimal("0.25")


def test_what_a_fork_makes_again_is_known_before(parent):
    look = fork_look(parent, EACH)

    assert (look.again.model_calls, look.again.tool_calls) == (3, 0)
    assert look.taken.model_calls == parent.model_calls - 3
    assert [one.place for one in look.visits_again] == [Place((), "each", 1)]
    assert Run.objects.count() == 1


def test_files_that_were_written_before_are_there_in_the_fork(settings, parent):
    fork = run_fork(parent, EACH)

    execute(fork, NEW)

    assert (settings.WORKSPACES / str(fork.pk) / "a.txt").read_text() == "A"


def test_a_fork_replays_from_its_own_journal(parent):
    fork = run_fork(parent, EACH)
    execute(fork, NEW)

    done = run_replay(fork)

    assert done.replayed.same, done.replayed.differences
    assert done.same_prediction


def test_a_fork_of_a_fork_takes_from_both(parent):
    first = run_fork(parent, EACH)
    execute(first, NEW)

    second = run_fork(first, Wish(Place((), "inner", 1), Change(answer="by hand")))
    execute(second, {})

    assert second.status == "succeeded"
    assert (second.model_calls, own_calls(second)) == (0, [])
    assert second.cost_usd is None
    assert second.events.filter(kind="model_called", node="each", attempt=0).count() == 3


def test_a_fork_whose_worker_died_goes_on_and_takes_nothing_twice(parent):
    fork = run_fork(parent, EACH)
    execute(fork, {"default": "x", "nodes": {"each": [{"fault": "broken"}]}})
    assert fork.status == "failed"
    Run.objects.filter(pk=fork.pk).update(status="queued")

    execute(fork, NEW)

    assert fork.status == "succeeded"
    assert fork.events.filter(attempt=0).count() == fork.events.filter(attempt=0).values("sequence").distinct().count()
    assert fork.events.filter(kind="visit_ended", node="plan").count() == 1


def test_a_run_that_goes_on_can_not_be_forked_yet(parent):
    Run.objects.filter(pk=parent.pk).update(status="running")
    parent.refresh_from_db()

    with pytest.raises(CannotFork, match="still goes on"):
        run_fork(parent, EACH)


def test_tickets_of_forks_that_got_lost_are_sent_again(settings, parent):
    fork = run_fork(parent, EACH)
    Run.objects.filter(pk=fork.pk).update(queued_at="2020-01-01T00:00:00Z")
    from workbench.celery import app

    app.control.purge()
    tickets_again()

    with app.connection_for_read() as connection:
        message = connection.SimpleQueue("runs").get(timeout=5)
    message.ack()
    assert message.payload[0] == [fork.pk]


# People


@pytest.fixture
def asked():
    """A run in which a person said yes."""
    run = fresh_run()
    at_work(run, Calls())
    assert "after" in run.events.values_list("node", flat=True)
    return run


def test_another_answer_of_a_person_leads_another_way(asked):
    fork = run_fork(asked, Wish(Place((), "person", 1), Change(answer="no")))
    at_work(fork, Calls())

    assert fork.status == "succeeded", fork.reason
    assert own_calls(fork) == []
    assert "after" not in fork.events.values_list("node", flat=True)
    assert not fork.questions.exists()


def test_fork_at_a_question_asks_it_again(asked):
    fork = run_fork(asked, Wish(Place((), "person", 1)))
    at_work(fork, Calls())

    assert fork.status == "succeeded", fork.reason
    assert own_calls(fork) == ["after"]
    assert [question.status for question in fork.questions.all()] == ["answered"]


# Experiments


@pytest.fixture
def experiment():
    made = queued_experiment(WHOLE, size=3)
    for run in made.runs.all():
        execute(run, QUICK)
    Experiment.objects.filter(pk=made.pk).update(status="finished")
    made.refresh_from_db()
    return made


def test_all_runs_of_an_experiment_are_forked_into_a_new_one(experiment):
    look = experiment_fork_look(experiment, EACH)
    assert (look.runs, look.looked, look.again.model_calls, look.without) == (3, 3, 9, 0)

    spent = experiment_spent(experiment)
    made = experiment_fork(experiment, EACH)
    for run in made.runs.all():
        execute(run, NEW)

    made.refresh_from_db()
    assert experiment_spent(experiment) == spent
    assert [one.calls for one in experiment_spent(made).values()] == [9]
    assert (made.status, made.forked_from) == ("finished", experiment)
    assert {run.parent for run in made.runs.all()} == set(experiment.runs.all())
    assert {run.model_calls for run in made.runs.all()} == {3}
    assert experiment.runs.count() == 3
    configuration = made.configurations.get()
    assert configuration.plan.data["nodes"]["each"]["config"]["prompt"] == "Again: {{ inbox }}"


def test_experiment_without_such_a_visit_says_so(experiment):
    with pytest.raises(CannotFork, match="No run"):
        experiment_fork_look(experiment, Wish(Place((), "nobody", 1)))


def test_topology_of_another_shape_can_be_forked_into(parent, topologies):
    from workbench.topologies.services import topology_save

    document = topology(
        {"plan": asks("Plan: {{ instance.problem }}"), "last": asks("Then: {{ inbox }}")}, [("plan", "last")]
    )
    topology_save("short", json.dumps({**document, "name": "short"}), "For the test", "test")

    fork = run_fork(parent, Wish(Place((), "files", 1), topology="short"))
    execute(fork, NEW)

    assert fork.status == "succeeded", fork.reason
    assert own_calls(fork) == ["last"]
    assert fork.plan.topology == "short"
