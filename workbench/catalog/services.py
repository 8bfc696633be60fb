"""Changes the catalogue: every save of an agent is a new version, and versions never change."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction

from workbench.catalog.authors import local_author
from workbench.catalog.models import Agent, AgentVersion
from workbench.catalog.shipped import read_reference, shipped_agents
from workbench.engine.documents import semantic_hash
from workbench.engine.errors import InvalidDocument, WorkbenchError, has_errors
from workbench.engine.spec import AgentSpec
from workbench.engine.validation import check_agent

Json = Any


class AgentConflict(WorkbenchError):
    """Somebody else saved the agent in between; `newer` is their version."""

    code = "conflict"

    def __init__(self, newer: AgentVersion) -> None:
        self.newer = newer
        super().__init__(
            f"{newer.agent.name} was changed while you were editing: {newer.author or 'somebody'} saved version "
            f"{newer.number}. Nothing was overwritten."
        )


def agent_save(text: str, *, message: str = "", author: str = "", expected: int | None = None) -> AgentVersion:
    """Save an agent's document as its next version; one that says the same as the newest makes none.

    `expected` is the number of the version that the change started from: 0 for an agent that must be new, None to ask
    nothing. Raises `InvalidDocument` or `AgentConflict`.
    """
    checked = check_agent(text)
    if checked.spec is None or has_errors(checked.problems):
        raise InvalidDocument(checked.problems)
    return _save(checked.spec, message=message, author=author or local_author(), expected=expected, ships=False)


def _save(spec: AgentSpec, *, message: str, author: str, expected: int | None, ships: bool) -> AgentVersion:
    document = agent_document(spec)
    try:
        with transaction.atomic():
            agent, _ = Agent.objects.get_or_create(name=spec.name, defaults={"role": spec.role, "ships": ships})
            newest = agent.versions.first()
            if newest is not None and expected is not None and newest.number != expected:
                raise AgentConflict(newest)
            if newest is not None and newest.hash == semantic_hash(document):
                return newest
            version = agent.versions.create(
                number=newest.number + 1 if newest else 1,
                spec=document,
                hash=semantic_hash(document),
                message=message[:500],
                author=author[:200],
            )
            agent.role, agent.ships = spec.role, ships
            agent.save(update_fields=["role", "ships", "updated_at"])
    except IntegrityError as error:  # two saves at the same moment: the other one was first
        raise AgentConflict(AgentVersion.objects.filter(agent__name=spec.name).latest("number")) from error
    return version


def agent_document(spec: AgentSpec) -> dict[str, Json]:
    """The spec as it is kept: what says nothing is left out."""
    return spec.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude_none=True)


def starters_load() -> None:
    """Add the shipped agents that are missing, and bring those up to date that nobody changed here."""
    known = {agent.name: agent for agent in Agent.objects.all()}
    for name, spec in shipped_agents().items():
        if name not in known:
            _save(spec, message="Came with the workbench", author="workbench", expected=0, ships=True)
        elif known[name].ships:
            _save(spec, message="Updated with the workbench", author="workbench", expected=None, ships=True)


class DatabaseCatalogue:
    """The agents in the database as a catalogue; what was asked once is remembered, so use a new one for new work."""

    def __init__(self) -> None:
        self._found: dict[str, AgentSpec | None] = {}

    def agent(self, reference: str) -> AgentSpec | None:
        if reference not in self._found:
            self._found[reference] = self._read(reference)
        return self._found[reference]

    def names(self) -> list[str]:
        return list(Agent.objects.order_by("name").values_list("name", flat=True))

    def _read(self, reference: str) -> AgentSpec | None:
        found = read_reference(reference)
        if found is None:
            return None
        versions = AgentVersion.objects.filter(agent__name=found.name)
        if found.number is not None:
            versions = versions.filter(number=found.number)
        newest = versions.order_by("-number").first()
        return AgentSpec.model_validate(newest.spec) if newest else None
