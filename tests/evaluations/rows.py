"""Experiments with ended runs, as rows: what tests of evaluations and results start from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import count

from django.utils import timezone

from workbench.datasets.models import Dataset, DatasetVersion, Instance
from workbench.experiments.models import Configuration, Experiment, Plan, Run

NUMBERS = count(1)

USAGE = {
    "model_calls": 2,
    "input_tokens": 100,
    "output_tokens": 20,
    "cost_usd": Decimal("0.002"),
    "model_seconds": 1.5,
    "seconds": 2.0,
}


def make_experiment(
    answers: Mapping[str, Sequence[str | dict | None]],
    references: Sequence[str] = ("yes",) * 4,
    *,
    repetitions: int = 1,
    **fields: object,
) -> Experiment:
    """An experiment with one run per answer: `label → answers`, instance after instance, repetitions together.

    An answer is the output of a succeeded run, None (it gave none), or a dict of the run's own fields.
    """
    number = next(NUMBERS)
    dataset = Dataset.objects.create(name=f"set-{number}", title=f"Set {number}")
    version = DatasetVersion.objects.create(dataset=dataset, number=1, hash=f"{number}", count=len(references))
    instances = [
        Instance.objects.create(
            version=version, position=place, key=f"i{place}", problem=f"Problem {place}?", references=[reference]
        )
        for place, reference in enumerate(references)
    ]
    defaults = {
        "name": f"Experiment {number}",
        "status": "finished",
        "started_at": timezone.now(),
        "ended_at": timezone.now(),
        "question": "Which?",
    }
    experiment = Experiment.objects.create(dataset_version=version, repetitions=repetitions, **{**defaults, **fields})
    for position, (label, given) in enumerate(answers.items()):
        make_configuration(experiment, position, label, given, instances)
    return experiment


def make_configuration(experiment, position, label, given, instances) -> Configuration:
    topology = label[:100]
    plan = Plan.objects.create(hash=f"{experiment.pk}-{position}", data={}, topology=topology, commit="c" * 40)
    configuration = Configuration.objects.create(
        experiment=experiment, position=position, label=label, topology=topology, plan=plan
    )
    places = [(instance, repetition + 1) for instance in instances for repetition in range(experiment.repetitions)]
    Run.objects.bulk_create(
        Run(
            experiment=experiment,
            configuration=configuration,
            plan=plan,
            instance=instance,
            repetition=repetition,
            **run_fields(answer),
        )
        for (instance, repetition), answer in zip(places, given, strict=True)
    )
    return configuration


def run_fields(answer: str | dict | None) -> dict:
    fields = answer if isinstance(answer, dict) else {"output": answer}
    return {"status": "succeeded", **USAGE, **fields}
