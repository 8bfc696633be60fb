"""Instances that go together (of one repository, one author): their answers are alike, so they count for less than as many
that have nothing in common. Which go together, a field of the instances' metadata says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from workbench.datasets.models import Instance
from workbench.experiments.models import Experiment
from workbench.results import statistics

Values = Mapping[str, float]
Clusters = Mapping[str, str]
"""Instance key → its cluster."""


class Clustering(NamedTuple):
    """By which field, and who goes with whom."""

    field: str
    of: Clusters


def clusterings(experiment: Experiment) -> dict[str, Clusters]:
    """Every field by which the instances can be put together: all have it, and some share its value."""
    version = experiment.dataset_version
    return _clusterings(version.pk, version.hash)


@lru_cache(maxsize=64)
def _clusterings(version_id: int, content: str) -> dict[str, Clusters]:
    """A version of a data set never changes; `content` is its hash."""
    rows = list(Instance.objects.filter(version=version_id).values_list("key", "metadata"))
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for key, metadata in rows:
        for field, value in (metadata or {}).items():
            if isinstance(value, str | int) and not isinstance(value, bool):
                found[field][key] = str(value)
    return {
        field: clusters
        for field, clusters in sorted(found.items())
        if len(clusters) == len(rows) and 1 < len(set(clusters.values())) < len(rows)
    }


def grouped(values: Values, clusters: Clusters) -> dict[str, list[float]]:
    """The values by cluster."""
    found: dict[str, list[float]] = defaultdict(list)
    for key, value in values.items():
        found[clusters[key]].append(value)
    return found


def clustered_interval(values: Values, clusters: Clusters, confidence: float = 0.95) -> tuple[statistics.Interval, int]:
    """The t interval from the clustered error, in its form for few clusters, and how many clusters there are."""
    found = statistics.clustered(grouped(values, clusters))
    if found.mean is None or found.small_sample is None:
        return statistics.Interval(None, None), found.clusters
    return statistics.t_interval(found.mean, found.small_sample, found.clusters - 1, confidence), found.clusters


def differs(a: Values, b: Values, clusters: Clusters, confidence: float) -> bool:
    """Whether the clustered interval of the paired difference leaves 0 out; below six clusters it never does."""
    difference = {key: a[key] - b[key] for key in a.keys() & b.keys()}
    interval, number = clustered_interval(difference, clusters, confidence)
    if number < statistics.smallest_significant_flips() or interval.low is None or interval.high is None:
        return False
    return interval.low > 0 or interval.high < 0
