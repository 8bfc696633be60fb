from __future__ import annotations

import time

import pytest

from workbench.engine.errors import TemplateError
from workbench.engine.templating import Inbox, InboxMessage, references, render

NAMES = {
    "instance": {"problem": "P", "id": "i", "metadata": {"lang": "fr"}},
    "inbox": Inbox([InboxMessage("one", "a"), InboxMessage("two {{ vars }}", "b", {"v": [1, True, None]})]),
    "nodes": {"a": {"output": "A", "json": {"k": "v"}, "visits": 1, "status": "succeeded"}},
    "vars": {"tone": "plain"},
    "visit": 2,
    "run": {"id": "r", "repetition": 1},
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("plain { text }", "plain { text }"),
        ("{{ inbox }}", "one\n\ntwo {{ vars }}"),
        ("{{ inbox[1].json.v }}", "[1, true, null]"),
        ("{{ inbox[0].source }}", "a"),
        ("{{ inbox | length }}", "2"),
        ("{% for m in inbox %}{{ loop.index }}{{ m }}{% endfor %}", "1one2two {{ vars }}"),
        ("{{ nodes.a.output }}{{ nodes['a'].json.k }}", "Av"),
        ("{% if visit > 1 %}later{% endif %}", "later"),
        ("{% if nodes.b.output is defined %}x{% else %}no b{% endif %}", "no b"),
        ("{{ nodes.b.output | default('nothing') }}", "nothing"),
        ("{{ instance.metadata.lang | upper }}", "FR"),
        ("{{ nodes.a.json | tojson }}", '{"k": "v"}'),
        ("trailing\n", "trailing\n"),
    ],
)
def test_prompt_renders(template, text):
    assert render(template, NAMES) == text


@pytest.mark.parametrize(
    "template",
    [
        "{{ nodes.b.output }}",
        "{{ unknown }}",
        "{{ run.secret }}",
        "{{ ",
        "{% if %}",
        "{{ ''.__class__.__mro__ }}",
        "{{ inbox._messages }}",
        "{{ inbox.__init__.__globals__ }}",
        "{{ 'a'.format(1) }}",
        "{{ '%s' % 'a' }}",
        "{{ cycler }}{{ cycler('a') }}",
        "{{ 'x' | attr('y') }}",
        "{% include 'x' %}",
        "{% import 'x' as y %}",
        "{% macro m() %}{% endmacro %}",
        "{{ 1 / 0 }}",
        "{{ 9 ** 9 ** 9 }}",
        "{{ 'x' * 100000000 }}",
        "{{ [1] * 100000000 }}",
        "{{ 'x'.ljust(100000000) }}",
        "{{ 'aaaa' | replace('a', 'b' * 900000) }}",
        "{{ ['x' * 900000] * 10 | join }}{{ (['x' * 900000] * 10) | join }}",
        "{% set x = 'a' * 900000 %}{{ x ~ x }}",
        "{% set x = 2 %}" + "{% set x = x * x %}" * 30 + "{{ x }}",
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% for a in range(99999) %}{{ 'x' * 100 }}{% endfor %}",
        "{{" + "(" * 5000 + "1" + ")" * 5000 + "}}",
        "{{ x.y.z() }}",
    ],
)
def test_prompt_that_can_not_or_must_not_be_rendered_is_a_sentence_and_quick(template):
    began = time.process_time()

    with pytest.raises(TemplateError) as error:
        render(template, NAMES)

    assert str(error.value).endswith((".", "…")) or "allowed" in str(error.value)
    assert time.process_time() - began < 5


def test_what_came_from_a_model_is_never_rendered_again():
    assert render("{{ inbox[1] }}", NAMES) == "two {{ vars }}"


def test_names_are_found_with_what_guards_them():
    found = {
        (".".join(reference.path), reference.defined, reference.later)
        for reference in references(
            "{{ nodes.a.output }}{% if visit > 1 and 1 %}{{ nodes.b.output }}{% endif %}"
            "{% if nodes.c is defined %}{{ nodes.c.output }}{% else %}{{ nodes.d.output }}{% endif %}"
            "{{ nodes.e.json.x | default('') }}{{ nodes.f.output if visit >= 2 else '' }}"
            "{% set mine = inbox %}{{ mine }}{% for m in inbox %}{{ m.text }}{% endfor %}"
        )
    }

    assert ("nodes.a.output", False, False) in found
    assert ("nodes.b.output", False, True) in found
    assert ("nodes.c.output", True, False) in found
    assert ("nodes.d.output", False, False) in found
    assert ("nodes.e.json.x", True, False) in found
    assert ("nodes.f.output", False, True) in found
    assert not any(path.startswith(("mine", "m.", "loop")) for path, _, _ in found)
