"""What models can't do is said before the start: asked of a server over real HTTP, seen on the page of the draft."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest
from django.urls import reverse

from tests.experiments.rows import make_dataset
from tests.experiments.workbenches import chain
from tests.fake_models import Raw, fake_models  # noqa: F401
from workbench.engine.context import RunInput
from workbench.engine.errors import InvalidDocument
from workbench.engine.events import MemoryJournal
from workbench.engine.planning import RunPlan
from workbench.engine.providers import Providers
from workbench.engine.runtime import run_plan
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


def asked_for(ollama, experiment) -> list[dict]:
    """What reaches the server when each configuration of a started experiment is run once."""

    plans = [RunPlan.model_validate(run.plan.data) for run in experiment.runs.select_related("plan").order_by("pk")]

    async def run_all():
        providers = Providers({"OLLAMA_URL": ollama.url})
        for plan in plans:
            journal = MemoryJournal()
            given, stop = RunInput("A sentence."), asyncio.Event()
            await run_plan(
                plan, given, providers=providers, journal=journal, workspace=Path("."), stop=stop, run_id="1"
            )
        await providers.close()

    asyncio.run(run_all())
    return ollama.chats


def with_window(name, window, **node) -> None:
    document = chain(name, "ollama/able:1b", 2)
    document["nodes"]["step2"]["params"] = {"num_ctx": window}
    topology_save(name, json.dumps(document), "For the test", "test")


def test_windows_of_different_sizes_for_one_model_are_a_warning_and_one_is_asked_for(client, ollama):
    experiment = draft("ollama/able:1b", "ollama/able:1b")
    with_window("chain1", 16384)

    page = told(client, experiment)
    experiment_start(experiment)

    assert "ollama/able:1b is asked for with windows of different sizes" in page
    assert "8,192 tokens (chain0, node &#x27;step1&#x27;); 16,384 tokens (chain1, node &#x27;step2&#x27;)" in page
    assert {body["options"]["num_ctx"] for body in asked_for(ollama, experiment)} == {16384}


def test_a_configuration_that_sets_the_window_itself_keeps_it(ollama, db):
    experiment = draft("ollama/able:1b", "ollama/able:1b")
    experiment.configurations.filter(position=1).update(overrides={"params": {"num_ctx": 2048}})

    experiment_start(experiment)

    assert [body["options"]["num_ctx"] for body in asked_for(ollama, experiment)] == [8192, 8192, 2048, 2048]


def test_a_window_that_no_dialect_can_ask_for_is_said(client, ollama, monkeypatch):
    monkeypatch.setenv("OPENAI_COMPATIBLE_URL", ollama.url)
    experiment = draft("openai_compatible/able:1b", params={"num_ctx": 4096})

    assert "num_ctx of node &#x27;step1&#x27; has no effect" in told(client, experiment)


def test_the_model_that_was_chosen_last_is_the_one_that_is_asked(client, ollama):
    experiment = draft("ollama/able:1b")
    form = {
        "name": "An experiment", "dataset": str(experiment.dataset_version), "which": "all", "repetitions": "1",
        "configuration-TOTAL_FORMS": "1", "configuration-INITIAL_FORMS": "0", "configuration-0-topology": "chain0",
        "evaluator-TOTAL_FORMS": "0", "evaluator-INITIAL_FORMS": "0",
    }  # fmt: skip
    for model in ("ollama/oldie", "ollama/talker:1b"):
        saved = client.post(reverse("experiment_edit", args=[experiment.pk]), {**form, "configuration-0-model": model})
        assert saved.status_code == 302

    experiment_start(experiment)

    assert {body["model"] for body in asked_for(ollama, experiment)} == {"talker:1b"}


def test_models_to_choose_from_are_those_that_chat_and_anything_may_be_typed(client, ollama):
    experiment = draft("ollama/able:1b")
    told(client, experiment)
    ollama.instead["/api/tags"] = Raw(status=500, body={"error": "broken"})

    page = client.get(reverse("experiment_create")).content.decode()

    assert '<option value="ollama/talker:1b">' in page
    assert "embedder" not in page


def test_a_silent_server_keeps_neither_page_nor_start_waiting_for_long(client, ollama):
    ollama.instead["/api/version"] = Raw(wait_headers=30)
    experiment = draft("ollama/able:1b")
    began = time.monotonic()

    client.get(reverse("experiment_detail", args=[experiment.pk]))

    assert time.monotonic() - began < 2
    assert experiment_start(experiment) == 1
    assert time.monotonic() - began < 8
