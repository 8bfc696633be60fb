"""The editor's commands: whatever is done can be undone, and a document says the same as JSON and as YAML."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.engine.documents import read_json
from workbench.topologies.editing.commands import apply
from workbench.topologies.editing.lines import line_of, pointer_lines
from workbench.topologies.editing.merging import states_merged
from workbench.topologies.editing.pasting import fragment_of
from workbench.topologies.editing.patches import state_patch
from workbench.topologies.editing.state import CommandRefused, pack, state_of, unpack
from workbench.topologies.editing.texts import document_text, text_read
from workbench.topologies.shipped import FOLDER

LOOP = {
    "format": "workbench.topology/1",
    "name": "loop",
    "start": ["writer"],
    "end": ["publish"],
    "nodes": {
        "writer": {"type": "agent", "prompt": "{{ nodes.reviewer.output }} nodes.reviewer", "unheard_of": 1},
        "reviewer": {"type": "router", "mode": "rules", "rules": [{"when": {"matches": "x"}, "to": ["publish"]}]},
        "publish": {"type": "passthrough"},
    },
    "edges": [
        {"from": "writer", "to": "reviewer"},
        {"from": "reviewer", "to": "writer", "max": 3},
        {"from": "reviewer", "to": "publish"},
    ],
}


def loop():
    return state_of(json.loads(json.dumps(LOOP)))


def done(state, *commands):
    return apply(state, list(commands)).state


NAMES = st.sampled_from(["writer", "reviewer", "publish", "a", "b-c", "start", "no id", ""])
TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
EDGES = st.integers(0, 4) | st.sampled_from(["e1", "e2", "e3", "e4", "gone"])
PLACES = st.tuples(st.integers(-99, 99), st.integers(0, 9)).map(list)
FRAGMENT = {**LOOP, "format": "workbench.fragment/1"}


def command(name, **fields):
    """A command with its fields, some of them left out (those that begin with an underscore)."""
    sure = {key: value for key, value in fields.items() if not key.startswith("_")}
    maybe = {key[1:]: value for key, value in fields.items() if key.startswith("_")}
    return st.fixed_dictionaries({"do": st.just(name), **sure}, optional=maybe)


COMMANDS = st.one_of(
    command("add_node", type=st.sampled_from(["agent", "vote", "none"]), _id=NAMES, _at=PLACES, _from=NAMES),
    command("connect", **{"from": NAMES, "to": NAMES}),
    command("reconnect", edge=EDGES, to=NAMES),
    command("rename", node=NAMES, to=NAMES),
    command("mark", node=NAMES, _start=st.booleans(), _end=st.booleans()),
    command("move", places=st.dictionaries(NAMES, PLACES, max_size=2)),
    command("delete", nodes=st.lists(NAMES, max_size=2), edges=st.lists(EDGES, max_size=1)),
    command("reorder", edge=EDGES, to=st.integers(-1, 4)),
    command("reorder", node=NAMES, to=st.integers(0, 3)),
    command("duplicate", nodes=st.lists(NAMES, min_size=1, max_size=2)),
    command("set", node=NAMES, path=st.sampled_from(["/prompt", "/params/top_p"]), value=VALUES),
    command("set", edge=EDGES, path=st.just("/when"), value=VALUES),
    command("set", path=st.sampled_from(["/vars/x", "/edges/0", "/nodes", "/edges", "/layout"]), value=VALUES),
    command("set_text", text=st.sampled_from(["{", "{}", json.dumps(LOOP)])),
    command("paste", fragment=st.just(FRAGMENT), _at=PLACES),
    command("layout"),
    command("drop_text"),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(COMMANDS, max_size=12))
def test_any_commands_keep_the_document_whole_in_every_form_of_text(commands):
    state = loop()
    for command in commands:
        before = pack(state)
        try:
            state = apply(state, [command]).state
        except CommandRefused:
            assert pack(state) == before, "a command that is refused changes nothing"
            continue
        assert unpack(pack(state)) == state
        assert len(state.keys) == len(set(state.keys))
        assert state_patch(unpack(before), state).keys() <= {"top", "nodes", "edges", "layout", "node_order", "keys"}
        for syntax in ("json", "yaml"):
            assert text_read(document_text(state.document, syntax), syntax) == (state.document, "")


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.json")))
def test_every_shipped_topology_reads_back_from_yaml(name):
    text = (FOLDER / f"{name}.json").read_text("utf-8")

    document, message = text_read(document_text(read_json(text).data, "yaml"), "yaml")

    assert (document, message) == (read_json(text).data, "")


def test_a_renamed_node_is_followed_by_edges_start_rules_and_prompts():
    state = done(
        loop(),
        {"do": "rename", "node": "reviewer", "to": "the-critic"},
        {"do": "rename", "node": "publish", "to": "out"},
    )

    nodes = state.document["nodes"]
    assert list(nodes) == ["writer", "the-critic", "out"]
    assert nodes["writer"]["prompt"] == '{{ nodes["the-critic"].output }} nodes.reviewer'
    assert nodes["the-critic"]["rules"][0]["to"] == ["out"]
    assert state.document["end"] == ["out"]
    assert state.document["edges"][2] == {"from": "the-critic", "to": "out"}
    assert nodes["writer"]["unheard_of"] == 1


def test_the_first_node_is_where_a_run_starts_and_ends():
    empty = state_of(
        {"format": "workbench.topology/1", "name": "new", "start": [], "end": [], "nodes": {}, "edges": []}
    )

    state = done(
        empty,
        {"do": "add_node", "type": "agent", "config": {"agent": "writer"}},
        {"do": "add_node", "type": "vote", "from": "writer"},
    )

    assert state.document["start"] == state.document["end"] == ["writer"]
    assert state.document["edges"] == [{"from": "writer", "to": "vote"}]


def test_a_copy_has_ids_of_its_own_and_so_have_its_edges_and_prompts():
    changed = apply(loop(), [{"do": "duplicate", "nodes": ["writer", "reviewer"]}])

    assert changed.nodes == ("writer2", "reviewer2")
    assert changed.state.document["nodes"]["writer2"]["prompt"].startswith("{{ nodes.reviewer2.output }}")
    assert changed.state.document["edges"][3:] == [
        {"from": "writer2", "to": "reviewer2"},
        {"from": "reviewer2", "to": "writer2", "max": 3},
    ]


def test_a_fragment_goes_into_another_topology():
    other = state_of(
        {"format": "workbench.topology/1", "name": "other", "start": [], "end": [], "nodes": {}, "edges": []}
    )

    state = done(other, {"do": "paste", "fragment": fragment_of(loop(), ["writer", "reviewer"]), "at": [100, 50]})

    assert list(state.document["nodes"]) == ["writer", "reviewer"]
    assert len(state.document["edges"]) == 2
    assert min(place[0] for place in state.document["layout"].values()) == 100


def test_edges_keep_their_names_when_the_text_is_rewritten():
    document = json.loads(json.dumps(LOOP))
    document["edges"].insert(0, {"from": "writer", "to": "publish", "trigger": False})
    document["edges"][2]["max"] = 9

    state = done(loop(), {"do": "set_text", "text": json.dumps(document)})

    assert state.keys == ("e4", "e1", "e2", "e3")


def test_a_text_that_can_not_be_read_is_kept_and_can_be_dropped():
    broken = done(loop(), {"do": "set_text", "text": '{"name": '})

    assert broken.broken.text == '{"name": '
    assert broken.document == LOOP
    with pytest.raises(CommandRefused, match="can't be read"):
        apply(broken, [{"do": "layout"}])
    assert done(broken, {"do": "drop_text"}) == loop()._replace(places=broken.places)


def test_two_changes_are_merged_and_what_both_changed_is_named():
    base = loop()
    mine = done(
        base, {"do": "set", "node": "writer", "path": "/prompt", "value": "mine"}, {"do": "add_node", "type": "vote"}
    )
    theirs = done(
        base,
        {"do": "set", "node": "writer", "path": "/prompt", "value": "theirs"},
        {"do": "set", "edge": "e2", "path": "/max", "value": 7},
        {"do": "connect", "from": "publish", "to": "writer"},
    )

    merged = states_merged(base, mine, theirs)

    assert merged.lost == ["/nodes/writer/prompt"]
    assert merged.state.document["nodes"]["writer"]["prompt"] == "mine"
    assert list(merged.state.document["nodes"])[-1] == "vote"
    assert merged.state.document["edges"][1]["max"] == 7
    assert merged.state.document["edges"][3] == {"from": "publish", "to": "writer"}


@pytest.mark.parametrize("syntax", ["json", "yaml"])
def test_every_place_of_a_document_has_its_line(syntax):
    text = document_text(LOOP, syntax)
    lines = pointer_lines(text, syntax)

    for path, word in (
        ("/nodes/reviewer/rules/0/when/matches", "matches"),
        ("/edges/1/max", "max"),
        ("/end/0", "publish"),
    ):
        assert word in text.split("\n")[line_of(path, lines) - 1]
    assert line_of("/edges/1/missing", lines) == line_of("/edges/1", lines)
