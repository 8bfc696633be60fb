from __future__ import annotations

import pytest

from workbench.engine.tools import TOOLS


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "workspace"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    return folder


@pytest.fixture
def use(workspace):
    """Use a tool as an agent does: by its name, with arguments as JSON."""

    def use(name, **arguments):
        tool = TOOLS.get(name)
        return tool().run(tool.Arguments.model_validate(arguments), workspace)

    return use
