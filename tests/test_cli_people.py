"""`workbench run` of topologies that ask people: at a terminal, by a file of answers, and with nobody there."""

from __future__ import annotations

import json
import os
import pty

import pytest

from tests import databases
from tests.test_cli_run import command, run, write  # noqa: F401

ASKING = {
    "format": "workbench.topology/1",
    "name": "asking",
    "start": ["writer"],
    "end": ["publish", "drop"],
    "nodes": {
        "writer": {"type": "agent", "prompt": "{{ inbox }}"},
        "ask": {"type": "human", "question": "Publish {{ inbox }}?", "choices": ["yes", "no"]},
        "publish": {"type": "passthrough"},
        "drop": {"type": "passthrough"},
    },
    "edges": [
        {"from": "writer", "to": "ask"},
        {"from": "ask", "to": "publish", "when": {"field": "choice", "equals": "yes"}},
        {"from": "ask", "to": "drop", "when": {"field": "choice", "equals": "no"}},
    ],
}
SCRIPT = {"nodes": {"writer": ["a draft"]}}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


def arguments(write):  # noqa: F811
    return write("t.json", ASKING), "--input", "cats", "--scripted", write("s.json", SCRIPT)


def test_with_nobody_there_the_run_waits_and_says_for_what(home, write):  # noqa: F811
    code, out, err = run(home, *arguments(write), "--json")

    assert code == 3, err
    report = json.loads(out)
    assert (report["status"], report["output"]) == ("waiting", None)
    assert [(it["node"], it["question"], it["choices"]) for it in report["questions"]] == [
        ("ask", "Publish a draft?", ["yes", "no"])
    ]
    assert databases.rows(home, f"SELECT status, owner FROM experiments_run WHERE id = {report['run_id']}") == [
        ("waiting", "")
    ]


def test_a_file_answers(home, write):  # noqa: F811
    answers = write("a.json", {"ask": [{"choice": "no", "text": "not yet"}]})

    code, out, err = run(home, *arguments(write), "--answers", answers, "--json")

    assert code == 0, err
    report = json.loads(out)
    assert (report["output"], report["usage"]["model_calls"]) == ("no\n\nnot yet", 1)
    assert report["order"] == ["writer", "ask", "drop"]


DEVALL = """
graph:
  id: talk
  start: [ask me]
  end: [done]
  nodes:
    - {id: ask me, type: human, config: {description: "Good, {{ user }}?"}}
    - {id: done, type: passthrough, config: {}}
  edges:
    - {from: ask me, to: done}
"""


def test_a_graph_of_devall_asks_by_its_own_names(home, write):  # noqa: F811
    graph, answers = write("talk.yaml", DEVALL), write("a.json", {"ask me": "Very good."})

    code, out, err = run(home, graph, "--input", "cats", "--json")
    assert code == 3, err
    assert [(it["node"], it["question"]) for it in json.loads(out)["questions"]] == [("ask me", "Good, {{ user }}?")]
    code, out, err = run(home, graph, "--input", "cats", "--answers", answers, "--json")

    assert code == 0, err
    assert (json.loads(out)["output"], json.loads(out)["order"]) == ("Very good.", ["ask me", "done"])


def test_a_file_with_an_answer_that_may_not_be_given_is_refused(home, write):  # noqa: F811
    code, out, _ = run(home, *arguments(write), "--answers", write("a.json", {"ask": "maybe"}), "--json")

    assert code == 2
    assert "node 'ask'" in json.loads(out)["reason"]
    assert "Choose one of the answers." in json.loads(out)["reason"]


@pytest.mark.parametrize("text", ["{", "[" * 3000, '{"ask": NaN}', '["yes"]'])
def test_a_file_that_holds_no_answers_is_a_sentence(home, write, text):  # noqa: F811
    code, out, err = run(home, *arguments(write), "--answers", write("a.json", text))

    assert code != 0
    assert "answers" in out + err
    assert "Traceback" not in out + err


def test_whoever_sits_at_the_terminal_is_asked(home, write):  # noqa: F811
    person, terminal = pty.openpty()
    started = command(home, *arguments(write), stdin=terminal)
    os.close(terminal)

    os.write(person, b"perhaps\n1\n")
    out, err = started.communicate(timeout=60)
    os.close(person)

    assert started.returncode == 0, err
    assert out.strip() == "yes"
    assert "Node ask asks: Publish a draft?" in err
    assert "Choose one of the answers." in err
