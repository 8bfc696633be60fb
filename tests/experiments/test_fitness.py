"""What models can't do is said before the start: asked of a server over real HTTP, seen on the page of the draft."""

from __future__ import annotations

import json
import time

import pytest
from django.urls import reverse

from tests.experiments.rows import make_dataset
from tests.experiments.workbenches import chain
from tests.fake_models import Raw, fake_models  # noqa: F401
from workbench.engine.errors import InvalidDocument
from workbench.experiments.models import Experiment, Run
from workbench.experiments.services import experiment_start
from workbench.topologies.services import topology_save


@pytest.fixture
def ollama(fake_models, monkeypatch, settings, tmp_path, db):  # noqa: F811
    monkeypatch.setenv("OLLAMA_URL", fake_models.url)
    settings.TOPOLOGY_REPOSITORY = tmp_path / "topologies"
    fake_models.models = {
        "able:1b": {"capabilities": ["completion", "tools"]},
        "talker:1b": {"capabilities": ["completion"]},
        "embedder:latest": {"capabilities": ["embedding"]},
        "oldie:latest": {},
    }
    return fake_models


def draft(*models, **changes) -> Experiment:
    """A draft with a configuration for each model; `changes` are fields of all nodes."""
    experiment = Experiment.objects.create(name="An experiment", dataset_version=make_dataset(1))
    for position, model in enumerate(models):
        document = chain(f"chain{position}", model, 2)
        for node in document["nodes"].values():
            node.update(changes)
        topology_save(f"chain{position}", json.dumps(document), "For the test", "test")
        experiment.configurations.create(position=position, label=f"chain{position}", topology=f"chain{position}")
    return experiment


def told(client, experiment) -> str:
    """What the page says once the providers were asked, as a browser shows it."""
    page = client.get(reverse("experiment_detail", args=[experiment.pk])).content.decode()
    return page + client.get(reverse("experiment_providers", args=[experiment.pk])).content.decode()


def test_a_model_that_only_embeds_is_refused_before_any_call(client, ollama):
    experiment = draft("ollama/embedder")

    with pytest.raises(InvalidDocument, match="node 'step1' asks ollama/embedder, which can't chat"):
        experiment_start(experiment)

    assert ollama.chats == []
    assert not Run.objects.exists()
    assert "which can&#x27;t chat" in told(client, experiment)


def test_a_model_without_tools_is_refused_where_a_node_has_some(client, ollama):
    experiment = draft("ollama/talker:1b", tools=["read_file"])

    with pytest.raises(InvalidDocument, match="node 'step1' has tools, and its model ollama/talker:1b can't use any"):
        experiment_start(experiment)

    assert ollama.chats == []


def test_what_is_unknown_is_a_warning_and_stops_nothing(client, ollama):
    experiment = draft("ollama/oldie", "ollama/absent:1b")

    page = told(client, experiment)

    assert "whether ollama/oldie can chat is unknown" in page
    assert "ollama has no model &#x27;absent:1b&#x27; at present." in page
    assert "ollama pull absent:1b" in page
    assert experiment_start(experiment) == 2


def test_models_that_can_do_what_is_asked_are_not_spoken_of(client, ollama):
    experiment = draft("ollama/able:1b", tools=["read_file"])

    assert "problem-" not in told(client, experiment)
    assert experiment_start(experiment) == 1


def test_a_problem_is_said_once_when_the_page_knew_it_already(client, ollama):
    experiment = draft("ollama/embedder")
    told(client, experiment)

    assert told(client, experiment).count("which can&#x27;t chat") == 2  # two nodes


def test_windows_of_different_sizes_for_one_model_are_a_warning(client, ollama):
    experiment = draft("ollama/able:1b", "ollama/able:1b")
    document = chain("chain1", "ollama/able:1b", 2)
    document["nodes"]["step2"]["params"] = {"num_ctx": 16384}
    topology_save("chain1", json.dumps(document), "For the test", "test")

    page = told(client, experiment)

    assert "ollama/able:1b is asked for with windows of different sizes" in page
    assert "8,192 tokens (chain0, node &#x27;step1&#x27;); 16,384 tokens (chain1, node &#x27;step2&#x27;)" in page


def test_a_silent_server_keeps_neither_page_nor_start_waiting_for_long(client, ollama):
    ollama.instead["/api/version"] = Raw(wait_headers=30)
    experiment = draft("ollama/able:1b")
    began = time.monotonic()

    client.get(reverse("experiment_detail", args=[experiment.pk]))

    assert time.monotonic() - began < 2
    assert experiment_start(experiment) == 1
    assert time.monotonic() - began < 8
