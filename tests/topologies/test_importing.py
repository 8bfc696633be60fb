"""`workbench import`, and `check` and `run` of files of other systems, which speak in the ids of the original."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from workbench.catalog.shipped import ShippedCatalogue
from workbench.cli import workbench
from workbench.topologies.importing import document_checked, topology_document

DATA = Path(__file__).parents[1] / "engine" / "formats" / "data"
DEVALL, OPENDRACO = DATA / "devall", DATA / "opendraco"
EXPECTED = json.loads((DEVALL / "expected.json").read_text())
LITERAL = {"type": "literal", "content": "x"}
OWN = {
    "format": "workbench.topology/1",
    "name": "t",
    "start": ["a"],
    "end": ["a"],
    "nodes": {"a": LITERAL},
    "edges": [],
}


def called(*arguments, **kwargs):
    nobodys = {"DATABASE_URL": None}  # agents come from the files that ship
    return CliRunner(env=nobodys).invoke(workbench, [str(argument) for argument in arguments], **kwargs)


def waits_for_the_engine(name):
    """Whether the case needs something that the engine refuses as not yet supported."""
    file = DEVALL / f"{name}.yaml"
    checked, _ = document_checked(str(file), file.read_bytes(), ShippedCatalogue())
    return any(problem.code == "not_yet_supported" for problem in checked.problems)


# What a run must come to: `expected.json` holds DevAll's record and, where `ours` stands, what replaces it.


def fits(report, case, nodes):
    """Whether the report is one of the outcomes that are right for the case."""
    ours = case.get("ours")
    if ours is None:
        return _result(report, case, nodes)
    return any(_fits(report, outcome, nodes) for outcome in [ours, *ours.get("or", [])])


def _fits(report, outcome, nodes):
    kind = outcome["outcome"]
    if kind == "result":
        return _result(report, outcome, nodes)
    if kind == "error":
        stages = {"validation": ("invalid",), "run": ("failed",), "validation_or_run": ("invalid", "failed")}
        text = json.dumps(report.get("problems", report.get("reason")), ensure_ascii=False)
        return report["status"] in stages[outcome["stage"]] and all(word in text for word in outcome["names"])
    status = {"no_result": "incomplete", "limit_reached": "limit_reached"}[kind]
    named = all(word in report.get("reason", "") for word in outcome.get("names", []))
    return report["status"] == status and not report["output"] and named and _ran(report, outcome, nodes)


def _result(report, outcome, nodes):
    output = report.get("output") or ""
    final = output == outcome["final"] if "final" in outcome else output.startswith(outcome["final_starts_with"])
    return report["status"] == "succeeded" and final and _ran(report, outcome, nodes)


def _ran(report, outcome, nodes):
    free = set(outcome.get("free", []))
    visits = {node: count for node, count in report["visits"].items() if node in nodes - free}
    outputs = {node: texts for node, texts in report["node_outputs"].items() if texts and node in nodes - free}
    return visits == outcome["executions"] and outputs == outcome.get("outputs", outputs)


def test_the_engine_has_what_the_graphs_need():
    assert [name for name in EXPECTED if waits_for_the_engine(name)] == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", EXPECTED)
def test_a_devall_graph_runs_as_it_should(name):
    file = DEVALL / f"{name}.yaml"
    nodes = {node["id"] for node in yaml.safe_load(file.read_text())["graph"]["nodes"]}

    done = called("run", file, "--input", EXPECTED[name]["prompt"], "--json")

    report = json.loads(done.stdout)
    assert fits(report, EXPECTED[name], nodes), json.dumps(report, indent=2)


@pytest.mark.django_db(transaction=True)
def test_run_speaks_in_the_original_ids_and_so_does_its_script(tmp_path):
    document = json.loads((OPENDRACO / "tree_two_ends.json").read_text())
    text = json.dumps(document).replace("find_text", "find text").replace("sorter", "9th sorter")
    (tmp_path / "tree.json").write_text(text)
    script = {"nodes": {"9th sorter": [{"targets": ["find text"]}], "find text": ["line 3"]}}
    (tmp_path / "script.json").write_text(json.dumps(script))

    done = called(
        "run", tmp_path / "tree.json", "--input", "P", "--scripted", tmp_path / "script.json", "--json"
    )  # fmt: skip

    report = json.loads(done.stdout)
    assert report["status"] == "succeeded"
    assert report["output"] == "Reword this: line 3"
    assert report["visits"] == {"9th sorter": 1, "find text": 1, "text_fix": 1}
    assert report["order"] == ["9th sorter", "find text", "text_fix"]
    assert report["node_outputs"]["find text"] == ["line 3"]
    assert report["notes"]


def test_import_prints_topology_notes_and_problems():
    done = called("import", DEVALL / "majority.yaml", "--json")

    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert list(found) == ["topology", "notes", "problems"]
    assert found["topology"]["end"] == ["vote"]
    assert any("vote" in note for note in found["notes"])
    assert found["problems"] == []


@pytest.mark.parametrize("name", ["chain_small", "fanout_unequal", "router_star", "tree_two_ends"])
def test_an_opendraco_graph_imports_without_problems(name):
    done = called("import", OPENDRACO / f"{name}.json", "--json")

    assert done.exit_code == 0
    assert json.loads(done.stdout)["problems"] == []


def test_import_fails_with_the_place_in_the_file():
    done = called("import", DEVALL / "edge_unknown_key.yaml", "--json")

    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert [problem["path"] for problem in found["problems"]] == ["/graph/edges/0/conditon"]


def test_for_people_the_topology_goes_to_standard_output_and_the_rest_beside_it():
    done = called("import", DEVALL / "cond_keyword_any.yaml")

    assert done.exit_code == 0
    assert json.loads(done.stdout)["format"] == "workbench.topology/1"
    assert "note: A loop of DevAll" in done.stderr
    assert called("import", DEVALL / "edge_unknown_key.yaml").stdout == ""


def test_what_import_prints_is_a_topology_like_any_other():
    text = called("import", DEVALL / "cond_keyword_any.yaml").stdout

    done = called("import", "-", "--json", input=text)

    assert json.loads(done.stdout) == {"topology": json.loads(text), "notes": [], "problems": []}


def test_own_documents_are_unchanged():
    imported = topology_document("t.json", json.dumps(OWN))

    assert (imported.topology, imported.notes, imported.problems, imported.format) == (OWN, [], [], "")


def test_own_yaml_is_checked_like_json():
    done = called("check", "-", "--json", input=yaml.safe_dump({**OWN, "strat": []}))

    assert done.exit_code == 1
    assert [(problem["code"], problem["path"]) for problem in json.loads(done.stdout)] == [("unknown_key", "/strat")]


def test_problems_of_the_topology_are_said_of_the_original():
    text = "graph:\n  id: g\n  start: a b\n  end: c d\n  nodes:\n"
    text += "".join(f"    - {{id: {name}, type: passthrough, config: {{}}}}\n" for name in ("a b", "c d"))

    done = called("check", "-", "--json", input=text)

    found = json.loads(done.stdout)
    assert ("unreachable_end", "/graph/nodes/1") in [(problem["code"], problem["path"]) for problem in found]
    assert "'c d'" in found[0]["message"]


def test_check_tells_people_the_notes():
    done = called("check", DEVALL / "cond_keyword_any.yaml")

    assert done.exit_code == 0
    assert "note: A loop of DevAll" in done.stdout
    assert "No problems." in done.stdout


def test_yaml_of_an_unknown_kind_is_refused_with_the_formats_that_are_known(tmp_path):
    (tmp_path / "x.yaml").write_text("services: {}\n")

    done = called("import", tmp_path / "x.yaml", "--json")

    assert done.exit_code == 1
    problem = json.loads(done.stdout)["problems"][0]
    assert problem["code"] == "unknown_format"
    assert "devall" in problem["hint"]
