"""Each agent and topology that ships is found here, stands on disk as it is written out, is valid, and runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from workbench.catalog.services import starters_load as agents_load
from workbench.catalog.shipped import ShippedCatalogue
from workbench.cli import workbench
from workbench.datasets.services import starters_load as datasets_load
from workbench.engine.documents import canonical_json, read_json
from workbench.engine.validation import check_agent, check_topology
from workbench.experiments.models import Experiment
from workbench.experiments.services import starters_load as experiments_load
from workbench.topologies.services import starters_load as topologies_load

ROOT = Path(__file__).resolve().parent.parent
AGENTS = sorted((ROOT / "agents_catalog").glob("*.json"))
TOPOLOGIES = sorted((ROOT / "topologies").glob("*.json"))

ACCEPT, REVISE = '{"verdict": "accept"}', '{"verdict": "revise", "notes": "Shorter."}'
# What the scripted model says in each, and the answer and visits that must come of it.
RUNS = {
    "single_agent": ({"label": ["request"]}, "request", {"label": 1}),
    "few_shot": ({"label": ["statement"]}, "statement", {"label": 1}),
    "schema_answer": ({"label": ['"question"']}, "question", {"label": 1}),
    "vote_of_three": (
        {"first": ['"question"'], "second": ['"request"'], "third": ['"request"']},
        "request",
        {"first": 1, "second": 1, "third": 1, "decision": 1},
    ),
    "write_and_review": (
        {"writer": ["draft", "better"], "reviewer": [REVISE, ACCEPT]},
        "better",
        {"writer": 2, "reviewer": 2, "publish": 1},
    ),
    "translate": (
        {"translator": ["one", "two", "three"], "reviewer": [REVISE, REVISE, REVISE]},
        "three",
        {"translator": 3, "reviewer": 3, "publish": 1},
    ),
    "debate": (
        {"for": ["a", "b", "c"], "against": ["x", "y", "z"], "judge": ["Yes, because of b."]},
        "Yes, because of b.",
        {"for": 3, "against": 3, "judge": 1},
    ),
}


def stems(paths: list[Path]) -> list[str]:
    return [path.stem for path in paths]


def test_what_ships_is_what_is_promised():
    assert set(stems(TOPOLOGIES)) == set(RUNS)
    assert len(AGENTS) >= 12


@pytest.mark.parametrize("path", [*AGENTS, *TOPOLOGIES], ids=lambda path: path.stem)
def test_a_starter_stands_on_disk_in_its_canonical_form_under_its_own_name(path):
    text = path.read_text(encoding="utf-8")

    document = read_json(text).data

    assert canonical_json(document) == text
    assert document["name"] == path.stem
    assert document["description"]


@pytest.mark.parametrize("path", AGENTS, ids=stems(AGENTS))
def test_a_shipped_agent_has_no_problems_and_says_what_it_expects_gives_and_where_it_is_from(path):
    checked = check_agent(path.read_bytes())

    assert checked.problems == []
    assert checked.spec.expects
    assert checked.spec.gives
    assert checked.spec.provenance.project == "workbench"


@pytest.mark.parametrize("path", TOPOLOGIES, ids=stems(TOPOLOGIES))
def test_a_shipped_topology_has_no_problems(path):
    assert check_topology(path.read_bytes(), ShippedCatalogue()).problems == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", RUNS)
def test_a_shipped_topology_runs_to_its_end(name, tmp_path):
    agents_load()
    script, output, visits = RUNS[name]
    file = tmp_path / "script.json"
    file.write_text(json.dumps({"default": "nothing", "nodes": script}))
    command = ["run", str(ROOT / "topologies" / f"{name}.json"), "--input", "Tea is better than coffee."]

    done = CliRunner().invoke(workbench, [*command, "--scripted", str(file), "--json"])

    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert result["status"] == "succeeded"
    assert result["output"] == output
    assert result["visits"] == visits


def test_the_judge_of_the_debate_hears_every_argument():
    topology = json.loads((ROOT / "topologies" / "debate.json").read_text())
    data = [edge for edge in topology["edges"] if edge["to"] == "judge" and edge.get("trigger") is False]

    assert {edge["from"] for edge in data} == {"for", "against"}


@pytest.mark.django_db
def test_the_ready_made_experiment_asks_for_the_label_not_for_how_it_is_written():
    agents_load()
    topologies_load()
    datasets_load()
    experiments_load()

    [experiment] = Experiment.objects.all()

    assert experiment.ships
    assert experiment.evaluators == [{"name": "exact_match", "options": {"casefold": True, "strip_punctuation": True}}]
