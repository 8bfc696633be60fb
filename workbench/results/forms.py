"""What a reader may choose on the results pages, from the address; anything else is the default."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple
from urllib.parse import urlencode

from django.http import QueryDict

from workbench.evaluations.models import Evaluation
from workbench.evaluations.selectors import latest_evaluations
from workbench.experiments.models import Experiment
from workbench.results.clusters import clusterings
from workbench.results.selectors import REDUCERS
from workbench.results.table import AXES, Choice

MISSING = {"left_out": "left out", "wrong": "counted as wrong"}


class Chosen(NamedTuple):
    """The evaluation (None: there is none), those to choose from, and the rest of the choice."""

    evaluation: Evaluation | None
    evaluations: list[Evaluation]
    choice: Choice

    def query(self, **changed: object) -> str:
        """The choice as a query, with changes."""
        kept = {"evaluation": self.evaluation.pk if self.evaluation else "", **self.choice._asdict(), **changed}
        return urlencode({key: value for key, value in kept.items() if value != ""})


def chosen_from(query: QueryDict, experiment: Experiment) -> Chosen:
    """The choice in the address. An older evaluation can be named by its number too."""
    evaluations = latest_evaluations(experiment)
    finished = [one for one in evaluations if one.status == Evaluation.Status.FINISHED]
    named = query.get("evaluation", "")
    evaluation = experiment.evaluations.filter(pk=named).first() if named.isdecimal() and len(named) < 19 else None
    if evaluation is not None and evaluation not in evaluations:
        evaluations = [*evaluations, evaluation]
    if evaluation is None:
        evaluation = next(iter(sorted(finished or evaluations, key=asked_first(experiment))), None)
    if evaluation is not None:
        evaluation.experiment = experiment
    choice = Choice(
        one_of(query.get("reducer"), REDUCERS),
        one_of(query.get("missing"), MISSING),
        one_of(query.get("axis"), AXES),
        one_of(query.get("cluster"), {"": "", **clusterings(experiment)}),
    )
    return Chosen(evaluation, evaluations, choice)


def asked_first(experiment: Experiment) -> Callable[[Evaluation], int]:
    """Order of evaluations: those that the experiment asked for, in its order, then the others."""
    names = [str(asked.get("name")) for asked in experiment.evaluators]
    return lambda one: names.index(one.evaluator) if one.evaluator in names else len(names)


def one_of(value: str | None, known: Mapping[str, object]) -> str:
    """The value, or the first of those that are known."""
    return value if value is not None and value in known else next(iter(known))
