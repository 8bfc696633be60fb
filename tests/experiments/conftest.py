from __future__ import annotations

import json

import pytest

from tests.experiments.workbenches import chain, make_template, running_workbench


@pytest.fixture
def topologies(settings, tmp_path):
    """A repository of the test's own with the topology `chain`: two agents on `scripted/echo`."""
    from workbench.topologies.services import topology_save

    settings.TOPOLOGY_REPOSITORY = tmp_path / "topologies"
    settings.WORKSPACES = tmp_path / "workspaces"
    topology_save("chain", json.dumps(chain("chain", "scripted/echo", 2)), "For the test", "test")


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A home with tables, a data set and topologies, to be copied."""
    home = tmp_path_factory.mktemp("template") / "home"
    make_template(home)
    return home


@pytest.fixture
def bench(tmp_path, template):
    """A workbench with a queue, whose workers a test starts."""
    with running_workbench(tmp_path / "home", template) as bench:
        yield bench
