from __future__ import annotations

import os
import time

import pytest

from tests.engine.support import problems_of, run, topology
from workbench.engine.errors import SandboxError
from workbench.engine.events import MemoryJournal
from workbench.engine.nodes.python import code_of
from workbench.engine.sandboxes import choose_sandbox

try:
    choose_sandbox(os.environ)
except SandboxError as error:
    pytest.skip(str(error), allow_module_level=True)


def executed(text, workspace, *, journal=None, stop_after=None, **fields):
    """Run one node on a message."""
    document = topology({"py": {"type": "python", **fields}})
    return run(document, given=text, workspace=workspace, journal=journal, stop_after=stop_after)


def calls(journal):
    return [event for event in journal.events if event.kind == "tool_called"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("print(1)", "print(1)"),
        ("Here:\n```python\nprint(1)\n```\nand\n```\nprint(2)\n```\n", "print(1)\n"),
        ("```\na\n\nb\n```", "a\n\nb\n"),
        ("~~~py\n```\n~~~\n", "```\n"),
        ("````md\n```\nx\n```\n````", "```\nx\n```\n"),
        ("  ```py \nx\n  ```", "x\n"),
        ("```py\nnever closed", "never closed"),
        ("```py\r\nx\r\n```\r\n", "x\r\n"),
        ("inline ```x``` is none", "inline ```x``` is none"),
        ("```\n```\n", ""),
    ],
)
def test_code_is_the_first_fenced_block_or_the_whole_text(text, code):
    assert code_of(text) == code


def test_what_the_code_prints_is_the_output(tmp_path):
    result, journal = executed("Try:\n```python\nprint(6 * 7)\n```\nDone.", tmp_path)

    assert (result.status, result.output) == ("succeeded", "42\n")
    assert [(call.tool, call.arguments, call.result) for call in calls(journal)] == [
        ("python", {"code": "print(6 * 7)\n"}, "42\n")
    ]
    assert result.usage.tool_calls == 1


def test_own_code_reads_the_inbox_and_the_workspace(tmp_path):
    (tmp_path / "notes.txt").write_text("kept")
    code = (
        "import sys\nprint(sys.stdin.read().upper(), open('notes.txt').read(), __name__)\nopen('new', 'w').write('ä')"
    )

    result, _ = executed("grüße", tmp_path, code=code)

    assert result.output == "GRÜSSE kept __main__\n"
    assert (tmp_path / "new").read_text() == "ä"


def test_own_modules_of_the_workspace_can_be_imported(tmp_path):
    (tmp_path / "helper.py").write_text("answer = 42")

    assert executed("import helper; print(helper.answer)", tmp_path)[0].output == "42\n"


def test_failure_names_node_exit_code_and_line(tmp_path):
    result, journal = executed("x = 1\nraise ValueError('no such thing')", tmp_path)

    assert (result.status, result.code) == ("failed", "exit_code")
    assert result.reason.startswith("The code of node 'py' failed with exit code 1: Traceback")
    assert 'File "code.py", line 2' in result.reason
    assert result.reason.endswith("ValueError: no such thing")
    assert (calls(journal)[0].status, calls(journal)[0].code) == ("failed", "exit_code")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("raise SystemExit(3)", "exit code 3."),
        ("def", "SyntaxError"),
        ("import os; os.abort()", "exit code 134"),
        ("x = '\0'", "null bytes"),
        ("(" * 5000, "too many nested parentheses"),
        ("import sys; sys.stderr.write('y' * 50_000 + 'last'); sys.exit(1)", "ylast"),
    ],
)
def test_code_that_can_not_go_on_fails(tmp_path, code, said):
    result, _ = executed(code, tmp_path)

    assert (result.status, result.code) == ("failed", "exit_code")
    assert said in result.reason
    assert len(result.reason) < 2_200


def test_no_code_is_a_failure_before_anything_runs(tmp_path):
    result, journal = executed(" \n", tmp_path)

    assert (result.status, result.code, calls(journal)) == ("failed", "no_code", [])


def test_time_out_is_a_failure_of_its_own(tmp_path):
    result, _ = executed("while True: pass", tmp_path, timeout_s=0.5)

    assert (result.status, result.code) == ("failed", "timeout")
    assert result.reason == "The code of node 'py' did not end within 0.5 s (timeout_s)."


def test_too_many_processes_are_a_failure_of_their_own(tmp_path):
    result, _ = executed("import os, time\nfor n in range(8): os.fork()\ntime.sleep(20)", tmp_path)

    assert result.status == "failed"
    assert result.code in ("sandbox_limit", "exit_code")  # where the kernel counts by itself, forking fails


def test_stop_ends_an_endless_loop_within_two_seconds(tmp_path):
    began = time.monotonic()

    result, _ = executed("while True: pass", tmp_path, stop_after=0.4)

    assert result.status == "stopped"
    assert time.monotonic() - began < 2.4


def test_output_beyond_1_mb_is_cut_and_noted(tmp_path):
    result, journal = executed("print('x' * 3_000_000)", tmp_path)

    assert (result.status, len(result.output)) == ("succeeded", 1_000_000)
    assert [event.text for event in journal.events if event.kind == "noted"] == [
        "The code of node 'py' printed too much: the first 1,000,000 bytes are kept."
    ]


def test_bytes_that_are_no_text_are_replaced(tmp_path):
    result, _ = executed("import sys; sys.stdout.buffer.write(b'a\\xff\\x00\\xed\\xa0\\x80b')", tmp_path)

    assert result.output == "a\ufffd\ufffd\ufffd\ufffd\ufffdb"


def test_secrets_of_the_process_are_not_there(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_COMPATIBLE_API_KEY", "hidden")

    result, _ = executed("import os; print(os.environ, open('/proc/1/environ').read())", tmp_path)

    assert "hidden" not in result.output
    assert "WORKBENCH" not in result.output


def test_recorded_execution_is_not_done_again(tmp_path):
    code = "open('count', 'a').write('x'); print('done')"
    _, journal = executed(code, tmp_path)
    recorded = [event for event in journal.events if event.kind not in ("visit_ended", "run_ended")]

    result, again = executed(code, tmp_path, journal=MemoryJournal(recorded))

    assert (result.status, result.output, calls(again)) == ("succeeded", "done\n", [])
    assert (tmp_path / "count").read_text() == "x"


def test_recorded_failure_is_the_same_failure(tmp_path):
    first, journal = executed("open('count', 'a').write('x'); raise SystemExit(5)", tmp_path)
    recorded = [event for event in journal.events if event.kind not in ("visit_ended", "run_ended")]

    second, _ = executed(
        "open('count', 'a').write('x'); raise SystemExit(5)", tmp_path, journal=MemoryJournal(recorded)
    )

    assert (second.reason, second.code) == (first.reason, first.code)
    assert (tmp_path / "count").read_text() == "x"


def test_failure_can_be_handled_by_an_edge(tmp_path):
    document = topology(
        {
            "py": {"type": "python", "code": "raise SystemExit(1)", "on_error": "continue"},
            "b": {"type": "literal", "content": "handled"},
        },
        [("py", "b", {"when": {"status": "failed"}})],
    )

    assert run(document, workspace=tmp_path)[0].output == "handled"


def test_without_a_sandbox_it_is_refused_with_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")

    result, _ = executed("print(1)", tmp_path)

    assert (result.status, result.code) == ("failed", "sandbox")
    assert "apt install bubblewrap" in result.reason


def test_check_executes_nothing(tmp_path):
    made = tmp_path / "made"

    assert problems_of(topology({"py": {"type": "python", "code": f"open({str(made)!r}, 'w')"}})) == []
    assert not made.exists()


def test_time_out_has_bounds():
    for value in (0, -1, 3601, "soon"):
        problems = problems_of(topology({"py": {"type": "python", "timeout_s": value}}))
        assert [problem.path for problem in problems] == ["/nodes/py/timeout_s"]
