"""Changes topologies: in the repository, which is the truth, and then in the database, which only knows it faster."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils import timezone

from workbench.engine.documents import canonical_json, read_json
from workbench.engine.errors import InvalidDocument, Problem, has_errors
from workbench.engine.spec import TOPOLOGY_FORMAT
from workbench.engine.validation import Checked, check_topology
from workbench.topologies.facts import document_agents, document_tags
from workbench.topologies.gitcommand import StoreError
from workbench.topologies.library import Library
from workbench.topologies.models import Topology
from workbench.topologies.reading import Entry, StoredTopology
from workbench.topologies.selectors import stored_topology
from workbench.topologies.store import Author, store

Json = Any


def topology_checked(text: str, name: str = "") -> Checked:
    """Everything wrong with a document; `name` is what it is to be saved under, if that is decided."""
    checked = check_topology(text, Library())
    if not name or checked.spec is None or checked.spec.name == name:
        return checked
    message = f"The document calls itself {checked.spec.name!r}, but this topology is {name!r}."
    problem = Problem("error", "name_differs", "/name", message, f'Write "name": "{name}".')
    return Checked(checked.spec, [problem, *checked.problems])


def topology_save(
    name: str, text: str, message: str = "", author: str = "", expected_commit: str | None = None
) -> Topology:
    """Commit a topology in its canonical form.

    `expected_commit` is the commit that the change started from: `""` for a topology that must be new, None to ask
    nothing. Raises `InvalidDocument` with every problem, `Conflict` with the newer version, or `StoreError`.
    """
    checked = topology_checked(text, name)
    if checked.spec is None or has_errors(checked.problems):
        raise InvalidDocument(checked.problems)
    return _commit(name, canonical_json(read_json(text).data), message, author, expected_commit, ships=False)


def topology_restore(name: str, commit: str, author: str = "") -> Topology:
    """Make a version the newest again, by a new commit; also of a topology that was deleted. It is taken as it was."""
    version = stored_topology(name, commit)
    return _commit(name, version.text, f"Restore the version of {commit[:10]}", author, None, ships=False)


def topology_delete(name: str, author: str = "", expected_commit: str | None = None) -> None:
    """Commit that a topology is gone. Its history stays, and any version can be restored."""
    store().delete(name, message=f"Delete {name}", author=_author(author), expected=expected_commit)
    Topology.objects.filter(name=name).update(deleted_at=timezone.now(), updated_at=timezone.now())


def topology_create(name: str, source: str = "", author: str = "") -> Topology:
    """A new topology: a copy of another one, or the smallest that runs."""
    document = read_json(stored_topology(source).text).data if source else blank_document()
    if not isinstance(document, dict):
        raise StoreError(f"{source} can't be read as JSON, so it can't be copied.")
    text = canonical_json({**document, "name": name})
    return topology_save(name, text, f"Copy {source}" if source else f"Create {name}", author, "")


def topology_use(source: str, author: str = "") -> Topology:
    """A copy under the next free name: `debate_2`, `debate_3` …"""
    stem, number = re.sub(r"_\d+$", "", source)[:90], 2
    taken = {name.casefold() for name in Topology.objects.values_list("name", flat=True)}
    while f"{stem}_{number}".casefold() in taken:
        number += 1
    return topology_create(f"{stem}_{number}", source, author)


def blank_document() -> dict[str, Json]:
    """The smallest topology that runs: one agent that is given the problem."""
    return {
        "format": TOPOLOGY_FORMAT,
        "name": "new",
        "description": "",
        "start": ["answer"],
        "end": ["answer"],
        "defaults": {"model": "embedded/smollm2:135m", "params": {"temperature": 0, "max_output_tokens": 256}},
        "nodes": {"answer": {"type": "agent", "prompt": "{{ instance.problem }}"}},
        "edges": [],
    }


def topologies_sync() -> list[Entry]:
    """Bring the database in step with the repository, where others may have committed. Returns the foreign files."""
    entries = store().entries()
    here = {entry.name: entry.blob for entry in entries if not entry.problem}
    rows = {topology.name: topology for topology in Topology.objects.all()}
    for name, blob in here.items():
        row = rows.get(name)
        if row is None or row.deleted_at is not None or row.blob != blob:
            _row_update(stored_topology(name), ships=False)
    gone = [name for name, row in rows.items() if row.deleted_at is None and name not in here]
    Topology.objects.filter(name__in=gone).update(deleted_at=timezone.now(), updated_at=timezone.now())
    return [entry for entry in entries if entry.problem]


def starters_load() -> None:
    """Add the shipped topologies that were never here, and bring those up to date that nobody changed here."""
    topologies_sync()
    rows = {topology.name: topology for topology in Topology.objects.all()}
    for name, text in shipped_topologies().items():
        row = rows.get(name)
        if row is None and not store().history(name, limit=1):
            _commit(name, text, "Came with the workbench", "workbench", "", ships=True)
        elif row is not None and row.ships and row.deleted_at is None and stored_topology(name).text != text:
            _commit(name, text, "Updated with the workbench", "workbench", row.commit, ships=True)


def shipped_topologies() -> dict[str, str]:
    """The texts of the topologies that ship, by name."""
    folder = Path(settings.BASE_DIR) / "topologies"
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.json"))}


def _commit(name: str, text: str, message: str, author: str, expected: str | None, *, ships: bool) -> Topology:
    saved = store().save(name, text, message=message, author=_author(author), expected=expected)
    return _row_update(saved, ships=ships)


def _author(name: str) -> Author:
    return Author(name) if name else Author.local()


def _row_update(stored: StoredTopology, *, ships: bool) -> Topology:
    """Write down what the database knows of a topology."""
    version = store().history(stored.name, limit=1)[0]
    checked = check_topology(stored.text, Library())
    document = read_json(stored.text).data
    said = document if isinstance(document, dict) else {}
    nodes, edges = said.get("nodes"), said.get("edges")
    errors = sum(problem.severity == "error" for problem in checked.problems)
    facts: dict[str, Json] = {
        "description": str(said.get("description") or "")[:2000],
        "commit": stored.commit,
        "blob": stored.blob,
        "nodes": len(nodes) if isinstance(nodes, dict) else 0,
        "edges": len(edges) if isinstance(edges, list) else 0,
        "errors": errors,
        "warnings": len(checked.problems) - errors,
        "agents": document_agents(document),
        "tags": document_tags(document),
        "ships": ships,
        "changed_at": version.date,
        "changed_by": version.author[:200],
        "message": version.message,
        "deleted_at": None,
    }
    topology, _ = Topology.objects.update_or_create(name=stored.name, defaults=facts)
    return topology
