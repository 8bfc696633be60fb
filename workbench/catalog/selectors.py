"""Questions to the catalogue."""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

from django.db.models import OuterRef, Subquery
from django.shortcuts import get_object_or_404

from workbench.catalog.models import Agent, AgentVersion


class RoleGroup(NamedTuple):
    """The agents of one role, each by its newest version."""

    role: str
    versions: list[AgentVersion]


def newest_versions() -> list[AgentVersion]:
    """The newest version of every agent, by role and name."""
    newest = AgentVersion.objects.filter(agent=OuterRef("agent")).order_by("-number").values("pk")[:1]
    found = AgentVersion.objects.filter(pk=Subquery(newest)).select_related("agent")
    return sorted(found, key=lambda version: (version.agent.role.casefold(), version.agent.name))


def agents_by_role(search: str = "", role: str = "") -> list[RoleGroup]:
    """The agents that hold every word of the search, grouped by role."""
    words = search.casefold().split()
    found = [
        version
        for version in newest_versions()
        if (not role or version.agent.role == role) and all(word in _searched(version) for word in words)
    ]
    return [RoleGroup(role, list(group)) for role, group in groupby(found, key=lambda version: version.agent.role)]


def _searched(version: AgentVersion) -> str:
    spec = version.spec
    texts = [
        spec.get(key, "") for key in ("name", "title", "role", "description", "system", "prompt", "expects", "gives")
    ]
    return " ".join([*texts, *spec.get("tags", []), *spec.get("tools", [])]).casefold()


def agent_roles() -> list[str]:
    """The roles in use."""
    return sorted(set(Agent.objects.values_list("role", flat=True)), key=str.casefold)


def agent_version_get(name: str, number: int | None = None) -> AgentVersion:
    """A version of an agent, the newest without a number; 404 where there is none."""
    versions = AgentVersion.objects.select_related("agent").filter(agent__name=name)
    return (
        get_object_or_404(versions.order_by("-number")[:1])
        if number is None
        else get_object_or_404(versions, number=number)
    )
