"""A full database: experiments with ended runs, journals, scores. Real plans and real documents, made-up answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from django.urls import reverse
from django.utils import timezone

from workbench.engine.events import ModelCalled, RunEnded, RunStarted, VisitEnded, VisitStarted

if TYPE_CHECKING:
    from workbench.bench.pages import Fill
    from workbench.experiments.models import Experiment, Run

BATCH = 2000
TOPOLOGIES = ("single_agent", "few_shot")
STATUSES = ("succeeded",) * 8 + ("failed", "limit_reached")


class Seeded(NamedTuple):
    """What was made, and where it is looked at."""

    dataset: str
    ended: Experiment
    running: Experiment
    draft: Experiment

    def pages(self) -> Iterator[tuple[str, str]]:
        """Every page by the name of its address; `_part` is the fragment that a page asks for again."""
        run, evaluation = self.ended.runs.order_by("pk")[0], self.ended.evaluations.order_by("pk")[0]
        topology = TOPOLOGIES[0]
        yield "home", reverse("home")
        for name in ("experiment_list", "experiment_create", "run_list", "dataset_list", "topology_list"):
            yield name, reverse(name)
        for name in ("agent_list", "model_list", "model_uses"):
            yield name, reverse(name)
        yield "experiment_detail", reverse("experiment_detail", args=[self.ended.pk])
        yield "experiment_running", reverse("experiment_detail", args=[self.running.pk])
        yield "experiment_running_part", reverse("experiment_detail", args=[self.running.pk])
        yield "experiment_draft", reverse("experiment_detail", args=[self.draft.pk])
        yield "experiment_evaluations", reverse("experiment_evaluations", args=[self.ended.pk])
        yield "run_list_of_experiment", f"{reverse('run_list')}?experiment={self.ended.pk}&status=failed"
        yield "run_detail", reverse("run_detail", args=[run.pk])
        yield "run_events", reverse("run_events", args=[run.pk])
        yield "run_scores", reverse("run_scores", args=[run.pk])
        yield "results_detail", reverse("results_detail", args=[self.ended.pk])
        yield "results_compare", reverse("results_compare", args=[self.ended.pk])
        yield "results_csv", reverse("results_csv", args=[self.ended.pk])
        yield "evaluation_detail", reverse("evaluation_detail", args=[evaluation.pk])
        yield "dataset_detail", reverse("dataset_detail", args=[self.dataset])
        yield "instance_detail", reverse("instance_detail", args=[self.dataset, 1, "i00000"])
        yield "topology_detail", reverse("topology_detail", args=[topology])
        yield "topology_history", reverse("topology_history", args=[topology])
        yield "topology_runs_part", reverse("topology_runs", args=[topology])
        yield "agent_detail", reverse("agent_detail", args=["reviewer"])


def seed(fill: Fill, first: int = 0) -> Seeded:
    """Starters, data sets, and the experiments, numbered from `first` on; all but the last two have ended."""
    from workbench.catalog.services import starters_load as agents_load
    from workbench.topologies.services import starters_load as topologies_load

    agents_load()
    topologies_load()
    names = [
        dataset_make(number, max(1, fill.runs // len(TOPOLOGIES))) for number in range(first, first + fill.datasets)
    ]
    numbers = range(first, first + fill.experiments + 1)
    experiments = [experiment_make(number, names[number % len(names)]) for number in numbers]
    *filled, draft = experiments
    for experiment in filled:
        experiment_fill(experiment)
    running = filled[-1]
    last = running.runs.order_by("-pk").values_list("pk", flat=True)[: max(1, fill.runs // 5)]
    running.runs.filter(pk__in=list(last)).update(status="queued", ended_at=None)
    type(running).objects.filter(pk=running.pk).update(status="running", ended_at=None)
    return Seeded(names[0], filled[0], running, draft)


def dataset_make(number: int, size: int) -> str:
    """A data set of short sentences."""
    from workbench.datasets.services import dataset_import

    name = f"bench-{number}"
    lines = [
        json.dumps({"id": f"i{place:05}", "problem": f"Sentence {place} of set {number}?", "reference": "yes"})
        for place in range(size)
    ]
    dataset_import(name, "\n".join(lines).encode(), "bench.jsonl")
    return name


def experiment_make(number: int, dataset: str) -> Experiment:
    """A draft."""
    from workbench.experiments.services import experiment_create
    from workbench.experiments.spec import ExperimentSpec

    spec = ExperimentSpec.model_validate(
        {
            "name": f"Experiment {number}",
            "question": "Which of the two is worth its cost?",
            "dataset": dataset,
            "configurations": [
                {"topology": name, "overrides": {"model": f"ollama/model-{number}:{place}b"}}
                for place, name in enumerate(TOPOLOGIES)
            ],
            "evaluators": [{"name": "exact_match"}],
        }
    )
    return experiment_create(spec)


def experiment_fill(experiment: Experiment) -> None:
    """Freeze it and write down how its runs ended."""
    from workbench.experiments.drafting import Draft
    from workbench.experiments.models import Experiment, Run
    from workbench.experiments.starting import configuration_freeze, experiment_runs

    draft, now = Draft(experiment), timezone.now()
    for planned in draft.configurations:
        configuration_freeze(planned)
    runs = experiment_runs(draft)
    for place, run in enumerate(runs):
        run_end(run, place, now)
    Run.objects.bulk_create(runs, batch_size=BATCH)
    events_make(runs)
    for name in ("exact_match", "contains"):
        evaluation_make(experiment, name, runs)
    Experiment.objects.filter(pk=experiment.pk).update(
        status="finished", started_at=now - timedelta(minutes=9), ended_at=now,
        instance_keys=[instance.key for instance in draft.instances],
    )  # fmt: skip


def run_end(run: Run, place: int, now: Any) -> None:
    status = STATUSES[place % len(STATUSES)]
    ended = {
        "status": status, "code": "" if status == "succeeded" else "server_error", "attempt": 1,
        "output": "yes" if place % 3 else "no", "visits": 1, "model_calls": 1, "input_tokens": 100 + place % 7,
        "output_tokens": 20, "cost_usd": Decimal("0.00012"), "model_seconds": 1.5, "seconds": 2.0,
        "started_at": now - timedelta(minutes=9), "ended_at": now,
    }  # fmt: skip
    for name, value in ended.items():
        setattr(run, name, value)


def events_make(runs: list[Run]) -> None:
    """A short journal for each run."""
    from workbench.experiments.journal import event_row
    from workbench.experiments.models import RunEvent
    from workbench.experiments.writer import EVENT_COLUMNS, Held

    rows = []
    for run in runs:
        node = next(iter(run.plan.data["nodes"]))
        for sequence, event in enumerate(journal(node, run.plan.hash), 1):
            row = event_row(event, Held(run.pk, 1, "bench"), sequence)
            rows.append(RunEvent(**dict(zip(EVENT_COLUMNS, row, strict=True))))
    RunEvent.objects.bulk_create(rows, batch_size=BATCH)


def journal(node: str, plan_hash: str) -> list[Any]:
    """What a run of one call leaves."""
    at = timezone.now().timestamp()
    call = ModelCalled(
        at=at, node=node, visit=1, call=1, model="ollama/model", content="yes", input_tokens=100, output_tokens=20,
        messages=({"role": "user", "content": "A sentence. " * 40},), seconds=1.5,
    )  # fmt: skip
    versions = {"ollama": "0.12.3", "ollama/model": "sha256:" + "a" * 64}
    return [
        RunStarted(at=at, attempt=1, plan_hash=plan_hash, versions=versions),
        VisitStarted(at=at, node=node, visit=1),
        call,
        VisitEnded(at=at, node=node, visit=1, status="succeeded", seconds=1.5),
        RunEnded(at=at, status="succeeded", output="yes", outputs={node: "yes"}),
    ]


def evaluation_make(experiment: Experiment, evaluator: str, runs: list[Run]) -> None:
    """Scores for all of them; a tenth was left out."""
    from workbench.evaluations.models import Evaluation, RunScore

    now = timezone.now()
    evaluation = Evaluation.objects.create(
        experiment=experiment, evaluator=evaluator, evaluator_version="1", status="finished",
        metrics={str(one.pk): {evaluator: 0.6} for one in experiment.configurations.all()}, ended_at=now,
    )  # fmt: skip
    values = islice(cycle((1.0, 0.0, 1.0, 1.0, None, 0.0, 1.0)), len(runs))
    scores = [
        RunScore(
            evaluation=evaluation,
            run=run,
            value=value,
            passed=None if value is None else bool(value),
            details={"excluded": "refused"} if value is None else {},
        )
        for run, value in zip(runs, values, strict=True)
    ]
    RunScore.objects.bulk_create(scores, batch_size=BATCH)
