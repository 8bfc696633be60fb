from __future__ import annotations

import json

import pytest

from tests.experiments.workbenches import chain


@pytest.fixture
def topologies(settings, tmp_path):
    """A repository of the test's own with the topology `chain`: two agents on `scripted/echo`."""
    from workbench.topologies.services import topology_save

    settings.TOPOLOGY_REPOSITORY = tmp_path / "topologies"
    settings.WORKSPACES = tmp_path / "workspaces"
    topology_save("chain", json.dumps(chain("chain", "scripted/echo", 2)), "For the test", "test")
