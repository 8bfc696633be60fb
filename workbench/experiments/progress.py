"""How far an experiment has come: counts by status and what was spent, for each configuration and in all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, NamedTuple

from django.db.models import Count, Sum

from workbench.experiments.models import Experiment, Run
from workbench.experiments.totals import plus

SHOWN = ("succeeded", "failed", "limit_reached", "incomplete", "stopped", "running", "stopping", "waiting", "lost")
SUMS = ("model_calls", "input_tokens", "output_tokens", "unknown_usage_calls", "cost_usd", "unpriced_calls")


class Part(NamedTuple):
    """A piece of a progress bar, on a scale of 0 to 100."""

    status: str
    start: float
    width: float


class StatusCount(NamedTuple):
    """So many runs have this status."""

    status: str
    word: str
    number: int


class Progress(NamedTuple):
    """A line of progress. Sums are of what is known; None: nothing is."""

    label: str
    configuration_id: int | None
    counts: Counter[str]
    sums: dict[str, Any]

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def ended(self) -> int:
        return sum(self.counts[status] for status in Run.ENDED)

    @property
    def statuses(self) -> list[StatusCount]:
        """The statuses that there are, in the order of the bar, queued last."""
        order = [*SHOWN, "queued"]
        return [StatusCount(name, Run.Status(name).label, self.counts[name]) for name in order if self.counts[name]]

    @property
    def parts(self) -> list[Part]:
        """The bar: what has ended, by how; then what runs. The queued rest stays empty."""
        found, start = list[Part](), 0.0
        for status in SHOWN:
            width = 100 * self.counts[status] / max(1, self.total)
            if width:
                found.append(Part(status, round(start, 3), round(width, 3)))
            start += width
        return found

    @property
    def calls(self) -> int:
        return self.sums["model_calls"] or 0

    @property
    def tokens(self) -> int | None:
        """Input and output together, as far as they are known."""
        total: int | None = plus(self.sums["input_tokens"], self.sums["output_tokens"])
        return total

    @property
    def money(self) -> Decimal | None:
        """What was spent; unknown as soon as one call has no price."""
        return None if self.sums["unpriced_calls"] else self.sums["cost_usd"] or Decimal(0)

    @property
    def money_at_least(self) -> Decimal | None:
        """What the priced calls cost where others have no price; None where nothing is known."""
        known: Decimal | None = self.sums["cost_usd"]
        return known if self.sums["unpriced_calls"] else None


def experiment_progress(experiment: Experiment) -> list[Progress]:
    """A line for each configuration, in order."""
    lines = {
        configuration.pk: Progress(configuration.label, configuration.pk, Counter(), dict.fromkeys(SUMS))
        for configuration in experiment.configurations.all()
    }
    rows = Run.objects.filter(experiment=experiment).order_by().values("configuration", "status")
    sums: dict[str, Any] = {f"sum_{name}": Sum(name) for name in SUMS}
    row: Any
    for row in rows.annotate(runs=Count("pk"), **sums):
        line = lines[row["configuration"]]
        line.counts[row["status"]] += row["runs"]
        line.sums.update({name: plus(line.sums[name], row[f"sum_{name}"]) for name in SUMS})
    return list(lines.values())


def together(lines: Iterable[Progress]) -> Progress:
    """All configurations as one line."""
    whole = Progress("All", None, Counter(), dict.fromkeys(SUMS))
    for line in lines:
        whole.counts.update(line.counts)
        whole.sums.update({name: plus(whole.sums[name], line.sums[name]) for name in SUMS})
    return whole


def counts_by_experiment(experiment_ids: Iterable[int]) -> dict[int, Progress]:
    """Counts of several experiments, in one query; nothing is said of what they spent."""
    found = {pk: Progress("", None, Counter(), {}) for pk in experiment_ids}
    rows = Run.objects.filter(experiment__in=list(found)).order_by().values_list("experiment", "status")
    for experiment_id, status, number in rows.annotate(Count("pk")):
        found[experiment_id].counts[status] += number
    return found
