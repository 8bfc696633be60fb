"""Questions to the topologies: what is in the repository now, what was, and what a document says."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from workbench.engine.documents import read_json
from workbench.topologies.changes import change_words
from workbench.topologies.gitcommand import StoreError
from workbench.topologies.models import Topology, TopologyDraft
from workbench.topologies.picture import topology_svg
from workbench.topologies.reading import StoredTopology, Version
from workbench.topologies.store import store


class HistoryEntry(NamedTuple):
    """A version with what changed in it, in words."""

    version: Version
    words: str


class Card(NamedTuple):
    """A topology of the list with its small picture."""

    topology: Topology
    picture: str


def stored_topology(name: str, commit: str | None = None) -> StoredTopology:
    """The topology as it is now, or as a commit holds it; the first letters of one of its own commits will do. Raises
    `StoreError` where there is none."""
    found = store().read(name, commit and _whole(name, commit))
    if found is None:
        where = f" in {commit[:10]}" if commit else ""
        raise StoreError(f"There is no topology {name!r}{where}.")
    return found


def _whole(name: str, commit: str) -> str:
    if len(commit) >= 40:
        return commit
    meant = {version.commit for version in store().history(name, limit=10_000) if version.commit.startswith(commit)}
    return meant.pop() if len(meant) == 1 else commit


def topology_history(name: str, *, skip: int = 0, limit: int = 50) -> list[HistoryEntry]:
    """The versions of a topology, newest first, each with what changed."""
    versions = store().history(name, skip=skip, limit=limit)
    blobs = list(dict.fromkeys(blob for version in versions for blob in (version.before, version.blob) if blob))
    texts = dict(zip(blobs, store().texts(blobs), strict=True)) if blobs else {}
    return [
        HistoryEntry(version, change_words(texts.get(version.before, ""), texts.get(version.blob, "")))
        for version in versions
    ]


def topology_version(name: str, commit: str) -> Version | None:
    """Who made the version that a commit holds, when and why."""
    versions = store().history(name, limit=1, at=commit)
    return versions[0] if versions else None


def topology_difference(before: str, after: str) -> str:
    """What changed between two blobs, as a unified diff."""
    return store().difference(before, after)


def topologies_listed(search: str = "", tag: str = "") -> list[Topology]:
    """The topologies whose name, description, agents or tags hold every word of the search; one's own come first."""
    words = search.casefold().split()
    found = [
        topology
        for topology in Topology.objects.filter(deleted_at=None)
        if all(word in _searched(topology) for word in words) and (not tag or tag in topology.tags)
    ]
    return sorted(found, key=lambda topology: topology.ships)


def _searched(topology: Topology) -> str:
    return " ".join([topology.name, topology.description, *topology.agents, *topology.tags]).casefold()


def tags_counted() -> list[tuple[str, int]]:
    """Every tag with how many topologies have it, the most common first."""
    lists = Topology.objects.filter(deleted_at=None).values_list("tags", flat=True)
    return Counter(tag for tags in lists for tag in tags).most_common()


def drafts_open(author: str) -> set[str]:
    """The topologies that a person is changing and has not committed."""
    return set(TopologyDraft.objects.filter(author=author, changed=True).values_list("name", flat=True))


def topology_cards(topologies: list[Topology]) -> list[Card]:
    """The topologies with their pictures."""
    return [
        Card(topology, topology_svg(read_json(text).data))
        for topology, text in zip(topologies, texts_of(topologies), strict=True)
    ]


def texts_of(topologies: list[Topology]) -> list[str]:
    """Their newest texts."""
    return store().texts([topology.blob for topology in topologies]) if topologies else []


def topology_exists(name: str) -> bool:
    """Whether there is such a topology now; its history may be longer."""
    return Topology.objects.filter(name=name, deleted_at=None).exists()


def topologies_using(agent: str) -> list[Topology]:
    """The topologies that name an agent, in whatever version."""
    return [topology for topology in Topology.objects.filter(deleted_at=None) if agent in topology.agents]
