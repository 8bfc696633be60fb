"""The agents that ship, read straight from `agents_catalog/`; no database and no Django is needed."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from workbench.engine.errors import InvalidDocument, has_errors
from workbench.engine.spec import AgentSpec
from workbench.engine.validation import check_agent

FOLDER = Path(__file__).resolve().parents[2] / "agents_catalog"


class Reference(NamedTuple):
    """`name` means the newest version of an agent, `name@3` that one."""

    name: str
    number: int | None


def read_reference(text: str) -> Reference | None:
    """The parts of a reference, or None for a text that is none."""
    name, at, number = text.partition("@")
    if not at:
        return Reference(name, None)
    return Reference(name, int(number)) if number.isascii() and number.isdigit() and len(number) < 9 else None


def shipped_agents(folder: Path = FOLDER) -> dict[str, AgentSpec]:
    """Every agent that ships, by name. Raises `InvalidDocument` for a file that is no agent."""
    agents = {}
    for path in sorted(folder.glob("*.json")):
        checked = check_agent(path.read_bytes())
        if checked.spec is None or has_errors(checked.problems):
            raise InvalidDocument(checked.problems)
        agents[checked.spec.name] = checked.spec
    return agents


class ShippedCatalogue:
    """The shipped agents as a catalogue: each is version 1 of itself."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self.folder = folder

    def agent(self, reference: str) -> AgentSpec | None:
        found = read_reference(reference)
        if found is None or found.number not in (None, 1) or found.name not in self.names():
            return None
        spec: AgentSpec | None = check_agent((self.folder / f"{found.name}.json").read_bytes()).spec
        return spec

    def names(self) -> list[str]:
        return sorted(path.stem for path in self.folder.glob("*.json"))
