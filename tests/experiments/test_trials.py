"""Trying a draft: a real run of what stands in the editor, which no experiment and no result knows of."""

from __future__ import annotations

import pytest
from django.urls import reverse

from tests.experiments.executing import execute
from workbench.experiments.models import Experiment, Run
from workbench.topologies.drafts import Asked, draft_change, draft_open
from workbench.topologies.models import Topology, TopologyDraft

SCRIPT = {"nodes": {"step1": ["Hello"], "step2": ["Hello again"]}}

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def draft(client, topologies) -> TopologyDraft:
    """The draft of `chain`, with a label that was never committed."""
    client.get(reverse("topology_edit", args=["chain"]))
    draft = TopologyDraft.objects.get(name="chain")
    name = next(iter(client.get(reverse("topology_edit_state", args=["chain"])).json()["document"]["nodes"]))
    draft_change(
        draft, Asked(draft.version, [{"do": "set", "node": name, "path": "/label", "value": "Only in the draft"}])
    )
    return draft_open("chain", draft.author)


def test_a_trial_runs_the_draft_and_belongs_to_no_experiment(client, draft):
    answer = client.post(reverse("topology_trial", args=["chain"]), {"text": "Say hello"})

    run = Run.objects.get()
    assert answer.url.startswith(reverse("topology_trial_run", args=["chain", run.pk]))
    assert (run.experiment, run.status, run.input) == (None, "queued", "Say hello")
    assert "Only in the draft" in str(run.plan.data)
    assert "waits for a worker" in client.get(answer.url).content.decode()
    execute(run, SCRIPT)
    page = client.get(answer.url, headers={"hx-request": "true"}).content.decode()
    assert "Hello again" in page
    assert "hx-trigger" not in page, "what has ended asks no more"
    assert 'id="studio-lights"' in page
    assert '"e1": 1' in page
    assert not Experiment.objects.exists()


def test_what_keeps_a_trial_from_running_is_said_and_nothing_is_queued(client, draft):
    address = reverse("topology_trial", args=["chain"])

    assert "Say what is to be solved" in client.post(address, {}).content.decode()
    draft_change(draft, Asked(draft.version, [{"do": "set", "path": "/end", "value": []}]))
    assert "no end node" in client.post(address, {"text": "x"}).content.decode()
    assert not Run.objects.exists()


def test_the_gallery_says_what_runs_of_a_topology_took(client, draft):
    client.post(reverse("topology_trial", args=["chain"]), {"text": "Say hello"})
    topology = Topology.objects.get(name="chain")
    address = f"{reverse('topology_costs')}?topologies={topology.pk},x,999"
    assert "last run" in client.get(address).content.decode()

    execute(Run.objects.get(), SCRIPT)

    page = client.get(address).content.decode()
    assert "(n = 1)" in page
    assert f'id="cost-{topology.pk}" hx-swap-oob="true"' in page
