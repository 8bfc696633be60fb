"""What the results of an experiment are made of, added up by the database: no query reads a row per run."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from typing import NamedTuple

from django.db.models import Avg, Case, Count, F, FloatField, Max, Min, Q, Sum, Value, When
from django.db.models.functions import Coalesce

from workbench.evaluations.models import Evaluation, RunScore
from workbench.experiments.models import Experiment, Run

REDUCERS = {"mean": Avg, "best": Max, "worst": Min}
"""How the repetitions of an instance become one value; part of the metric's name."""


class Spent(NamedTuple):
    """What the runs of one configuration took. A sum is of what is known; None: nothing of it is."""

    runs: int = 0
    ended: int = 0
    calls: int = 0
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    unknown_calls: int = 0
    cost_usd: Decimal | None = None
    unpriced_calls: int = 0
    model_seconds: float = 0.0
    seconds: float = 0.0
    truncated_calls: int = 0
    machine_usd: Decimal | None = None
    machine_wh: float | None = None

    @property
    def tokens(self) -> int | None:
        """Input and output together, if every call told both."""
        if self.unknown_calls or self.input_tokens is None or self.output_tokens is None:
            return None
        return self.input_tokens + self.output_tokens

    @property
    def money(self) -> Decimal | None:
        """The exact sum; None where a call has no price. No calls cost nothing."""
        if self.calls == 0:
            return Decimal(0)
        return None if self.unpriced_calls else self.cost_usd

    @property
    def money_at_least(self) -> Decimal | None:
        """The sum of the priced calls where others have no price; None where that says nothing."""
        return self.cost_usd if self.unpriced_calls and self.unpriced_calls < self.calls else None

    def per_run(self, axis: str) -> float | None:
        """Mean of tokens, money or seconds over the ended runs; None where a part is unknown."""
        total = {"tokens": self.tokens, "money": self.money, "seconds": self.seconds}[axis]
        return None if total is None or not self.ended else float(total) / self.ended


class Failure(NamedTuple):
    """So many runs of a configuration that ended otherwise than well, of one kind."""

    status: str
    code: str
    number: int

    @property
    def words(self) -> str:
        """The kind as a table says it."""
        status = Run.Status(self.status).label.lower()
        return f"{status} ({self.code})" if self.code and self.code != self.status else str(status)


def experiment_spent(experiment: Experiment) -> dict[int, Spent]:
    """Configuration id → what its runs took."""
    none_told = Q(model_calls__gt=0, input_tokens=None)
    rows = (
        Run.objects.filter(experiment=experiment, configuration__isnull=False)
        .order_by()
        .values("configuration_id")
        .annotate(
            runs=Count("pk"),
            ended=Count("pk", filter=Q(status__in=Run.ENDED)),
            calls=Sum("model_calls"),
            told_input=Sum("input_tokens"),
            told_output=Sum("output_tokens"),
            unknown_calls=Sum("unknown_usage_calls"),
            silent=Sum("model_calls", filter=none_told),
            told_cost=Sum("cost_usd"),
            unpriced=Sum("unpriced_calls"),
            in_models=Sum("model_seconds"),
            working=Sum("seconds"),
            truncated=Sum("truncated_calls"),
            machine_dollars=Sum("machine_usd"),
            machine_hours=Sum("machine_wh"),
        )
    )
    return {
        row["configuration_id"]: Spent(
            runs=row["runs"],
            ended=row["ended"],
            calls=row["calls"],
            input_tokens=row["told_input"] if row["calls"] else 0,
            output_tokens=row["told_output"] if row["calls"] else 0,
            unknown_calls=max(row["unknown_calls"], row["silent"] or 0),
            cost_usd=row["told_cost"],
            unpriced_calls=row["unpriced"],
            model_seconds=row["in_models"],
            seconds=row["working"],
            truncated_calls=row["truncated"],
            machine_usd=row["machine_dollars"],
            machine_wh=row["machine_hours"],
        )
        for row in rows
    }


def experiment_failures(experiment: Experiment) -> dict[int, list[Failure]]:
    """Configuration id → runs that ended otherwise than `succeeded`, by kind, the most frequent first."""
    rows = (
        Run.objects.filter(experiment=experiment, status__in=Run.ENDED, configuration__isnull=False)
        .exclude(status=Run.Status.SUCCEEDED)
        .order_by()
        .values("configuration_id", "status", "code")
        .annotate(number=Count("pk"))
    )
    failures: dict[int, list[Failure]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (-row["number"], row["status"], row["code"])):
        failures[row["configuration_id"]].append(Failure(row["status"], row["code"], row["number"]))
    return failures


class InstanceValue(NamedTuple):
    """One value per configuration and instance: its repetitions, reduced."""

    configuration_id: int
    instance_id: int
    key: str
    value: float | None
    passed: float | None


def instance_values(
    evaluation: Evaluation, *, reducer: str = "mean", missing_is_wrong: bool = False
) -> list[InstanceValue]:
    """Scores, reduced over repetitions by the database. `passed` is a share when the reducer is the mean.

    `missing_is_wrong`: a run without a score counts as 0 and not passed, instead of being left out.
    """
    reduce = REDUCERS[reducer]
    nothing = Value(0.0) if missing_is_wrong else Value(None)
    passed = Case(
        When(passed=True, then=Value(1.0)),
        When(passed=False, then=Value(0.0)),
        default=nothing,
        output_field=FloatField(),
    )
    value = Coalesce(F("value"), nothing, output_field=FloatField()) if missing_is_wrong else F("value")
    rows = (
        RunScore.objects.filter(evaluation=evaluation, run__instance__isnull=False)
        .order_by()
        .values("run__configuration_id", "run__instance_id", "run__instance__key")
        .annotate(reduced=reduce(value), share=reduce(passed))
        .order_by("run__instance__position", "run__instance_id")
        .values_list("run__configuration_id", "run__instance_id", "run__instance__key", "reduced", "share")
    )
    return [InstanceValue(*row) for row in rows]


class Spread(NamedTuple):
    """Of the instances that were judged more than once, how many got different values."""

    differing: int
    repeated: int


def repetition_spread(evaluation: Evaluation) -> dict[int, Spread]:
    """Configuration id → how far its repetitions agree: the same seed does not mean the same answer."""
    rows = (
        RunScore.objects.filter(evaluation=evaluation, run__instance__isnull=False, value__isnull=False)
        .order_by()
        .values("run__configuration_id", "run__instance_id")
        .annotate(number=Count("pk"), low=Min("value"), high=Max("value"))
        .filter(number__gt=1)
        .values_list("run__configuration_id", "low", "high")
    )
    found: dict[int, Spread] = defaultdict(lambda: Spread(0, 0))
    for configuration, low, high in rows:
        differing, repeated = found[configuration]
        found[configuration] = Spread(differing + (low != high), repeated + 1)
    return dict(found)
