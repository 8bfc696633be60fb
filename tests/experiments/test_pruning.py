"""Retention: what goes of old runs, and what never does."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from tests.engine.test_replay import WHOLE
from tests.experiments.executing import execute, queued_run
from tests.experiments.rows import make_experiment
from tests.experiments.test_forking import EACH, QUICK
from workbench.experiments import pruning
from workbench.experiments.forking import run_fork
from workbench.experiments.journal import journal_past
from workbench.experiments.models import Payload, Run
from workbench.experiments.replaying import NoJournal, run_replay
from workbench.experiments.services import NotNow, experiment_resume

pytestmark = pytest.mark.django_db(transaction=True)

NOVEL = "Call me Ishmael. " * 5000
LONG = {**QUICK, "nodes": {**QUICK["nodes"], "each": [NOVEL + "1", NOVEL + "2", "3"]}}
TOTALS = (
    "output",
    "outputs",
    "status",
    "model_calls",
    "input_tokens",
    "output_tokens",
    "cost_usd",
    "visits",
    "seconds",
)


@pytest.fixture(autouse=True)
def here(settings, tmp_path):
    settings.WORKSPACES = tmp_path / "workspaces"


def ended_run(days, script=LONG) -> Run:
    run = queued_run(WHOLE)
    execute(run, script)
    assert run.status == "succeeded", run.reason
    Run.objects.filter(pk=run.pk).update(ended_at=timezone.now() - timedelta(days=days))
    run.refresh_from_db()
    return run


def month_ago():
    return timezone.now() - timedelta(days=30)


def files_of(run, settings) -> list[Path]:
    return [path for path in Path(settings.WORKSPACES).glob(f"{run.pk}*") if path.exists()]


def test_pruning_takes_bodies_payloads_and_files_and_leaves_what_counts(settings):
    old, young = ended_run(days=60), ended_run(days=1, script=QUICK)
    kept = {name: getattr(old, name) for name in TOTALS}
    columns = list(
        old.events.order_by("sequence").values_list("sequence", "kind", "node", "status", "fired", "input_tokens")
    )
    assert Payload.objects.count() >= 2
    assert files_of(old, settings)

    done = pruning.prune(month_ago())

    old.refresh_from_db()
    assert (done.runs, done.payloads) == (1, Payload.objects.count() + done.payloads)
    assert {name: getattr(old, name) for name in TOTALS} == kept
    assert columns == list(
        old.events.order_by("sequence").values_list("sequence", "kind", "node", "status", "fired", "input_tokens")
    )
    assert files_of(old, settings) == []
    events, _ = journal_past(old)
    assert all(event.request == {} and event.reply is None for event in events if event.kind == "model_called")
    assert any("characters, pruned]" in event.content for event in events if event.kind == "model_called")
    assert not Payload.objects.exists()
    assert files_of(young, settings)
    assert run_replay(young).same_prediction
    with pytest.raises(NoJournal, match="was pruned"):
        run_replay(old)


def test_dry_run_says_what_pruning_then_deletes(settings):
    old = ended_run(days=60)

    said = pruning.prunable(month_ago())

    assert (said.runs, said.workspaces) == (1, 1)
    assert said.payloads == Payload.objects.count()
    assert said.payload_bytes == sum(len(data) for data in Payload.objects.values_list("data", flat=True))
    assert said.workspace_bytes > 0
    old.refresh_from_db()
    assert old.pruned_at is None
    assert pruning.prune(month_ago()).payloads == said.payloads


def test_payload_that_a_younger_run_needs_stays():
    ended_run(days=60)
    young = ended_run(days=1)

    assert pruning.prunable(month_ago()).payloads == 0
    pruning.prune(month_ago())

    assert run_replay(young).same_prediction


def test_parent_of_a_fork_that_has_not_begun_waits(settings):
    old = ended_run(days=60)
    fork = run_fork(old, EACH)

    assert pruning.prune(month_ago()).runs == 0

    execute(fork, LONG)
    assert pruning.prune(month_ago()).runs == 1
    assert run_replay(fork).same_prediction


def test_a_run_goes_on_or_is_pruned_and_never_both(settings):
    old = ended_run(days=60)
    experiment = make_experiment(1, status="stopped")
    Run.objects.filter(pk=old.pk).update(status="queued", experiment=experiment)
    assert pruning.run_prune(old, month_ago()) is None
    assert files_of(old, settings)

    Run.objects.filter(pk=old.pk).update(status="stopped")
    assert pruning.prune(month_ago()).runs == 1
    with pytest.raises(NotNow, match="pruned"):
        experiment_resume(experiment)


def test_page_of_a_pruned_run_says_so(client):
    old = ended_run(days=60)
    pruning.prune(month_ago())

    page = client.get(old.get_absolute_url()).content.decode()

    assert "are not kept any more" in page
    assert "Replay" not in page
