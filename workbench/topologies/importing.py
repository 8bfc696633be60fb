"""Documents of any format that is known, as topologies; and what is said of them, in the words of the original."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from workbench.engine.documents import canonical_json, read_json
from workbench.engine.errors import InvalidDocument, Problem, has_errors
from workbench.engine.formats import FORMATS, Imported, read_foreign
from workbench.engine.nodes import Catalogue
from workbench.engine.providers.scripted import Script
from workbench.engine.spec import NODE_ID
from workbench.engine.validation import Checked, check_topology

Json = Any

YAML_ENDINGS = (".yaml", ".yml")
_QUOTED_ID = re.compile(rf"""(['"])({NODE_ID.pattern})\1""")


def topology_document(filename: str, text: str | bytes) -> Imported:
    """The topology in a text: own documents unchanged, others imported. Only the document is read, nothing is checked."""
    decoded = _decoded(text)
    found = read_foreign(filename, decoded) if decoded is not None else None
    if found is not None:
        return found
    if decoded is not None and filename.lower().endswith(YAML_ENDINGS):
        message = "This YAML is in no format that can be imported."
        hint = f"Known are {', '.join(FORMATS.names())}; the README of workbench/engine/formats says more."
        return Imported(None, [], [Problem("error", "unknown_format", "", message, hint)], format="unknown")
    data, problems = read_json(text)
    return Imported(data if isinstance(data, dict) else None, [], problems)


def document_checked(filename: str, text: str | bytes, catalogue: Catalogue) -> tuple[Checked, Imported]:
    """The document, checked as a topology whatever its format; the problems are in the words and places of the original."""
    imported = topology_document(filename, text)
    if not imported.format:
        return check_topology(text, catalogue), imported
    if imported.topology is None:
        return Checked(None, imported.problems), imported
    checked = check_topology(canonical_json(imported.topology), catalogue)
    problems = [*imported.problems, *(original_problem(problem, imported) for problem in checked.problems)]
    return Checked(None if has_errors(imported.problems) else checked.spec, problems), imported


def original_problem(problem: Problem, imported: Imported) -> Problem:
    """The problem as it is said of the original: its ids, and the place that the faulty part came from."""
    path = problem.path
    steps = path.split("/")
    for length in range(len(steps), 1, -1):
        if (prefix := "/".join(steps[:length])) in imported.places:
            path = imported.places[prefix]
            break
    message, hint = (original_text(text, imported.foreign_ids) for text in (problem.message, problem.hint))
    return problem._replace(path=path, message=message, hint=hint)


def original_text(text: str, foreign_ids: Mapping[str, str]) -> str:
    """The sentence with the ids of the original, where they stand in quotes."""
    return _QUOTED_ID.sub(lambda found: found[1] + foreign_ids.get(found[2], found[2]) + found[1], text)


def original_error(error: InvalidDocument, imported: Imported) -> InvalidDocument:
    """The error as it is said of the original."""
    return InvalidDocument([original_problem(problem, imported) for problem in error.problems])


def original_report(report: dict[str, Json], imported: Imported) -> dict[str, Json]:
    """A run's report with the ids of the original, and the notes; nodes that an import added keep their ids."""
    if not imported.format:
        return report
    foreign_ids = imported.foreign_ids
    found = {**report, "notes": imported.notes}
    for field in ("outputs", "visits", "node_outputs"):
        found[field] = {foreign_ids.get(node, node): value for node, value in report[field].items()}
    found["order"] = [foreign_ids.get(node, node) for node in report["order"]]
    found["reason"] = original_text(report["reason"], foreign_ids)
    return found


def own_script(script: Script, foreign_ids: Mapping[str, str]) -> Script:
    """The script, which names nodes as the original does, for the topology that was imported."""
    own = {foreign: name for name, foreign in foreign_ids.items() if foreign != name}
    if not own:
        return script
    data = script.model_dump(mode="json", exclude_unset=True)
    data["nodes"] = {own.get(node, node): entries for node, entries in data.get("nodes", {}).items()}
    entries = [entry for several in data["nodes"].values() for entry in several]
    for rule in data.get("rules", []):
        entries.append(rule["answer"])
        if "node" in rule:
            rule["node"] = own.get(rule["node"], rule["node"])
    for entry in entries:
        if entry.get("targets"):
            entry["targets"] = [own.get(target, target) for target in entry["targets"]]
    return Script.model_validate(data)


def _decoded(text: str | bytes) -> str | None:
    if isinstance(text, str):
        return text
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        return None
