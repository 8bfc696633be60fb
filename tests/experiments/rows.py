"""Runs and experiments as rows, for tests of what happens to them."""

from __future__ import annotations

from itertools import count

from django.utils import timezone

from workbench.datasets.models import Dataset, DatasetVersion, Instance
from workbench.experiments.models import Configuration, Experiment, Plan, Run

NUMBERS = count(1)

DOCUMENT = {
    "format": "workbench.topology/1",
    "name": "pair",
    "start": ["writer"],
    "end": ["reviewer"],
    "nodes": {"writer": {"type": "agent"}, "reviewer": {"type": "agent"}},
    "edges": [
        {"from": "writer", "to": "reviewer"},
        {"from": "reviewer", "to": "writer", "when": {"field": "verdict", "equals": "revise"}, "max": 3},
    ],
}


def make_plan(document=DOCUMENT) -> Plan:
    number = next(NUMBERS)
    return Plan.objects.create(hash=f"plan-{number}", data={"topology": document}, topology=document["name"])


def make_run(**fields) -> Run:
    """A run of the command line's kind: outside any experiment, claimed by somebody."""
    made = {"status": "running", "attempt": 1, "owner": "here", "heartbeat_at": timezone.now(), "input": "Say hello."}
    return Run.objects.create(plan=make_plan(), **{**made, **fields})


def make_dataset(size=2) -> DatasetVersion:
    number = next(NUMBERS)
    dataset = Dataset.objects.create(name=f"sentences-{number}", title="Sentences")
    version = DatasetVersion.objects.create(dataset=dataset, number=1, hash=str(number), count=size)
    Instance.objects.bulk_create(
        Instance(version=version, position=i, key=f"s{i:03}", problem=f"Sentence {i}?", references=["yes"])
        for i in range(size)
    )
    return version


def make_experiment(runs=2, *, labels=("pair",), run=None, **fields) -> Experiment:
    """A running experiment with `runs` runs for each configuration; `run` holds fields of them all."""
    made = {"name": "An experiment", "status": "running", "started_at": timezone.now()}
    version = make_dataset(runs)
    experiment = Experiment.objects.create(dataset_version=version, **{**made, **fields})
    for position, label in enumerate(labels):
        plan = make_plan()
        configuration = Configuration.objects.create(
            experiment=experiment, position=position, label=label, topology="pair", commit="c" * 40, plan=plan
        )
        Run.objects.bulk_create(
            Run(experiment=experiment, configuration=configuration, plan=plan, instance=instance, **(run or {}))
            for instance in version.instances.all()
        )
    return experiment
