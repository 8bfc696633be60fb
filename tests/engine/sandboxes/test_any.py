"""What holds in every sandbox."""

from __future__ import annotations

import asyncio
import os
import time

import pytest

from workbench.engine.errors import SandboxError
from workbench.engine.sandboxes import SANDBOXES, Limits, choose_sandbox

pytestmark = pytest.mark.parametrize("name", SANDBOXES.names())


def test_command_runs_in_the_workspace_and_may_write_it(execute, workspace, name):
    finished = execute(name, "open('made.txt', 'w').write('x'); print(input())", stdin=b"hello\n")

    assert finished == (0, b"hello\n", b"", False, False, "")
    assert (workspace / "made.txt").read_text() == "x"


def test_exit_code_and_both_outputs_are_told(execute, name):
    finished = execute(name, "import os, sys; os.write(2, b'bad\\xff\\0'); sys.exit(7)")

    assert (finished.exit_code, finished.stdout, finished.stderr) == (7, b"", b"bad\xff\0")


def test_flood_is_cut_while_it_is_read(execute, name):
    code = "import sys\nfor n in range(320): sys.stdout.write('x' * 65536); sys.stderr.write('y' * 65536)\n"

    finished = execute(name, code + "sys.stderr.write('last')", output_bytes=100_000)

    assert (finished.exit_code, finished.truncated) == (0, True)
    assert (len(finished.stdout), len(finished.stderr)) == (100_000, 100_000)
    assert finished.stderr.endswith(b"ylast")


def test_100_mb_of_output_do_not_fill_memory(execute, name):
    tracemalloc = pytest.importorskip("tracemalloc")
    tracemalloc.start()

    finished = execute(name, "import os\nfor n in range(1600): os.write(1, b'x' * 65536)")

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (finished.exit_code, len(finished.stdout)) == (0, 1_000_000)
    assert peak < 10_000_000


def test_endless_loop_ends_at_its_time(execute, name):
    began = time.monotonic()

    finished = execute(name, "print('begun', flush=True)\nwhile True: pass", timeout_s=0.7)

    assert (finished.timed_out, finished.stdout) == (True, b"begun\n")
    assert time.monotonic() - began < 2.7


def test_closed_outputs_do_not_end_it_nor_keep_it_for_ever(execute, workspace, name):
    code = "import os, time; os.close(1); os.close(2); time.sleep({}); open('late', 'w')"

    assert execute(name, code.format(0.3)).exit_code == 0
    assert (workspace / "late").exists()
    assert execute(name, code.format(30), timeout_s=0.5).timed_out


def test_processes_left_behind_end_with_it(execute, workspace, name):
    code = "import subprocess as s; s.Popen('sleep 0.6; touch late', shell=True); print('bye', flush=True)"

    began = time.monotonic()
    assert execute(name, code).stdout == b"bye\n"

    assert time.monotonic() - began < 2
    time.sleep(0.8)
    assert not (workspace / "late").exists()


def test_cancelling_ends_it_with_its_children_at_once(workspace, name):
    sandbox = SANDBOXES.get(name)(os.environ)
    code = "import subprocess as s; s.Popen('sleep 1; touch late', shell=True); s.run(['sleep', '60'])"

    async def main():
        task = asyncio.ensure_future(
            sandbox.run([sandbox.python(), "-c", code], workspace, timeout_s=60, limits=Limits())
        )
        await asyncio.sleep(0.4)
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - began < 2

    asyncio.run(main())
    time.sleep(0.8)
    assert not (workspace / "late").exists()


def test_fork_bomb_is_ended(execute, name):
    began = time.monotonic()

    finished = execute(name, "import os, time\nfor n in range(9): os.fork()\ntime.sleep(20)", processes=64)

    assert finished.exit_code != 0
    assert time.monotonic() - began < 10


def test_memory_is_bounded_for_one_process_and_for_all_together(execute, name):
    alone = execute(name, "x = b'x' * 3_000_000_000", memory_bytes=200_000_000)
    together = "import os, time\nfor n in range(2): os.fork()\nx = b'x' * 100_000_000; time.sleep(20)"

    assert alone.exit_code != 0
    assert b"MemoryError" in alone.stderr
    assert execute(name, together, memory_bytes=200_000_000).exceeded == "It used more than 200 MB of memory."


def test_one_file_is_bounded(execute, workspace, name):
    finished = execute(name, "open('big', 'wb').write(bytes(5_000_000))", file_bytes=1_000_000)

    assert b"File too large" in finished.stderr
    assert (workspace / "big").stat().st_size <= 1_000_000


def test_environment_is_clean(execute, monkeypatch, name):
    monkeypatch.setenv("OPENAI_COMPATIBLE_API_KEY", "hidden")

    said = execute(name, "import os; print(os.environ); print(open('/proc/self/environ').read())").stdout

    assert b"hidden" not in said
    assert b"WORKBENCH" not in said


def test_input_that_nobody_reads_is_no_fault(execute, name):
    assert execute(name, "print(1)", stdin=b"x" * 1_000_000).stdout == b"1\n"
    assert execute(name, "import sys; print(len(sys.stdin.read()))", stdin=b"x" * 1_000_000).stdout == b"1000000\n"


def test_workspace_that_is_gone_is_said(execute, workspace, name):
    workspace.rmdir()

    with pytest.raises(SandboxError, match="could not be started"):
        execute(name, "print(1)")


def test_it_is_used_where_it_is_the_best_that_is_here(name):
    environ = (
        {"PATH": os.environ["PATH"]} if name != "folder" else {"PATH": "/nowhere", "WORKBENCH_ALLOW_UNSANDBOXED": "1"}
    )

    assert choose_sandbox(environ).name == name
