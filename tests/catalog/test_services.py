"""The catalogue: every save is a new version, and nothing a person changed is overwritten."""

from __future__ import annotations

import json

import pytest

from workbench.catalog.models import Agent, AgentVersion
from workbench.catalog.services import AgentConflict, DatabaseCatalogue, agent_save, starters_load
from workbench.catalog.shipped import ShippedCatalogue, read_reference, shipped_agents
from workbench.engine.errors import InvalidDocument

pytestmark = pytest.mark.django_db


def agent(name: str = "poet", **more) -> str:
    return json.dumps({"format": "workbench.agent/1", "name": name, "role": "Writer", "prompt": "Rhyme."} | more)


def test_each_save_is_a_version_with_message_and_author():
    agent_save(agent(), message="Begin", author="Ada")
    saved = agent_save(agent(system="You rhyme."), message="Say who it is", author="Bob")

    assert (saved.number, saved.message, saved.author) == (2, "Say who it is", "Bob")
    assert AgentVersion.objects.get(number=1).spec == {
        "format": "workbench.agent/1", "name": "poet", "role": "Writer", "prompt": "Rhyme.",
    }  # fmt: skip


def test_a_save_that_changes_nothing_makes_no_version():
    first = agent_save(agent())

    assert agent_save(agent()) == first
    assert AgentVersion.objects.count() == 1


def test_an_invalid_agent_is_refused_with_every_problem():
    with pytest.raises(InvalidDocument) as caught:
        agent_save(agent(tools=["shovel"], params={"temperature": 9}, colour="red"))

    assert {problem.path for problem in caught.value.problems} >= {"/params/temperature", "/colour"}
    assert not Agent.objects.exists()


def test_a_stale_save_overwrites_nothing():
    agent_save(agent())
    newer = agent_save(agent(system="Newer"), expected=1)

    with pytest.raises(AgentConflict) as caught:
        agent_save(agent(system="Mine"), expected=1)

    assert caught.value.newer == newer
    assert AgentVersion.objects.count() == 2


def test_a_new_agent_never_takes_the_name_of_an_old_one():
    agent_save(agent())

    with pytest.raises(AgentConflict):
        agent_save(agent(system="Other"), expected=0)


def test_the_catalogue_knows_the_newest_and_any_pinned_version():
    agent_save(agent(system="One"))
    agent_save(agent(system="Two"))
    catalogue = DatabaseCatalogue()

    assert catalogue.agent("poet").system == "Two"
    assert catalogue.agent("poet@1").system == "One"
    for unknown in ("poet@3", "poet@", "poet@x", "poet@-1", "@1", "nobody", "poet@99999999999999999999"):
        assert catalogue.agent(unknown) is None
    assert catalogue.names() == ["poet"]


def test_loading_starters_twice_changes_nothing():
    starters_load()
    before = list(AgentVersion.objects.values_list("pk", "hash"))

    starters_load()

    assert list(AgentVersion.objects.values_list("pk", "hash")) == before
    assert Agent.objects.filter(ships=True).count() == len(shipped_agents())


def test_a_shipped_agent_that_a_person_changed_stays_as_it_is():
    starters_load()
    agent_save(agent("writer", prompt="Mine."))

    starters_load()

    assert DatabaseCatalogue().agent("writer").prompt == "Mine."
    assert Agent.objects.get(name="writer").ships is False


def test_a_shipped_agent_that_nobody_changed_follows_the_release():
    starters_load()
    version = Agent.objects.get(name="writer").versions.get()
    version.spec, version.hash = version.spec | {"prompt": "Of an older release."}, "old"
    version.save()

    starters_load()

    newest = Agent.objects.get(name="writer").versions.first()
    assert newest.number == 2
    assert newest.message == "Updated with the workbench"


def test_shipped_agents_are_found_without_a_database():
    catalogue = ShippedCatalogue()

    assert catalogue.agent("writer") == catalogue.agent("writer@1")
    assert catalogue.agent("writer@2") is None
    assert catalogue.agent("../pyproject") is None
    assert "writer" in catalogue.names()


def test_references_are_read_strictly():
    assert read_reference("poet@12") == ("poet", 12)
    assert read_reference("poet") == ("poet", None)
    assert read_reference("poet@٣") is None
