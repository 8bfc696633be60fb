"""What goes wrong outside of a run, and what becomes of the run: each fault ends in a status and a code of its own."""

from __future__ import annotations

import itertools
import json
import threading
import time

import pytest

from tests.engine.support import asks, problems_of, run, topology
from tests.fake_models import Says, fake_models  # noqa: F401
from workbench.engine.events import EVENT
from workbench.engine.providers import Providers
from workbench.engine.providers._http import Timeouts
from workbench.engine.providers.openai_compatible import OpenAICompatibleProvider
from workbench.engine.tools import TOOLS, Arguments, Tool

PASS = {"type": "passthrough"}
VERDICT = {
    "json_schema": {"type": "object", "required": ["verdict"], "properties": {"verdict": {"enum": ["yes", "no"]}}}
}


def one(**fields):
    """An agent and the end."""
    return topology({"a": asks("p", **fields), "t": PASS}, [("a", "t")])


def run_at(fake, document):
    """A run whose model answers over the wire."""
    provider = OpenAICompatibleProvider(fake.url, timeouts=Timeouts(connect=1, first_token=5, idle=5))
    return run(document, providers=Providers({}, only=provider))


# Models


@pytest.mark.parametrize(
    ("says", "fields", "code"),
    [
        ([Says("one two three", cuts=2, drop_after=3)] * 4, {}, "connection_lost"),
        ([Says("")], {}, "empty_output"),
        ([Says(None)], {}, "empty_output"),
        ([Says("", reasoning="I think, and think.")], {}, "empty_output"),
        ([Says("<think>I think, and never come to an end")], {}, "empty_output"),
        ([Says("", endless="and so on ")], {}, "runaway"),
        ([Says('{"verdict": "perhaps"}')] * 3, {"output": VERDICT}, "bad_output"),
        ([Says('{"verdict": "yes"')] * 3, {"output": VERDICT}, "bad_output"),
    ],
    ids=["dies", "empty", "nothing", "reasoning", "unclosed", "repeats", "wrong", "broken"],
)
def test_model_that_gives_no_usable_answer_fails_the_run_with_its_own_code(fake_models, says, fields, code):  # noqa: F811
    fake_models.replies.extend(says)

    result, journal = run_at(fake_models, one(**fields))

    assert (result.status, result.code) == ("failed", code)
    assert result.reason.endswith((".", "…", "]"))
    assert sum(event.kind == "model_called" for event in journal.events) == len(says)


def test_model_that_dies_once_is_asked_again(fake_models):  # noqa: F811
    fake_models.replies.extend([Says("one two three", cuts=2, drop_after=3), Says("three")])

    result, journal = run_at(fake_models, one())

    assert (result.status, result.output) == ("succeeded", "three")
    assert [event.status for event in journal.events if event.kind == "model_called"] == ["connection_lost", "ok"]


def test_tool_call_written_as_text_is_made(fake_models, tmp_path):  # noqa: F811
    written = json.dumps({"name": "write_file", "arguments": {"path": "x.txt", "content": "hello"}})
    fake_models.replies.extend([Says(written), Says("done")])
    provider = OpenAICompatibleProvider(fake_models.url)

    result, journal = run(
        one(tools=["write_file"]), providers=Providers({}, only=provider), workspace=tmp_path / "work"
    )

    assert (result.status, result.output) == ("succeeded", "done")
    assert (tmp_path / "work" / "x.txt").read_text() == "hello"
    assert "tool_call_from_text" in next(event for event in journal.events if event.kind == "model_called").flags


@pytest.mark.parametrize("text", ["\0\x1b[2J\ud800".ljust(1_000_000, "x"), "\u202e<script>" * 1000, "a\r\nb\u2028c"])
def test_any_text_that_a_model_says_goes_through_the_run_and_can_be_written_down(text):
    document = topology(
        {"a": asks("p"), "b": asks("{{ inbox }}"), "t": PASS},
        [("a", "b"), ("b", "t", {"when": {"matches": "."}, "transform": {"regex": "(?s).*", "on_no_match": "keep"}})],
    )

    result, journal = run(document, {"nodes": {"a": [text]}})

    assert result.status == "succeeded"
    assert result.output == text.replace("\ud800", "?")  # patterns read UTF-8, which has no halves of characters
    for event in journal.events:
        written = json.dumps(event.model_dump(), default=str)
        assert EVENT.validate_python(json.loads(written)).kind == event.kind


# Tools


class Boom(Tool):
    """Raises what no tool should."""

    class Arguments(Arguments):
        pass

    writes = False

    def run(self, arguments, workspace):
        raise ZeroDivisionError("oh")


class Hang(Boom):
    """Does not come back."""

    let_go = threading.Event()

    def run(self, arguments, workspace):
        self.let_go.wait(20)
        return ""


class Flood(Boom):
    """Says far too much."""

    def run(self, arguments, workspace):
        return "x" * 100_000_000


@pytest.fixture
def odd_tools(monkeypatch):
    for name, tool in {"boom": Boom, "hang": Hang, "flood": Flood}.items():
        monkeypatch.setitem(TOOLS._loaded, name, tool)


CALLS = {"nodes": {"a": [{"text": "", "tool_calls": [{"name": "boom"}]}, "done"]}}


def test_tool_that_raises_is_told_to_the_agent_and_fails_a_node_without_one(odd_tools, caplog):
    document = topology({"n": {"type": "tool", "tool": "boom"}, "t": PASS}, [("n", "t")])

    result, journal = run(one(tools=["boom"]), CALLS)
    alone, _ = run(document)

    assert (result.status, result.output) == ("succeeded", "done")
    called = next(event for event in journal.events if event.kind == "tool_called")
    assert (called.status, called.code) == ("failed", "tool_fault")
    assert "ZeroDivisionError('oh')" in called.result
    assert (alone.status, alone.code) == ("failed", "tool_fault")
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize(
    ("more", "status"), [({"limits": {"seconds": 0.2}}, "limit_reached"), ({"stop_after": 0.2}, "stopped")]
)
def test_tool_that_hangs_does_not_hold_up_the_end_of_the_run(odd_tools, more, status):
    script = {"nodes": {"a": [{"text": "", "tool_calls": [{"name": "hang"}]}]}}
    Hang.let_go.clear()
    threading.Timer(4, Hang.let_go.set).start()

    result, journal = run(one(tools=["hang"]), script, **more)

    assert result.status == status
    assert journal.events[-1].at - journal.events[0].at < 3


def test_tool_that_says_too_much_is_cut_and_says_so(odd_tools):
    script = {"nodes": {"a": [{"text": "", "tool_calls": [{"name": "flood"}]}, "done"]}}

    result, journal = run(one(tools=["flood"]), script)

    called = next(event for event in journal.events if event.kind == "tool_called")
    assert result.output == "done"
    assert len(called.result) < 101_000
    assert "more characters" in called.result


# Patterns and templates


def test_pattern_that_would_backtrack_for_ever_costs_nothing():
    text = "a" * 50_000 + "!"
    began = time.process_time()
    document = topology(
        {"a": asks("p"), "b": PASS, "t": PASS},
        [
            ("a", "b", {"when": {"matches": "(a+)+$"}}),
            ("a", "t", {"when": {"otherwise": True}, "transform": {"regex": "(a|aa)+$", "on_no_match": "keep"}}),
        ],
        end=["b", "t"],
    )

    result, _ = run(document, {"nodes": {"a": [text]}})

    assert result.outputs == {"t": text}
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    "prompt",
    [
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{{ ''.__class__.__mro__ }}",
        "{{ inbox.__init__.__globals__ }}",
        "{{ 'x' * 999999999 }}",
    ],
)
def test_template_that_loops_or_reaches_for_more_fails_its_node_in_time(prompt):
    began = time.process_time()

    document = one() | {"nodes": {"a": asks(prompt), "t": PASS}}
    refused = [problem.code for problem in problems_of(document) if problem.severity == "error"]
    if not refused:
        result, journal = run(document, {"default": "x"})

        assert (result.status, result.code) == ("failed", "template")
        assert not [event for event in journal.events if event.kind == "model_called"]
    assert time.process_time() - began < 10


@pytest.mark.parametrize("label", ["المراجع", "審查者", "рецензент", "🧪👩🏽‍🔬", "a|b:c\n<script>", "__start__", " "])
def test_label_in_any_script_runs_and_stands_in_no_id(label):
    document = topology({"a": {**asks("p"), "label": label}, "t": {**PASS, "label": label}}, [("a", "t")])

    result, journal = run(document, {"default": "x"})

    assert (result.status, result.visits) == ("succeeded", {"a": 1, "t": 1})
    assert {event.node for event in journal.events if event.kind == "visit_ended"} == {"a", "t"}


def test_ten_thousand_nodes_run_in_one_go():
    names = [f"n{number}" for number in range(10_000)]
    document = topology(dict.fromkeys(names, PASS), list(itertools.pairwise(names)))

    result, _ = run(document)

    assert (result.status, result.output, sum(result.visits.values())) == ("succeeded", "input", 10_000)
