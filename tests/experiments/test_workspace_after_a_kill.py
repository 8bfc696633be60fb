"""A worker is killed while sandboxed code writes: the next one begins the call with the files as they were."""

from __future__ import annotations

import json
import signal
import time

from tests.engine.support import topology

CODE = """
import os, time
print(sorted(os.listdir()))
open("half", "w").write("x")
time.sleep(2)
open("whole", "w").write("y")
"""
WRITES = topology(
    {
        "first": {"type": "tool", "tool": "write_file", "args": {"path": "kept", "content": "k"}},
        "code": {"type": "python", "code": CODE},
    },
    [("first", "code")],
    end=["code"],
)


def test_call_that_a_kill_cut_short_is_made_again_with_the_files_as_they_were(bench):
    text = json.dumps({**WRITES, "name": "writes"})
    bench.python(
        "from workbench.topologies.services import topology_save\n"
        f"topology_save('writes', {text!r}, 'For the test', 'test')"
    )
    worker = bench.worker()
    bench.start(dataset="twenty", instances=["i000"], configurations=[{"topology": "writes"}])
    bench.wait_for("SELECT COUNT(*) FROM experiments_run WHERE attempt = 1", 1)
    folder = bench.home / "workspaces" / str(bench.rows("SELECT id FROM experiments_run")[0][0])
    end = time.monotonic() + 60
    while not (folder / "half").exists():
        assert time.monotonic() < end, bench.logs()
        time.sleep(0.02)

    worker.send_signal(signal.SIGKILL)
    bench.worker()
    bench.wait_for("SELECT status FROM experiments_experiment", "finished")

    assert bench.rows("SELECT status, output FROM experiments_run") == [("succeeded", "['kept']\n")]
    assert {path.name: path.read_text() for path in folder.iterdir()} == {"kept": "k", "half": "x", "whole": "y"}
    calls = bench.rows("SELECT node, COUNT(*) FROM experiments_runevent WHERE kind = 'tool_called' GROUP BY node")
    assert dict(calls) == {"first": 1, "code": 1}
