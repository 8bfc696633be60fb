"""The command line as a whole: what can happen to every command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.supervised import WORKBENCH

TOPOLOGY = Path(__file__).parent.parent / "topologies" / "single_agent.json"


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is Linux's")
def test_full_disk_below_the_output_is_a_sentence():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [WORKBENCH, "check", str(TOPOLOGY), "--json"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )

    assert done.returncode == 2
    assert done.stderr == "workbench: Nothing more can be written (No space left on device). Free some space.\n"
