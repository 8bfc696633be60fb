from __future__ import annotations

from tests.engine.support import run, topology

LITERALS = {name: {"type": "literal", "content": name} for name in ("x", "y")}


def joined(**fields):
    document = topology(
        {"s": {"type": "passthrough"}, **LITERALS, "p": {"type": "passthrough", **fields}},
        [("s", "y"), ("s", "x"), ("x", "p"), ("y", "p")],
    )
    return run(document)[0].node_outputs["p"]


def test_passthrough_forwards_its_last_message():
    assert joined() == ["y"]


def test_passthrough_forwards_each_message_in_edge_order():
    assert joined(all=True) == ["x", "y"]


def test_passthrough_with_an_empty_inbox_emits_one_empty_message():
    document = topology({"a": LITERALS["x"], "b": {"type": "passthrough"}}, [("a", "b", {"carry": False})])

    assert run(document)[0].output == ""
