"""A configuration may say which version of its topology it means."""

from __future__ import annotations

import json

import pytest

from tests.experiments.rows import make_dataset
from workbench.engine.errors import WorkbenchError
from workbench.experiments.drafting import Draft
from workbench.experiments.forms import draft_initial
from workbench.experiments.services import experiment_create
from workbench.experiments.spec import experiment_read
from workbench.topologies.selectors import stored_topology
from workbench.topologies.services import topology_save

pytestmark = pytest.mark.django_db


@pytest.fixture
def two_versions(topologies):
    """The commits of `chain` before and after a change of its description."""
    before = stored_topology("chain")
    document = json.loads(before.text)
    topology_save("chain", json.dumps(document | {"description": "Changed."}), "Say more")
    return before.commit, stored_topology("chain").commit


def made(reference):
    document = {"name": "Versions", "dataset": str(make_dataset(1)), "configurations": [{"topology": reference}]}
    return experiment_create(experiment_read(json.dumps(document)))


def test_newest_version_is_meant_unless_a_commit_is_named(two_versions):
    older, newest = two_versions

    assert Draft(made("chain")).configurations[0].commit == newest
    assert Draft(made(f"chain@{older}")).configurations[0].commit == older
    assert Draft(made(f"chain@{older[:10]}")).configurations[0].commit.startswith(older[:10])


def test_draft_that_is_changed_on_its_page_keeps_its_version(two_versions):
    older, _ = two_versions

    (configuration,) = draft_initial(made(f"chain@{older}"))["configurations"]

    assert (configuration["topology"], configuration["version"]) == ("chain", older)


def test_version_that_does_not_exist_is_a_sentence(two_versions):
    problems = Draft(made("chain@" + "0" * 40)).problems

    assert [problem.path for problem in problems] == ["/configurations/0/topology"]


def test_reference_that_is_none_is_refused(two_versions):
    with pytest.raises(WorkbenchError):
        made("chain@newest")
