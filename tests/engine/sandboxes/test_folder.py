from __future__ import annotations

import os

import pytest

from workbench.engine.sandboxes.folder import Folder


@pytest.mark.parametrize("value", ["", "0", "true", "yes"])
def test_it_is_refused_unless_the_operator_allowed_it(value):
    assert "WORKBENCH_ALLOW_UNSANDBOXED=1" in Folder.available({"WORKBENCH_ALLOW_UNSANDBOXED": value})
    assert Folder.available({}) != ""
    assert Folder.available({"WORKBENCH_ALLOW_UNSANDBOXED": "1"}) == ""


def test_it_says_that_it_does_not_isolate():
    assert not Folder.isolates


def test_its_temporary_folder_goes_with_it(execute):
    code = "import os, tempfile; print(tempfile.gettempdir() == os.environ['HOME'], os.environ['HOME'])"

    right, home = execute("folder", code).stdout.decode().split()

    assert right == "True"
    assert not os.path.exists(home)
