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
from workbench.engine.dryrun import dry_run
from workbench.engine.planning import plan_topology
from workbench.engine.validation import check_agent, check_topology
from workbench.experiments.models import Experiment
from workbench.experiments.services import starters_load as experiments_load
from workbench.topologies.services import starters_load as topologies_load

ROOT = Path(__file__).resolve().parent.parent
AGENTS = sorted((ROOT / "agents_catalog").glob("*.json"))
TOPOLOGIES = sorted((ROOT / "topologies").glob("*.json"))

ACCEPT, REVISE = '{"verdict": "accept"}', '{"verdict": "revise", "notes": "Shorter."}'
ANSWER = '{"answer": "main.py"}'
BARE, WHOLE = "main.py\n```\ndef greet():\n    pass\n```", "main.py\n```\nprint('hello')\n```"
PEOPLE = {"ask": [{"choice": "revise", "text": "Shorter."}, "publish"]}
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
    "ask_before_publish": (
        {"writer": ["draft", "better"]},
        "better",
        {"writer": 2, "ask": 2, "publish": 1},
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
    "plan_execute_verify": (
        {
            "planner": ['{"steps": ["Think."]}', '{"steps": ["Ask."]}'],
            "executor": ["one", "two", "three"],
            "verifier": [
                '{"verdict": "redo", "findings": "Too short."}',
                '{"verdict": "replan", "findings": "Nobody was asked."}',
                '{"verdict": "done", "findings": ""}',
            ],
        },
        "three",
        {"planner": 2, "executor": 3, "verifier": 3, "result": 1},
    ),
    "map_reduce_summary": (
        {"note": ["a note"], "merge": ["all of it"]},
        "all of it",
        {"text": 1, "note": 1, "merge": 1},
    ),
    "parallel_experts": (
        {"triage": ['{"risk": "none", "why": "Taste."}'], "answer": ["Both."]},
        "Both.",
        {"triage": 1, "practitioner": 1, "theorist": 1, "sceptic": 1, "chair": 1, "answer": 1},
    ),
    "chatdev": (
        {
            "modality_answer": ["A tool, I think.", "<INFO> command-line program"],
            "modality_ask": ["Which kind?"],
            "language_answer": ["<INFO> Python"],
            "code": [BARE],
            "complete": [BARE, WHOLE],
            "review": ["It greets nobody.", "<INFO> Finished"],
            "modify": ['{"question": "Whom?"}', "The world.", "reviewed"],
            "test": ['{"passes": false, "errors": "No name."}', '{"passes": true, "errors": ""}'],
            "fix": ['{"answer": "tested"}'],
            "requirements": ["python", "It is there anyway.", "nothing"],
            "manual": ["# How to greet"],
        },
        "tested",
        {
            "modality_answer": 2,
            "modality_ask": 1,
            "modality": 1,
            "language_answer": 1,
            "language": 1,
            "code": 1,
            "complete": 2,
            "draft": 1,
            "review": 2,
            "modify": 1,
            "reviewed": 1,
            "test": 2,
            "fix": 1,
            "program": 1,
            "requirements": 1,
            "manual": 1,
        },
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


def run_by_script(name, tmp_path, script, given):
    agents_load()
    file = tmp_path / "script.json"
    file.write_text(json.dumps({"default": "nothing", "nodes": script}))
    people = tmp_path / "people.json"
    people.write_text(json.dumps(PEOPLE))
    command = ["run", str(ROOT / "topologies" / f"{name}.json"), "--input", given, "--scripted", str(file), "--json"]
    command += ["--answers", str(people)]

    done = CliRunner().invoke(workbench, command)

    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", RUNS)
def test_a_shipped_topology_runs_to_its_end(name, tmp_path):
    script, output, visits = RUNS[name]

    result = run_by_script(name, tmp_path, script, "Tea is better than coffee.")

    assert result["status"] == "succeeded"
    assert result["output"] == output
    assert result["visits"] == visits


@pytest.mark.parametrize("path", TOPOLOGIES, ids=stems(TOPOLOGIES))
def test_every_edge_of_a_shipped_topology_can_fire(path):
    plan = plan_topology(check_topology(path.read_bytes(), ShippedCatalogue()).spec, ShippedCatalogue())

    report = dry_run(plan)

    assert [edge for edge in report.edges if not edge.fired] == []


@pytest.mark.django_db(transaction=True)
def test_a_long_text_is_noted_by_paragraphs_and_merged_three_at_a_time(tmp_path):
    text = "\n\n".join(f"Paragraph {number}." for number in range(7))

    result = run_by_script("map_reduce_summary", tmp_path, {"merge": ["whole"]}, text)

    assert result["output"] == "whole"
    assert result["visits"] == {"text": 1, "note": 1, "merge": 1}
    assert result["usage"]["model_calls"] == 7 + 3 + 1


@pytest.mark.django_db(transaction=True)
def test_a_risk_brings_the_adviser_whose_branch_is_dead_otherwise(tmp_path):
    script = {"triage": ['{"risk": "real", "why": "Mushrooms."}'], "answer": ["Ask first."]}

    result = run_by_script("parallel_experts", tmp_path, script, "May I eat this?")

    assert result["visits"]["adviser"] == 1
    assert result["output"] == "Ask first."


@pytest.mark.django_db(transaction=True)
def test_the_officers_of_chatdev_talk_ten_turns_at_most_and_the_counselor_concludes(tmp_path):
    script = {"modality_reflection": ["<INFO> page"], "language_answer": ["<INFO> Python"], "review": ["<INFO> finished"],
              "test": ['{"passes": true, "errors": ""}'], "code": [WHOLE]}  # fmt: skip

    result = run_by_script("chatdev", tmp_path, script, "Greet people.")

    visits = result["visits"]
    assert (visits["modality_answer"], visits["modality_ask"], visits["modality_reflection"]) == (10, 9, 1)
    assert "complete" not in visits
    assert result["output"] == WHOLE


@pytest.mark.django_db(transaction=True)
def test_chatdev_completes_ten_times_and_reviews_and_tests_three_times_at_most(tmp_path):
    failing = '{"passes": false, "errors": "It stops."}'
    script = {"modality_answer": ["<INFO> page"], "language_answer": ["<INFO> Python"], "code": [BARE],
              "complete": [BARE] * 10, "test": [failing] * 3, "modify": [ANSWER], "fix": [ANSWER]}  # fmt: skip

    result = run_by_script("chatdev", tmp_path, script, "Greet people.")

    visits = result["visits"]
    assert [visits[node] for node in ("complete", "review", "modify", "test", "fix")] == [10, 3, 3, 3, 3]


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
