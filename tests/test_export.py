"""`workbench export`: an experiment as files that other programs read, with every column explained."""

from __future__ import annotations

import csv
import json
from decimal import Decimal

import pytest
from click.testing import CliRunner

from tests.evaluations.rows import make_experiment
from workbench.cli import workbench
from workbench.engine.events import EVENT, ModelCalled
from workbench.evaluations.services import evaluation_start
from workbench.evaluations.tasks import evaluation_run_task
from workbench.experiments.forking import events_inherit
from workbench.experiments.models import Run, RunEvent

pytestmark = pytest.mark.django_db

ANSWERS = {
    "first": ["yes", "=1+1", {"status": "failed", "code": "timed_out", "reason": "Too slow."}],
    "second": ["no", {"output": "zwei\nZeilen, „ja“", "cost_usd": None, "unpriced_calls": 2}, "yes"],
}
FILES = ["experiment.json", "runs.csv", "runs.jsonl", "scores.csv", "scores.jsonl"]


@pytest.fixture
def experiment():
    made = make_experiment(ANSWERS, references=["yes"] * 3)
    evaluation_run_task(evaluation_start(made, "exact_match").pk)
    return made


def export(*arguments) -> str:
    done = CliRunner().invoke(workbench, ["export", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def lines(path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def cells(path) -> list[dict]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def same(text: str, value: object) -> bool:
    """Whether a cell says what the object does."""
    if isinstance(value, bool | dict):
        return json.loads(text) == value
    return text.removeprefix("'") == ("" if value is None else str(value))


def test_runs_and_scores_stand_in_both_forms_and_say_the_same(experiment, tmp_path):
    said = export(experiment.pk, "--out", tmp_path)

    assert said == f"{tmp_path}: 6 runs, 6 scores\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == FILES
    for name in ("runs", "scores"):
        objects, rows = lines(tmp_path / f"{name}.jsonl"), cells(tmp_path / f"{name}.csv")
        assert [list(row) for row in rows] == [list(line) for line in objects]
        for line, row in zip(objects, rows, strict=True):
            for key, value in line.items():
                assert same(row[key], value), key


def test_a_run_that_failed_is_there_with_its_reason(experiment, tmp_path):
    export(experiment.pk, "--out", tmp_path)

    (failed,) = [line for line in lines(tmp_path / "runs.jsonl") if line["status"] == "failed"]
    assert (failed["configuration"], failed["instance"], failed["repetition"]) == ("first", "i2", 1)
    assert (failed["code"], failed["reason"], failed["output"]) == ("timed_out", "Too slow.", None)


def test_unknown_is_null_and_money_is_exact(experiment, tmp_path):
    Run.objects.filter(output="yes").update(cost_usd=Decimal("0.000000001"))

    export(experiment.pk, "--out", tmp_path)

    costs = {line["output"]: line["cost_usd"] for line in lines(tmp_path / "runs.jsonl")}
    assert costs == {"yes": "0.000000001", "=1+1": "0.002", None: "0.002", "no": "0.002", "zwei\nZeilen, „ja“": None}


def test_text_that_a_spreadsheet_would_run_stays_text(experiment, tmp_path):
    export(experiment.pk, "--out", tmp_path)

    assert "'=1+1" in [row["output"] for row in cells(tmp_path / "runs.csv")]
    assert "=1+1" in [line["output"] for line in lines(tmp_path / "runs.jsonl")]


def test_every_column_is_explained_beside_the_files(experiment, tmp_path):
    export(experiment.pk, "--out", tmp_path, "--events")

    facts = json.loads((tmp_path / "experiment.json").read_text())
    assert facts["format"] == "workbench.export/1"
    assert [one["label"] for one in facts["configurations"]] == ["first", "second"]
    assert [one["evaluator"] for one in facts["evaluations"]] == ["exact_match"]
    for name, table in facts["tables"].items():
        with (tmp_path / f"{name}.csv").open(newline="") as file:
            assert next(csv.reader(file)) == list(table["columns"])
        assert all(meaning.endswith(".") for meaning in table["columns"].values())
    assert {name: table["rows"] for name, table in facts["tables"].items()} == {"runs": 6, "scores": 6, "events": 0}


def test_long_events_are_exported_whole_and_read_back(experiment, tmp_path):
    run = experiment.runs.first()
    event = ModelCalled(
        at=1.5, node="a", visit=1, call=1, model="x/y", content="long " * 10_000, reply={"said": "l" * 40_000}
    )
    events_inherit(run, [event])
    assert len(run.events.get().data) < 2000

    export(experiment.pk, "--out", tmp_path, "--events")

    (line,) = lines(tmp_path / "events.jsonl")
    assert EVENT.validate_python(line["event"]) == event
    (row,) = cells(tmp_path / "events.csv")
    assert EVENT.validate_json(row["event"]) == event


def test_events_come_when_asked_for_with_every_character(experiment, tmp_path):
    run = experiment.runs.first()
    event = {"at": 1.5, "kind": "noted", "text": "NUL \0, half a pair \ud83d, ü", "code": "", "node": "a", "visit": 1}
    RunEvent.objects.create(
        run=run, sequence=1, attempt=1, kind="noted", node="a", visit=1, at=1.5, data=json.dumps(event)
    )

    said = export(experiment.pk, "--out", tmp_path, "--events")

    assert said.endswith("6 runs, 6 scores, 1 events\n")
    (line,) = lines(tmp_path / "events.jsonl")
    assert (line["run_id"], line["sequence"], line["event"]) == (run.pk, 1, event)
    (row,) = cells(tmp_path / "events.csv")
    assert json.loads(row["event"]) == event


def test_a_second_export_replaces_the_first_and_leaves_other_files(experiment, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    export(experiment.pk, "--out", tmp_path)

    Run.objects.filter(experiment=experiment).update(status="stopped")
    export(experiment.pk, "--out", tmp_path)

    assert {line["status"] for line in lines(tmp_path / "runs.jsonl")} == {"stopped"}
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*FILES, "notes.txt"])


def test_its_cost_in_queries_does_not_grow_with_the_runs(experiment, tmp_path, django_assert_max_num_queries):
    with django_assert_max_num_queries(8):
        export(experiment.pk, "--out", tmp_path, "--events")


@pytest.mark.parametrize("wanted", [("999999",), ("0",), ("first",)])
def test_an_experiment_that_is_not_there_is_a_sentence(wanted, tmp_path):
    done = CliRunner().invoke(workbench, ["export", *wanted, "--out", str(tmp_path)])

    assert done.exit_code != 0
    assert not list(tmp_path.iterdir())


def test_a_folder_that_can_not_be_written_to_is_a_sentence(experiment, tmp_path):
    (tmp_path / "file").write_text("")
    from workbench.engine.errors import WorkbenchError

    with pytest.raises(WorkbenchError, match="can’t be written to"):
        CliRunner().invoke(
            workbench,
            ["export", str(experiment.pk), "--out", str(tmp_path / "file" / "folder")],
            catch_exceptions=False,
        )
