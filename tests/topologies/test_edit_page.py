"""The editor as a browser without JavaScript meets it: plain forms for everything, and nothing that is lost."""

from __future__ import annotations

import contextlib
import html
import json
import re
import sys
from random import Random

import pytest
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse

import workbench.engine.nodes
from workbench.catalog.services import starters_load as agents_load
from workbench.engine.nodes import NODES
from workbench.topologies.drafts import Asked, draft_change, draft_open, draft_redo, draft_undo
from workbench.topologies.editing import schemas
from workbench.topologies.editing.state import CommandRefused
from workbench.topologies.models import DraftStep, TopologyDraft
from workbench.topologies.services import topology_delete, topology_save
from workbench.topologies.store import Author

pytestmark = pytest.mark.django_db

REVIEWED = {
    "json_schema": {
        "type": "object",
        "required": ["verdict"],
        "properties": {"verdict": {"enum": ["accept", "revise"]}},
    }
}


@pytest.fixture(autouse=True)
def _repository(repository):
    """Every test has a repository of its own."""


class Editor:
    """The editor of one topology, used by forms."""

    def __init__(self, client: Client, name: str = "one") -> None:
        self.client, self.name = client, name

    def url(self, name: str, *more: str) -> str:
        return reverse(f"topology_{name}", args=[self.name, *more])

    @property
    def state(self) -> dict:
        return self.client.get(self.url("edit_state")).json()

    @property
    def document(self) -> dict:
        return self.state["document"]

    def page(self, **query) -> str:
        return self.client.get(self.url("edit"), query).content.decode()

    def send(self, **fields):
        state = self.state
        return self.client.post(self.url("edit_form"), {"draft": state["draft"], "version": state["version"], **fields})

    def do(self, *commands: dict):
        return self.send(command=json.dumps(list(commands)))

    def fields(self, kind: str, name: str, **values):
        """Fill in fields of the panel, by their path."""
        return self.send(**{kind: name}, has=list(values), **{f"v:{path}": value for path, value in values.items()})

    def commands(self, *commands: dict, version: int | None = None, **more):
        """As the page's script asks."""
        state = self.state
        asked = {"draft": state["draft"], "version": state["version"] if version is None else version, **more}
        asked |= {"commands": list(commands)} if commands else {}
        return self.client.post(self.url("edit_commands"), json.dumps(asked), content_type="application/json")

    def commit(self, message: str = "Because"):
        return self.client.post(self.url("edit_commit"), {"version": self.state["version"], "message": message})

    def codes(self) -> list[str]:
        return [problem["code"] for problem in self.state["problems"]]


@pytest.fixture
def editor(client, make) -> Editor:
    topology_save("one", make())
    return Editor(client)


def test_a_topology_is_built_from_nothing_with_forms_alone(client, make, store):
    agents_load()
    topology_save("one", make())
    editor = Editor(client)

    editor.send(chosen="delete", nodes="answer")
    editor.send(do="add_node", type="agent", agent="writer")
    added = editor.send(do="add_node", type="agent", agent="reviewer", at_view="list", **{"from": "writer"})
    assert added.url.endswith("?view=list&node=reviewer")
    editor.send(do="add_node", type="passthrough", id="publish", **{"from": "reviewer"})
    editor.send(do="connect", **{"from": "reviewer", "to": "writer"})
    editor.fields("node", "publish", **{"@end": "on"})
    editor.send(node="writer", has="@end")
    editor.send(node="reviewer", has="/output", **{"form:/output": "1"})
    editor.fields("node", "reviewer", **{"/output/json_schema": json.dumps(REVIEWED["json_schema"])})
    for edge, verdict in (("e3", "revise"), ("e2", "accept")):
        editor.send(edge=edge, has="/when", **{"op:/when": "field"})
        when = {"op:/when": "field", "field:/when": "verdict", "cmp:/when": "equals", "operand:/when": verdict}
        editor.send(edge=edge, has="/when", **when, **{"case:/when": "on"})
    editor.fields("edge", "e3", **{"/max": "4"})

    assert editor.state["problems"] == []
    assert editor.commit("Built").url == reverse("topology_detail", args=["one"])
    saved = json.loads(store.read("one").text)
    assert saved["nodes"]["reviewer"] == {"type": "agent", "agent": "reviewer", "output": REVIEWED}
    assert saved["edges"][2] == {
        "from": "reviewer",
        "to": "writer",
        "when": {"field": "verdict", "equals": "revise"},
        "max": 4,
    }
    assert (saved["start"], saved["end"]) == (["writer"], ["publish"])


def test_two_hundred_changes_are_undone_and_done_again_whoever_holds_the_draft(editor):
    first = editor.document
    author = TopologyDraft.objects.get(name="one").author
    for number in range(200):
        draft = draft_open("one", author)
        draft_change(draft, Asked(draft.version, [{"do": "set", "path": "/vars/n", "value": number}]))
    last = editor.document

    for _ in range(200):
        draft = draft_open("one", author)
        draft_undo(draft, draft.version)
    assert editor.document == first
    assert editor.state["undo"] is None
    for _ in range(200):
        draft = draft_open("one", author)
        draft_redo(draft, draft.version)
    assert editor.document == last
    assert editor.state["redo"] is None


EVERY_KIND = [
    {"do": "add_node", "type": "vote", "from": "answer"},
    {"do": "add_node", "type": "agent", "at": [3, 4]},
    {"do": "connect", "from": "answer", "to": "answer"},
    {"do": "set", "node": "answer", "path": "/params/top_p", "value": 0.5},
    {"do": "rename", "node": "answer", "to": "reply"},
    {"do": "rename", "node": "reply", "to": "answer"},
    {"do": "mark", "node": "answer", "end": False},
    {"do": "move", "places": {"answer": [7, 7]}},
    {"do": "duplicate", "nodes": ["answer"]},
    {"do": "reorder", "edge": 0, "to": 1},
    {"do": "set", "edge": 0, "path": "/max", "value": 3},
    {"do": "delete", "nodes": ["answer"], "edges": []},
    {"do": "delete", "edges": [0]},
    {"do": "layout"},
    {"do": "set_text", "text": "{ broken"},
    {"do": "drop_text"},
    {
        "do": "set_text",
        "text": '{"nodes": {"answer": {"type": "agent"}, "x": 3}, "edges": [{"from": "answer", "to": "x"}]}',
    },
]


@pytest.mark.parametrize("seed", range(4))
def test_whatever_was_done_undoing_all_of_it_gives_the_start(editor, seed):
    first, author, chance = editor.state, TopologyDraft.objects.get(name="one").author, Random(seed)
    done = 0
    for _ in range(60):
        draft = draft_open("one", author)
        with contextlib.suppress(CommandRefused):
            draft_change(draft, Asked(draft.version, chance.choices(EVERY_KIND, k=chance.randint(1, 2))))
            done += 1
    assert done > 10

    for _ in range(done):
        draft = draft_open("one", author)
        draft_undo(draft, draft.version)

    last = editor.state
    assert (last["document"], last["keys"], last["broken"], last["undo"]) == (
        first["document"],
        first["keys"],
        None,
        None,
    )
    assert last["shown"]["places"] == first["shown"]["places"]


def test_typing_on_is_one_step_and_never_uses_up_what_can_be_undone(editor):
    editor.do({"do": "add_node", "type": "vote"})
    for length in range(1, 60):
        editor.commands({"do": "set", "node": "vote", "path": "/label", "value": "x" * length}, typing=True)

    assert DraftStep.objects.count() < 45
    assert editor.commands(undo=True).json()["patch"]["nodes"]["vote"] == {"type": "vote"}


def test_a_change_of_an_older_state_is_a_conflict_and_merged_only_when_asked(editor):
    seen = editor.state["version"]
    editor.do({"do": "set", "path": "/description", "value": "theirs"})

    late = editor.commands({"do": "set", "node": "answer", "path": "/label", "value": "Mine"}, version=seen)

    assert late.status_code == 409
    said = late.json()
    assert (said["merge"], said["lost"], said["changed"]) == (True, [], "description")
    assert said["theirs"]["document"]["description"] == "theirs"
    assert "label" not in editor.document["nodes"]["answer"]
    merged = editor.commands(*said["mine"], version=seen, merge=True).json()
    assert merged["document"]["description"] == "theirs"
    assert merged["document"]["nodes"]["answer"]["label"] == "Mine"


def test_a_stale_form_shows_both_sides_and_one_button_puts_it_on_top(editor):
    state = editor.state
    editor.do({"do": "set", "path": "/description", "value": "theirs"})
    form = {"draft": state["draft"], "version": state["version"], "node": "answer", "has": "/label", "v:/label": "Mine"}

    page = editor.client.post(editor.url("edit_form"), form)

    assert page.status_code == 409
    text = page.content.decode()
    assert "Nothing was overwritten" in text
    assert 'name="v:/label" value="Mine"' in text
    editor.client.post(editor.url("edit_form"), form | {"merge": "1"})
    assert (editor.document["description"], editor.document["nodes"]["answer"]["label"]) == ("theirs", "Mine")


def test_nothing_is_committed_until_it_is_asked_for_with_a_message(editor, store):
    editor.do({"do": "set", "path": "/description", "value": "Kept"})

    assert len(store.history("one")) == 1
    assert "Say in a few words" in editor.commit("").content.decode()
    assert editor.commit("Now").status_code == 302
    assert store.history("one")[0].message == "Now"
    assert editor.state["committed"]["same"]
    assert "Nothing was changed" in str(list(get_messages(editor.commit("Again").wsgi_request))[-1])


def test_errors_refuse_the_commit_and_keep_draft_and_message(editor, store):
    editor.do({"do": "set", "path": "/end", "value": ["nobody"]})

    text = editor.commit("My <message>").content.decode()

    assert "1 error must be mended first" in text
    assert 'value="My &lt;message&gt;"' in text
    assert editor.document["end"] == ["nobody"]
    assert len(store.history("one")) == 1


def test_a_commit_of_somebody_else_is_shown_and_merged_and_nothing_is_overwritten(editor, make, store):
    editor.do({"do": "set", "node": "answer", "path": "/label", "value": "Mine"})
    theirs = topology_save("one", make(description="Theirs"), "Their reason", "Bob")

    refused = editor.commit()

    assert refused.status_code == 409
    text = refused.content.decode()
    assert "Their reason" in text
    assert "+  &quot;description&quot;: &quot;Theirs&quot;" in text
    assert store.read("one").commit == theirs.commit
    editor.client.post(editor.url("edit_merge"), {"version": editor.state["version"], "win": "mine"})
    assert editor.commit("Both").status_code == 302
    saved = json.loads(store.read("one").text)
    assert (saved["description"], saved["nodes"]["answer"]["label"]) == ("Theirs", "Mine")


def test_an_untouched_draft_follows_what_is_committed(editor, make):
    editor.page()
    topology_save("one", make(description="Newer"))

    assert editor.document["description"] == "Newer"
    assert editor.state["committed"]["same"]


def test_the_draft_of_a_deleted_topology_is_kept_and_its_commit_brings_it_back(editor, store):
    editor.do({"do": "set", "path": "/description", "value": "Precious"})
    topology_delete("one")

    assert "was deleted" in editor.page()
    assert editor.commit("Back").status_code == 302
    assert "Precious" in store.read("one").text


def test_going_back_to_what_is_committed_can_be_undone(editor):
    committed = editor.document
    editor.do({"do": "set", "path": "/description", "value": "Mine"})

    editor.client.post(editor.url("edit_discard"), {"version": editor.state["version"]})

    assert editor.document == committed
    editor.send(undo="1")
    assert editor.document["description"] == "Mine"


def test_a_form_of_another_topologies_draft_changes_nothing(editor, client, make):
    topology_save("two", make("two"))
    other = Editor(client, "two").state

    answer = client.post(
        editor.url("edit_form"), {"draft": other["draft"], "version": 1, "has": "/description", "v:/description": "B"}
    )

    assert answer.status_code == 302
    assert editor.document["description"] == "One agent."
    assert TopologyDraft.objects.get(name="two").version == 1


def test_a_text_that_can_not_be_read_is_kept_over_reloads_with_its_line_marked(editor):
    editor.send(do="set_text", text='{\r\n  "format": oops\r\n}', syntax="json", at_view="text")

    page = editor.page()

    assert "&quot;format&quot;: oops" in page
    assert "Line 2" in page
    assert "answer" in editor.page(view="list")
    assert "can’t be read" in editor.page(view="list")
    assert "must be" not in editor.commit().content.decode()
    editor.send(command='[{"do": "drop_text"}]')
    assert editor.state["broken"] is None


def test_the_text_may_be_yaml_and_the_lines_are_those_of_what_was_typed(editor):
    yaml = editor.client.get(editor.url("edit_part", "text"), {"syntax": "yaml"}).content.decode()
    assert "type: agent" in yaml

    state = editor.state
    typed = "format: workbench.topology/1\nname: one\nstart: [answer]\nend: [nobody]\nnodes:\n"
    typed += "  answer: {type: agent, prompt: x, model: scripted/echo}\n"
    answer = editor.client.post(
        editor.url("edit_form"),
        {"draft": state["draft"], "version": state["version"], "do": "set_text", "text": typed, "syntax": "yaml"},
        headers={"accept": "application/json"},
    ).json()

    first = answer["marks"][0]
    assert (first["line"], first["severity"]) == (4, "error")
    assert editor.document["end"] == ["nobody"]


BREAKS = {
    "unknown_key": {"do": "set", "node": "answer", "path": "/promt", "value": "x"},
    "unknown_type": {"do": "set", "node": "answer", "path": "/type", "value": "agnet"},
    "unknown_agent": {"do": "set", "node": "answer", "path": "/agent", "value": "writre"},
    "edge_to_nowhere": {"do": "set", "path": "/edges/0/to", "value": "lsat"},
    "no_start": {"do": "set", "path": "/start", "value": []},
    "no_end": {"do": "set", "path": "/end", "value": []},
    "unreachable": {"do": "add_node", "type": "passthrough", "id": "lost"},
    "identical_edges": {"do": "set", "path": "/edges/-", "value": {"from": "answer", "to": "last"}},
    "edge_without_effect": {"do": "set", "edge": 0, "path": "/carry", "value": False},
    "never_has_value": {"do": "set", "node": "answer", "path": "/prompt", "value": "{{ nodes.side.output }}"},
    "may_have_no_value": {"do": "set", "node": "last", "path": "/prompt", "value": "{{ nodes.side.output }}"},
    "unknown_name": {"do": "set", "node": "answer", "path": "/prompt", "value": "{{ vars.tone }}"},
    "endless_cycle": {"do": "connect", "from": "last", "to": "answer"},
    "name_differs": {"do": "set", "path": "/name", "value": "two"},
    "bad_id": {"do": "set", "path": "/nodes/my node", "value": {"type": "passthrough"}},
    "missing_key": {"do": "set", "path": "/format", "unset": True},
    "unknown_provider": {"do": "set", "node": "answer", "path": "/model", "value": "olama/x"},
    "no_model": {"do": "set", "path": "/defaults/model", "unset": True},
}


BEFORE = {
    "edge_without_effect": {"do": "set", "edge": 0, "path": "/trigger", "value": False},
    "endless_cycle": {"do": "set", "edge": 1, "path": "/when", "unset": True},
}


@pytest.fixture
def breakable(client, make) -> Editor:
    agents_load()
    nodes = {
        "answer": {"type": "agent", "prompt": "{{ instance.problem }}"},
        "side": {"type": "agent", "prompt": "{{ inbox }}"},
        "last": {"type": "agent", "prompt": "{{ inbox }}"},
    }
    when = {"contains_any": ["yes"]}
    edges = [
        {"from": "answer", "to": "last"},
        {"from": "answer", "to": "side", "when": when},
        {"from": "side", "to": "last"},
    ]
    topology_save("one", make(nodes=nodes, edges=edges, end=["last"]))
    return Editor(client)


@pytest.mark.parametrize("code", BREAKS)
def test_what_is_broken_is_said_at_its_place_and_mended_by_an_offered_fix(breakable, code):
    if code in BEFORE:
        breakable.do(BEFORE[code])
    breakable.do(BREAKS[code])
    assert code in breakable.codes()
    found = next(problem for problem in breakable.state["problems"] if problem["code"] == code)

    assert found["fixes"], found["message"]
    assert breakable.do(*found["fixes"][0]["commands"]).status_code == 302

    assert code not in breakable.codes()


PLUGIN = '''
from typing import Literal

from pydantic import Field

from workbench.engine.nodes import Node, NodeConfig
from workbench.engine.spec import NodeName, Prompt, Spec


class Weight(Spec):
    """How heavy it is."""

    grams: int = Field(5, ge=1)


class Config(NodeConfig):
    flavour: Literal["sweet", "sour"] = "sweet"
    story: Prompt | None = None
    friends: tuple[NodeName, ...] = ()
    weight: Weight | None = None
    loud: bool = False


class Pear(Node):
    """A pear for a test."""

    Config = Config
'''


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """One more node type, in a folder of its own."""
    (tmp_path / "pear.py").write_text(PLUGIN)
    monkeypatch.setattr(workbench.engine.nodes, "__path__", [*workbench.engine.nodes.__path__, str(tmp_path)])
    NODES.__dict__.pop("_names", None)
    yield
    NODES.__dict__.pop("_names", None)
    NODES._loaded.pop("pear", None)
    sys.modules.pop("workbench.engine.nodes.pear", None)
    schemas._node_schema.cache_clear()


def test_a_node_type_from_a_plugin_has_a_form_that_nobody_wrote(plugin, editor):
    editor.do({"do": "add_node", "type": "pear", "id": "pear", "from": "answer"})

    page = editor.page(view="list", node="pear")

    labels = re.findall(r"<(?:label|legend|summary)[^>]*>\s*(?:<input[^>]*>)?\s*([A-Z][a-z]+)", page)
    assert {"Flavour", "Story", "Friends", "Weight", "Loud"} <= set(labels)
    assert '<option value="&quot;sour&quot;">sour</option>' in page
    editor.fields(
        "node", "pear", **{"/flavour": '"sour"', "/story": "{{ inbox }}", "/friends": ["-", "answer"], "/loud": "on"}
    )
    editor.send(node="pear", has="/weight", **{"form:/weight": "0"})
    editor.fields("node", "pear", **{"/weight/grams": "12"})
    pear = {"type": "pear", "flavour": "sour", "story": "{{ inbox }}", "friends": ["answer"], "loud": True}
    assert editor.document["nodes"]["pear"] == pear | {"weight": {"grams": 12}}
    editor.do({"do": "rename", "node": "answer", "to": "reply"})
    assert editor.document["nodes"]["pear"]["friends"] == ["reply"]


def test_what_is_unreadable_in_a_field_stays_there_and_is_a_problem(editor):
    editor.send(node="answer", has="/output", **{"form:/output": "1"})

    editor.fields("node", "answer", **{"/output/json_schema": '{"type": '})

    assert editor.document["nodes"]["answer"]["output"]["json_schema"] == '{"type": '
    assert "&quot;type&quot;: " in editor.page(view="list", node="answer")
    assert editor.state["problems"][0]["field"].startswith("/output")


def test_the_fields_of_the_topology_itself_are_a_form_too(editor):
    editor.fields(
        "top", "1", **{"/description": "New", "/limits/model_calls": "7", "/defaults/params/temperature": "0,5"}
    )
    editor.send(top="1", has="/limits/tokens", **{"none:/limits/tokens": "on"})
    editor.send(top="1", **{"nk:/vars": "tone", "nv:/vars": "plain", "has": "-"})

    document = editor.document
    assert document["description"] == "New"
    assert document["limits"] == {"model_calls": 7, "tokens": None}
    assert document["defaults"]["params"] == {"temperature": 0.5}
    assert document["vars"] == {"tone": "plain"}


def test_a_condition_is_a_sentence_and_is_tried_on_an_output(editor):
    editor.do({"do": "add_node", "type": "passthrough", "id": "out", "from": "answer"})
    whens = {"all": [{"field": "verdict", "equals": "accept"}, {"not": {"contains_any": ["no"]}}]}
    editor.do({"do": "set", "edge": "e1", "path": "/when", "value": whens})

    assert "It fires if: verdict is accept and not (has no)." in editor.page(view="list", edge="e1")
    tried = editor.client.post(
        editor.url("edit_condition"), {"edge": "e1", "sample": '{"verdict": "accept", "why": "no"}'}
    ).content.decode()
    assert "It does not fire." in tried
    assert "✓ verdict is accept" in tried
    assert "✗ not (has no)" in tried


def test_a_prompt_is_shown_as_it_would_be_sent(editor):
    editor.do(
        {"do": "add_node", "type": "agent", "id": "second", "from": "answer"},
        {
            "do": "set",
            "node": "second",
            "path": "/prompt",
            "value": "<b> {{ instance.problem }} {{ nodes.answer.output }} {{ inbox }}",
        },
    )

    page = editor.client.get(editor.url("edit_preview"), {"node": "second", "field": "/prompt"}).content.decode()

    assert "&lt;b&gt; What is to be solved stands here. ‹what answer said› ‹what answer said›" in page
    assert re.search(r"About\s+\d+\s+tokens", page)
    editor.do({"do": "set", "node": "second", "path": "/prompt", "value": "{{ nodes.nobody.output }}"})
    assert "has no value here" in editor.client.get(editor.url("edit_preview"), {"node": "second"}).content.decode()


def test_a_dry_run_says_which_edges_can_fire(editor):
    editor.do(
        {"do": "add_node", "type": "passthrough", "id": "out", "from": "answer"},
        {"do": "mark", "node": "out", "end": True},
    )

    found = editor.client.get(editor.url("edit_dry_run"), headers={"accept": "application/json"}).json()

    assert [(edge["key"], edge["fired"]) for edge in found["edges"]] == [("e1", True)]
    assert "1 of 1 edge can fire." in editor.client.get(editor.url("edit_dry_run")).content.decode()
    editor.do({"do": "set", "path": "/start", "value": []})
    assert "Mend the errors first." in editor.client.get(editor.url("edit_dry_run")).content.decode()


HOSTILE = {
    "5 MB": '{"a": "' + "x" * (5 * 1024 * 1024) + '"}',
    "2,000 deep": "[" * 2000 + "]" * 2000,
    "duplicate": '{"a": 1, "a": 2}',
    "NUL": '{"a": "\\u0000"}',
    "surrogate": '{"\\ud800": 1}',
    "list": "[]",
    "nothing": "",
    "markup": '{"format": "<script>alert(1)</script>", "nodes": {"<script>": {"label": "</script><script>"}}}',
    "agents": '{"nodes": {"a": {"agent": "x/y", "params": [], "tools": {}}, "b": 3, "c": {"type": ["x"]}}, '
    '"edges": [3, {"from": 1, "when": []}]}',
    "nodes": '{"name": "one", "start": "a", "end": 3, "nodes": [], "edges": {}, "layout": [], "limits": 3, "vars": []}',
    "layout": '{"nodes": {"a": {"type": "agent"}, "b": {}}, "layout": {"a": ["x", 1e300], "b": [1]}, '
    '"edges": [{"from": "a", "to": "b", "when": {"all": [3]}}]}',
}  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_whatever_stands_in_the_text_every_view_and_panel_opens(editor, text):
    assert editor.send(do="set_text", text=text, syntax="json").status_code == 302

    pages = [editor.page(view=view) for view in ("canvas", "list", "text")]
    state = editor.state
    pages += [editor.page(view="list", node=node) for node in state["document"].get("nodes") or {}]
    pages += [editor.page(view="list", edge=edge) for edge in state["keys"]]
    pages.append(editor.commit().content.decode())

    for page in pages:
        assert "<script>alert" not in page
        assert "</script><script>" not in page
    assert state["counts"]["errors"]


def test_a_large_topology_is_listed_page_by_page(editor):
    editor.do(*({"do": "add_node", "type": "passthrough", "id": f"p{number}"} for number in range(150)))

    first, second = editor.page(view="list"), editor.page(view="list", rows="2")

    assert 'id="row-p50"' in first
    assert 'id="row-p120"' in second
    assert 'id="row-p120"' not in first
    assert 'id="row-p140"' in editor.page(view="list", node="p140"), "the page of what is chosen"


def test_nodes_go_as_text_from_one_topology_into_another(editor, client, make):
    editor.do({"do": "add_node", "type": "vote", "id": "judge", "from": "answer"})
    topology_save("two", make("two"))
    page = client.get(editor.url("edit_fragment"), {"nodes": ["answer", "judge"]}).content.decode()
    text = html.unescape(re.search(r"<textarea[^>]*>\n(.*?)</textarea>", page, re.DOTALL)[1])

    Editor(client, "two").send(do="paste", fragment=text)

    document = Editor(client, "two").document
    assert list(document["nodes"]) == ["answer", "answer2", "judge"]
    assert document["edges"] == [{"from": "answer2", "to": "judge"}]


def test_a_file_that_is_no_topology_is_opened_as_text_and_mended(client, store, make):
    store.save("one", '{"nodes": ', message="Outside", author=Author("Mallory"))
    editor = Editor(client)
    assert "{&quot;nodes&quot;: " in editor.page()

    editor.send(do="set_text", text=make(), syntax="json")

    assert editor.commit("Mended").status_code == 302
    assert json.loads(store.read("one").text) == json.loads(make())


def test_what_changes_something_is_refused_by_get(editor):
    for name in ("edit_form", "edit_commands", "edit_commit", "edit_merge", "edit_discard", "edit_condition"):
        assert editor.client.get(editor.url(name)).status_code == 405
    assert editor.client.get(editor.url("edit_part", "secrets")).status_code == 404
    assert editor.client.get(reverse("topology_edit", args=["nothing"])).status_code == 404
