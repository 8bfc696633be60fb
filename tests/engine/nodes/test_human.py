from __future__ import annotations

import json

import pytest

from tests.engine.people import Stage, said
from tests.engine.support import asks, planned, topology
from workbench.engine.dryrun import dry_run
from workbench.engine.errors import NodeFailed
from workbench.engine.events import AttachedFile
from workbench.engine.people import Answer

PASS = {"type": "passthrough"}
APPROVE = {"type": "human", "question": "Publish {{ nodes.writer.output }}?", "choices": ["yes", "no"]}


def publishing(human=APPROVE, **fields):
    return topology(
        {"writer": asks(), "ask": {**human, **fields}, "publish": PASS, "drop": PASS},
        [
            ("writer", "ask"),
            ("ask", "publish", {"when": {"field": "choice", "equals": "yes"}}),
            ("ask", "drop", {"when": {"field": "choice", "equals": "no"}}),
        ],
        end=["publish", "drop"],
    )


def test_a_question_says_what_its_node_was_told_and_the_answer_decides_the_way():
    stage = Stage(publishing(), {"nodes": {"writer": ["a draft"]}})

    first = stage.attempt()

    assert (first.status, first.output) == ("waiting", None)
    ((asked, told),) = stage.asked
    assert (asked.question, asked.choices, asked.free, told) == ("Publish a draft?", ("yes", "no"), False, "a draft")
    assert first.asking == (asked.key,)
    assert not stage.kinds("run_ended")

    last = stage.attempt({asked.key: said("well done", "yes")})

    assert (last.status, last.output) == ("succeeded", "yes\n\nwell done")
    assert len(stage.kinds("model_called")) == 1
    (answered,) = stage.kinds("answered")
    assert (answered.by, answered.choice, answered.text) == ("ada", "yes", "well done")
    assert last.visits == {"writer": 1, "ask": 1, "publish": 1}


def test_without_choices_the_answer_is_the_message():
    stage = Stage(topology({"ask": {"type": "human"}, "t": PASS}, [("ask", "t")]))
    stage.attempt()

    result = stage.attempt({stage.key("ask"): said("forty-two")})

    assert result.output == "forty-two"
    assert stage.asked == []


def test_files_come_into_the_workspace_and_are_named_to_the_next_node(tmp_path):
    stage = Stage(topology({"ask": {"type": "human"}, "t": PASS}, [("ask", "t")]), workspace=tmp_path)
    stage.attempt()
    files = (AttachedFile(name="plan.txt", size=3, sha256="abc"), AttachedFile(name="plan.txt", size=3, sha256="def"))

    result = stage.attempt({stage.key("ask"): said("see there", files=files)})

    assert result.output == "see there\n\nFiles in the workspace: uploads/plan.txt, uploads/plan-2.txt"
    assert (tmp_path / "uploads" / "plan.txt").read_text() == "abc"
    assert (tmp_path / "uploads" / "plan-2.txt").read_text() == "def"


UP = Answer(timed_out=True, at=1.0)


@pytest.mark.parametrize(
    ("fields", "answer", "status", "said_at_end"),
    [
        ({}, UP, "failed", None),
        ({"on_timeout": {"default": "no"}}, Answer("no", "no", timed_out=True, at=1.0), "succeeded", "no"),
        ({"on_error": "continue"}, UP, "incomplete", None),
    ],
)
def test_when_the_time_is_up_the_node_fails_or_takes_its_default(fields, answer, status, said_at_end):
    stage = Stage(publishing(timeout_s=5, **fields), {"nodes": {"writer": ["a draft"]}})
    stage.attempt()
    asked = stage.asked[0][0]
    assert asked.deadline == asked.at + 5

    result = stage.attempt({asked.key: answer})

    assert (result.status, result.output) == (status, said_at_end)
    assert stage.kinds("answered")[0].status == "timed_out"
    if status == "failed":
        assert result.code == "no_answer"
        assert "within 5 seconds" in result.reason


def test_a_dry_run_answers_with_each_choice():
    report = dry_run(planned(publishing()))

    assert all(edge.fired for edge in report.edges), report.edges


def test_what_is_asked_is_a_prompt_whose_names_are_checked():
    from tests.engine.support import problems_of

    problems = problems_of(publishing(question="Publish {{ nodes.nobody.output }}?"))

    assert [problem.path for problem in problems] == ["/nodes/ask/question"], json.dumps(problems)


def test_a_fork_may_answer_with_a_choice_and_a_comment_and_with_nothing_else():
    node = planned(publishing()).made_nodes()[1]

    (message,) = node.given("no\n\nnot yet", ()).messages

    assert (message.text, message.data) == ("no\n\nnot yet", {"choice": "no", "text": "not yet", "files": []})
    with pytest.raises(NodeFailed, match="none of the choices of node 'ask': yes, no"):
        node.given("perhaps", ())
