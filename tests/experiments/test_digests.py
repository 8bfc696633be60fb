"""Which state of a model a run has met is in its journal, and a change of it within an experiment is a note."""

from __future__ import annotations

import json

import pytest

from tests.experiments.test_worker import some
from tests.experiments.workbenches import chain, make_template, running_workbench
from tests.fake_models import fake_models  # noqa: F401

PAGES = """
from django.conf import settings
settings.ALLOWED_HOSTS = ["testserver"]
from django.test import Client
client = Client()
experiment = client.get("/experiments/1/").content.decode()
assert "sha-tiny:latest" in experiment and "sha-another" in experiment and "Q4_K_M" in experiment, experiment
assert "was not the same model throughout" in experiment
run = client.get("/runs/1/").content.decode()
assert "sha-tiny:latest" in run and "Q4_K_M" in run and "ollama 0.12.3" in run, run
"""
STARTS = "SELECT run_id, data FROM experiments_runevent WHERE kind = 'run_started' ORDER BY run_id"
NOTES = "SELECT run_id, data FROM experiments_runevent WHERE kind = 'noted'"


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    home = tmp_path_factory.mktemp("template") / "home"
    make_template(home)
    return home


def test_runs_know_the_digest_and_a_changed_one_is_a_note(tmp_path, template, fake_models):  # noqa: F811
    fake_models.models = {"tiny:latest": {"capabilities": ["completion"]}}
    with running_workbench(tmp_path / "home", template) as bench:
        bench.environ["OLLAMA_URL"] = fake_models.url
        bench.python(
            "from workbench.topologies.services import topology_save\n"
            f"topology_save('local', {json.dumps(chain('local', 'ollama/tiny', 1))!r}, 'For the test', 'test')"
        )
        bench.environ["WORKBENCH_RUNS_AT_ONCE"] = "1"
        fake_models.default.wait_headers = 0.5
        first = bench.worker()
        bench.start(**some(4, "local"))
        bench.wait_for("SELECT COUNT(*) >= 1 FROM experiments_run WHERE status = 'succeeded'", 1)
        first.kill()
        first.wait(10)

        fake_models.digests = {"tiny:latest": "sha-another"}
        bench.worker()
        bench.wait_for("SELECT status FROM experiments_experiment", "finished")

        assert [asked.path for asked in fake_models.requests].count("/api/generate") == 1
        loaded, *chats = [asked for asked in fake_models.requests if asked.path in ("/api/generate", "/api/chat")]
        assert loaded.path == "/api/generate"  # before the first run, and once
        assert {asked.body["options"]["num_ctx"] for asked in [loaded, *chats]} == {8192}
        versions = [json.loads(data)["versions"] for _, data in bench.rows(STARTS)]
        assert versions[0]["ollama"] == "0.12.3"
        assert versions[0]["ollama/tiny"] == "sha-tiny:latest"
        assert versions[0]["quantization of ollama/tiny"] == "Q4_K_M"
        assert versions[-1]["ollama/tiny"] == "sha-another"
        notes = dict(bench.rows(NOTES))
        assert notes
        assert min(notes) > 1
        assert "its digest was sha-tiny:latest, and is sha-another now" in next(iter(notes.values()))
        bench.python(PAGES)
