from __future__ import annotations

import pytest

from tests.engine.support import problems_of, run, topology
from workbench.engine.context import RunInput
from workbench.engine.events import MemoryJournal


def calling(tool, **args):
    return topology({"t": {"type": "tool", "tool": tool, "args": args}})


def test_tool_is_called_and_what_it_says_is_the_output(tmp_path):
    (tmp_path / "notes.txt").write_text("one\ntwo\n")

    result, journal = run(
        calling("read_file", path="{{ instance.problem }}", lines=1), given="notes.txt", workspace=tmp_path
    )

    assert result.status == "succeeded"
    assert result.output.splitlines()[0] == "     1\tone"
    call = next(event for event in journal.events if event.kind == "tool_called")
    assert (call.tool, call.arguments, call.status) == ("read_file", {"path": "notes.txt", "lines": 1}, "ok")
    assert (result.usage.tool_calls, result.usage.model_calls) == (1, 0)


def test_arguments_are_prompts_rendered_once(tmp_path):
    given = RunInput("{{ vars.secret }}", metadata={"file": "out.txt"})

    result, _ = run(
        calling("write_file", path="{{ instance.metadata.file }}", content="{{ inbox }} {{ visit }}"),
        given=given,
        workspace=tmp_path,
    )

    assert result.status == "succeeded"
    assert (tmp_path / "out.txt").read_text() == "{{ vars.secret }} 1"


@pytest.mark.parametrize(
    ("path", "said"),
    [("missing.txt", "There is no 'missing.txt'"), ("../secret", "leads out"), ("/etc/shadow", "leads out")],
)
def test_tool_that_refuses_makes_the_node_fail(tmp_path, path, said):
    result, journal = run(calling("read_file", path="{{ inbox }}"), given=path, workspace=tmp_path)

    assert (result.status, result.code) == ("failed", "tool")
    assert said in result.reason
    assert next(event for event in journal.events if event.kind == "tool_called").status == "failed"


def test_rendered_argument_that_does_not_fit_makes_the_node_fail(tmp_path):
    result, _ = run(calling("read_file", path="a", start="{{ inbox }}"), given="first", workspace=tmp_path)

    assert (result.status, result.code) == ("failed", "tool")
    assert "start" in result.reason


def test_recorded_call_is_not_made_again(tmp_path):
    document = calling("write_file", path="a.txt", content="x")
    first, journal = run(document, workspace=tmp_path)
    (tmp_path / "a.txt").unlink()
    recorded = [event for event in journal.events if event.kind not in ("visit_ended", "run_ended")]

    second, rest = run(document, workspace=tmp_path, journal=MemoryJournal(recorded))

    assert second.output == first.output
    assert not [event for event in rest.events if event.kind == "tool_called"]
    assert (tmp_path / "a.txt").read_text() == "x"  # as the call had left it


def found(**fields):
    return [(problem.code, problem.path) for problem in problems_of(topology({"t": {"type": "tool", **fields}}))]


def test_check_knows_tools_and_their_arguments():
    assert found(tool="read_file", args={"path": "{{ inbox }}", "start": "{{ visit }}"}) == []
    assert found(tool="raed_file") == [("unknown_tool", "/nodes/t/tool")]
    assert found(tool="read_file", args={"pth": "a"}) == [
        ("bad_argument", "/nodes/t/args/path"),
        ("bad_argument", "/nodes/t/args/pth"),
    ]
    assert found(tool="read_file", args={"path": "a", "lines": 0}) == [("bad_argument", "/nodes/t/args/lines")]
    assert found(tool="read_file", args={"path": "a", "start": "first"}) == [("bad_argument", "/nodes/t/args/start")]
    assert found(tool="read_file", args={"path": ["a"]}) == [("bad_argument", "/nodes/t/args/path")]


def test_check_knows_the_names_in_arguments():
    assert found(tool="read_file", args={"path": "{{ vars.file }}"}) == [("unknown_name", "/nodes/t/args/path")]
    assert found(tool="read_file", args={"path": "{{ nodes.x.output }}"}) == [("unknown_name", "/nodes/t/args/path")]
    assert found(tool="read_file", args={"path": "{{ inbox"}) == [("bad_prompt", "/nodes/t/args/path")]
