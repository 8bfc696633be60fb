"""Pages of agents, as a browser without JavaScript meets them."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from workbench.catalog.models import Agent, AgentVersion
from workbench.catalog.services import agent_save

pytestmark = pytest.mark.django_db

BLANK = {"output": "text", "message": "", "expected": "0"}


def saved(name: str = "poet", **more) -> AgentVersion:
    return agent_save(
        json.dumps({"format": "workbench.agent/1", "name": name, "role": "Writer", "prompt": "Rhyme."} | more)
    )


def test_an_empty_catalogue_says_what_an_agent_is_and_leads_on(client):
    page = client.get(reverse("agent_list")).content.decode()

    assert "No agents yet" in page
    assert reverse("agent_create") in page


def test_agents_are_searched_by_words_and_role(client):
    saved(description="Writes sonnets")
    saved("clerk", role="Planner")

    by_word = client.get(reverse("agent_list"), {"q": "SONNETS writes"}).content.decode()
    by_role = client.get(reverse("agent_list"), {"role": "Planner"}).content.decode()
    none = client.get(reverse("agent_list"), {"q": "<script>"}).content.decode()

    assert "/agents/poet/" in by_word
    assert "/agents/clerk/" not in by_word
    assert "/agents/clerk/" in by_role
    assert "/agents/poet/" not in by_role
    assert "No agent fits" in none
    assert "<script>" not in none


def test_an_agent_shows_prompts_tools_schema_provenance_and_versions(client):
    saved()
    saved(
        system="You <b>rhyme</b>.",
        tools=["read_file"],
        output={"json_schema": {"type": "object", "required": ["verse"]}},
        provenance={"project": "somewhere", "licence": "MIT"},
    )

    page = client.get(reverse("agent_detail", args=["poet"])).content.decode()

    for words in ("You &lt;b&gt;rhyme&lt;/b&gt;.", "read_file", "&quot;verse&quot;", "somewhere", "MIT"):
        assert words in page
    assert reverse("agent_version", args=["poet", 1]) in page
    assert reverse("agent_topologies", args=["poet"]) in page


def test_a_form_with_every_field_makes_the_whole_document(client):
    fields = {
        "name": "poet", "title": "Poët", "role": "Writer", "description": "Rhymes.", "tags": "verse, short",
        "system": "You rhyme.\r\nAlways.", "prompt": "{{ instance.problem }}", "expects": "A subject.", "gives": "A verse.",
        "output": "json_schema", "json_schema": '{"type": "object"}', "repairs": "1", "model": "ollama/qwen3:8b",
        "temperature": "0.5", "top_p": "0.9", "top_k": "40", "seed": "7", "num_ctx": "4096", "max_output_tokens": "99",
        "thinking": "low", "stop": "END\r\nSTOP", "tools": [], "project": "p", "licence": "MIT", "commit": "abc",
        "taken": "the idea", "message": "Begin", "expected": "0",
    }  # fmt: skip

    answer = client.post(reverse("agent_create"), fields)

    assert answer.url == reverse("agent_detail", args=["poet"])
    assert AgentVersion.objects.get().spec == {
        "format": "workbench.agent/1", "name": "poet", "title": "Poët", "role": "Writer", "description": "Rhymes.",
        "system": "You rhyme.\nAlways.", "prompt": "{{ instance.problem }}", "model": "ollama/qwen3:8b",
        "params": {"temperature": 0.5, "top_p": 0.9, "top_k": 40, "seed": 7, "stop": ["END", "STOP"], "num_ctx": 4096,
                   "max_output_tokens": 99, "thinking": "low"},
        "output": {"json_schema": {"type": "object"}, "repairs": 1}, "expects": "A subject.", "gives": "A verse.",
        "tags": ["verse", "short"],
        "provenance": {"project": "p", "licence": "MIT", "commit": "abc", "taken": "the idea"},
    }  # fmt: skip


def test_the_edit_form_begins_with_what_the_agent_says_and_saving_it_unchanged_changes_nothing(client):
    saved(params={"temperature": 0, "stop": ["A", "B"], "thinking": False}, output={"json_schema": {"type": "string"}})
    form = client.get(reverse("agent_edit", args=["poet"])).context["form"]
    fields = {field.name: field.value() for field in form if field.value() not in (None, [])}

    client.post(reverse("agent_edit", args=["poet"]), fields)

    assert AgentVersion.objects.count() == 1


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("name", "a b", "does not fit"),
        ("name", "", "required"),
        ("role", "", "required"),
        ("temperature", "9", "does not fit"),
        ("temperature", "warm", "Enter a number"),
        ("model", "qwen", "does not fit"),
        ("prompt", "{{ nonsense }}", "no name"),
        ("prompt", "{% if %}", "line 1"),
        ("tools", ["shovel"], "shovel"),
    ],
)
def test_what_is_wrong_stands_at_its_field_and_nothing_is_lost(client, field, value, sentence):
    fields = BLANK | {"name": "poet", "role": "Writer", "prompt": "Rhyme.", "system": "KEPT", field: value}

    page = client.post(reverse("agent_create"), fields)

    assert page.status_code == 200
    assert sentence in " ".join(page.context["form"].errors.get(field, []))
    assert "KEPT" in page.content.decode()
    assert not Agent.objects.exists()


@pytest.mark.parametrize("schema", ["{", "", '{"type": "objekt"}', '{"a": 1, "a": 2}', "3"])
def test_a_json_schema_that_is_none_is_a_sentence_at_its_field(client, schema):
    fields = BLANK | {
        "name": "poet",
        "role": "Writer",
        "prompt": "Rhyme.",
        "output": "json_schema",
        "json_schema": schema,
    }

    page = client.post(reverse("agent_create"), fields)

    assert page.context["form"].errors["json_schema"]


def test_a_stale_save_is_a_conflict_and_mine_is_kept_until_i_confirm(client):
    saved()
    saved(system="Theirs")
    fields = BLANK | {"role": "Writer", "prompt": "Mine", "expected": "1"}

    page = client.post(reverse("agent_edit", args=["poet"]), fields).content.decode()
    confirmed = client.post(reverse("agent_edit", args=["poet"]), fields | {"expected": ["1", "2"]})

    assert "Nothing was overwritten" in page
    assert ">\nMine</textarea>" in page
    assert confirmed.status_code == 302
    assert AgentVersion.objects.first().spec["prompt"] == "Mine"


def test_a_copy_begins_as_the_other_agent_under_a_new_name(client):
    saved(system="You rhyme.")

    form = client.get(reverse("agent_create"), {"copy": "poet"}).context["form"]

    assert form.initial["name"] == "poet-copy"
    assert form.initial["system"] == "You rhyme."


def test_an_old_version_says_that_a_newer_one_is_in_use(client):
    saved()
    saved(system="New")

    page = client.get(reverse("agent_version", args=["poet", 1])).content.decode()

    assert "Version 2" in page
    assert "poet@1" in page


@pytest.mark.parametrize("name", ["nobody", "a b", "<script>", "x" * 300])
def test_what_does_not_exist_is_not_found(client, name):
    assert client.get(reverse("agent_detail", args=[name])).status_code == 404
    assert client.get(reverse("agent_edit", args=[name])).status_code == 404
    assert client.get(reverse("agent_version", args=[name, 1])).status_code == 404


@pytest.mark.parametrize("number", [0, 2, 10**30])
def test_a_version_that_there_never_was_is_not_found(client, number):
    saved()

    assert client.get(f"/agents/poet/versions/{number}/").status_code == 404
