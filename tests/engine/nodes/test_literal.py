from __future__ import annotations

from tests.engine.support import run, topology


def test_literal_emits_its_text_whatever_it_is_sent_and_renders_nothing():
    document = topology(
        {"a": {"type": "literal", "content": "{{ inbox }}"}, "b": {"type": "literal", "content": "end"}},
        [("a", "b")],
        end=["a", "b"],
    )

    assert run(document)[0].outputs == {"a": "{{ inbox }}", "b": "end"}
