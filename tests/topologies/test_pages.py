"""Pages of topologies, as a browser without JavaScript meets them."""

from __future__ import annotations

import json
from io import BytesIO
from zipfile import ZipFile

import pytest
from django.urls import reverse

from workbench.catalog.services import agent_save
from workbench.topologies.models import Topology
from workbench.topologies.services import topology_save
from workbench.topologies.store import Author

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _repository(repository):
    """Every test has a repository of its own."""


def test_an_empty_list_says_what_a_topology_is_and_leads_on(client):
    page = client.get(reverse("topology_list")).content.decode()

    assert "No topologies yet" in page
    assert reverse("topology_create") in page


def test_the_list_shows_picture_size_problems_and_last_change(client, make, store):
    topology_save("one", make(description="A <b>bold</b> one"), "First", "Ada")
    store.save("broken", "{", message="Oops", author=Author("Bob"))

    page = client.get(reverse("topology_list")).content.decode()

    assert "A &lt;b&gt;bold&lt;/b&gt; one" in page
    assert "<svg" in page
    assert "1 node" in page
    assert "by Ada" in page
    assert "1 error" in page


def test_the_list_is_searched_by_name_description_and_agent(client, make):
    topology_save("one", make(description="Writes poems"))
    topology_save("two", make("two", description="Counts"))

    found = client.get(reverse("topology_list"), {"q": "POEMS"}).content.decode()
    none = client.get(reverse("topology_list"), {"q": "<script>"}).content.decode()

    assert "/topologies/one/" in found
    assert "/topologies/two/" not in found
    assert "No topology fits" in none
    assert "<script>" not in none


def test_a_topology_is_created_blank_runs_at_once_and_is_edited_next(client):
    answer = client.post(reverse("topology_create"), {"name": "fresh", "source": ""})

    assert answer.url == reverse("topology_edit", args=["fresh"])
    assert Topology.objects.get(name="fresh").errors == 0


def test_a_topology_is_created_as_a_copy(client, make, store):
    topology_save("one", make(description="To be copied"))

    client.post(reverse("topology_create"), {"name": "two", "source": "one"})

    assert json.loads(store.read("two").text) == json.loads(make("two", description="To be copied"))


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("", "Give it a name"),
        ("a b", "Use letters"),
        ("../x", "Use letters"),
        ("one", "already"),
        ("ONE", "upper and lower"),
    ],
)
def test_a_name_that_can_not_be_is_refused_at_its_field(client, make, name, sentence):
    topology_save("one", make())

    page = client.post(reverse("topology_create"), {"name": name, "source": ""})

    assert page.status_code == 200
    assert sentence in page.content.decode()


HOSTILE = {
    "5 MB": '{"a": "' + "x" * (5 * 1024 * 1024) + '"}',
    "2,000 deep": "[" * 2000 + "]" * 2000,
    "duplicate": '{"a": 1, "a": 2}',
    "NaN": '{"a": NaN}',
    "NUL": '{"a": "\\u0000"}',
    "surrogate": '{"\\ud800": 1}',
    "list": "[]",
    "number": "9" * 5000,
    "nothing": "",
    "markup": '{"format": "<script>alert(1)</script>"}',
    "agents": '{"nodes": {"a": {"agent": "x/y"}, "b": {"agent": ""}, "c": {"agent": "<script>"}, "d": {"agent": 3}}}',
    "nodes": '{"format": "workbench.topology/1", "name": "one", "start": ["a"], "end": [], "nodes": {"a": 3}, "edges": {}}',
}


@pytest.mark.parametrize("text", list(HOSTILE.values())[1:], ids=list(HOSTILE)[1:])
def test_hostile_files_committed_outside_can_be_looked_at_and_mended(client, make, store, text):
    store.save("one", text, message="Outside", author=Author("Mallory"))

    for name in ("topology_list", "topology_detail", "topology_edit", "topology_history", "topology_picture"):
        arguments = [] if name == "topology_list" else ["one"]
        assert client.get(reverse(name, args=arguments)).status_code == 200


def test_the_page_of_a_topology_shows_facts_lists_and_json(client, make):
    agent_save(json.dumps({"format": "workbench.agent/1", "name": "poet", "role": "Writer", "prompt": "Rhyme."}))
    topology_save("one", make(nodes={"answer": {"type": "agent", "agent": "poet"}}, limits={"model_calls": 7}))

    page = client.get(reverse("topology_detail", args=["one"])).content.decode()

    assert reverse("agent_detail", args=["poet"]) in page
    assert "scripted/echo" in page
    assert "model_calls 7" in page
    assert "&quot;limits&quot;" in page


def test_the_history_says_what_changed_in_words_and_offers_every_version(client, make):
    first = topology_save("one", make(), "Begin", "Ada")
    more = {"answer": {"type": "agent", "prompt": "Hi"}, "last": {"type": "passthrough"}}
    topology_save("one", make(nodes=more, edges=[{"from": "answer", "to": "last"}], end=["last"]), "Grow", "Bob")

    page = client.get(reverse("topology_history", args=["one"])).content.decode()

    assert "created: 1 node, 0 edges" in page
    assert "+last · changed answer · edges 0 → 1 · end" in page
    assert reverse("topology_version", args=["one", first.commit]) in page


def test_an_old_version_is_shown_with_what_changed_since(client, make):
    first = topology_save("one", make(description="Old"), "Begin", "Ada")
    topology_save("one", make(description="New"))

    page = client.get(reverse("topology_version", args=["one", first.commit])).content.decode()

    assert "Begin" in page
    assert "-  &quot;description&quot;: &quot;Old&quot;" in page
    assert "+  &quot;description&quot;: &quot;New&quot;" in page


def test_restoring_is_a_new_commit_with_the_old_text(client, make, store):
    first = topology_save("one", make(description="Old"))
    topology_save("one", make(description="New"))

    client.post(reverse("topology_restore", args=["one"]), {"commit": first.commit})

    assert len(store.history("one")) == 3
    assert store.read("one").text == store.read("one", first.commit).text
    assert Topology.objects.get(name="one").description == "Old"


def test_a_deleted_topology_leaves_the_list_and_comes_back_from_its_history(client, make, store):
    first = topology_save("one", make())

    client.post(reverse("topology_delete", args=["one"]))

    assert "Deleted topologies (1)" in client.get(reverse("topology_list")).content.decode()
    assert client.get(reverse("topology_detail", args=["one"])).url == reverse("topology_history", args=["one"])
    client.post(reverse("topology_restore", args=["one"]), {"commit": first.commit})
    assert client.get(reverse("topology_detail", args=["one"])).status_code == 200
    assert len(store.history("one")) == 3


def test_what_changes_something_is_refused_by_get(client, make):
    topology_save("one", make())

    for name in ("topology_restore", "topology_delete"):
        assert client.get(reverse(name, args=["one"])).status_code == 405


def test_commits_made_outside_appear_by_themselves(client, make, store):
    topology_save("one", make())
    store.save("two", make("two", description="From outside"), message="Outside", author=Author("Bob"))
    store.delete("one", message="Outside", author=Author("Bob"))

    page = client.get(reverse("topology_list")).content.decode()

    assert "From outside" in page
    assert "/topologies/one/" not in page.partition("Deleted topologies")[0]


def test_foreign_files_stand_below_the_list_with_the_reason(client, make, store, git):
    topology_save("one", make())
    (store.root / "notes.txt").write_text("hello")
    git("add", "-A")
    git("commit", "-qm", "Outside")

    page = client.get(reverse("topology_list")).content.decode()

    assert "notes.txt" in page
    assert "It is not a .json file." in page


def test_the_picture_is_a_file_that_brings_its_own_style(client, make):
    topology_save("one", make())

    answer = client.get(reverse("topology_picture", args=["one"]))

    assert answer["Content-Type"] == "image/svg+xml"
    assert b"<style>" in answer.content
    assert "default-src 'none'" in answer["Content-Security-Policy"]


@pytest.mark.parametrize("name", ["nobody", "a b", ".git", "<script>", "x" * 200])
def test_what_does_not_exist_is_not_found(client, name):
    for page in ("topology_detail", "topology_edit", "topology_history", "topology_picture"):
        assert client.get(reverse(page, args=[name])).status_code == 404
    assert client.get(reverse("topology_version", args=[name, "0" * 40])).status_code == 404
    assert client.get(reverse("topology_version", args=[name, "HEAD"])).status_code == 404


def test_where_an_agent_is_used_is_a_fragment_for_its_page(client, make):
    agent_save(json.dumps({"format": "workbench.agent/1", "name": "poet", "role": "Writer", "prompt": "Rhyme."}))
    topology_save("one", make(nodes={"answer": {"type": "agent", "agent": "poet@1"}}))

    used = client.get(reverse("agent_topologies", args=["poet"])).content.decode()
    unused = client.get(reverse("agent_topologies", args=["writer"])).content.decode()

    assert "/topologies/one/" in used
    assert "No topology uses writer" in unused


def test_use_makes_a_copy_of_a_starter_and_opens_it(client, make, store):
    topology_save("one", make())

    first = client.post(reverse("topology_use", args=["one"]))
    client.post(reverse("topology_use", args=["one_2"]))

    assert first.url == reverse("topology_edit", args=["one_2"])
    assert json.loads(store.read("one_3").text) == {**json.loads(make()), "name": "one_3"}


def test_topologies_are_found_by_what_they_show(client, make):
    topology_save("one", make())
    nodes = {name: {"type": "passthrough"} for name in ("a", "b")}
    edges = [{"from": "a", "to": "b"}, {"from": "b", "to": "a", "max": 2}]
    topology_save("looping", make("looping", nodes=nodes, edges=edges, start=["a"], end=["b"]))

    page = client.get(reverse("topology_list"), {"tag": "loop"}).content.decode()

    assert "looping" in page
    assert ">one<" not in page
    assert '<a href="?tag=loop" aria-current="true">loop' in page


def test_all_topologies_are_exported_as_one_archive(client, make, store):
    topology_save("one", make())
    topology_save("two", make("two"))

    archive = ZipFile(BytesIO(client.get(reverse("topology_export")).content))

    assert archive.namelist() == ["one.json", "two.json"]
    assert archive.read("two.json").decode() == store.read("two").text
