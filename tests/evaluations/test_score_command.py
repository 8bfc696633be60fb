"""`workbench score`: two files in, a verdict out, no database; what does not fit together is refused by name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from workbench.cli import workbench

BLEU = json.loads((Path(__file__).parent.parent / "evaluators" / "data" / "bleu.json").read_text())["cases"]
CORPORA = [case for case in BLEU if case["level"] in ("corpus", "both") and "refused" not in case["expected"]]


@pytest.fixture
def score(tmp_path):
    """Runs the command over two texts (or lists of rows) and gives click's result."""

    def run(evaluator, predictions, references, *arguments):
        paths = []
        for name, content in (("predictions.jsonl", predictions), ("references.jsonl", references)):
            if isinstance(content, list):
                content = "".join(json.dumps(row) + "\n" for row in content)
            path = tmp_path / name
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
            paths.append(str(path))
        given = ["score", evaluator, "--predictions", paths[0], "--references", paths[1], *arguments]
        return CliRunner().invoke(workbench, given)

    return run


def prediction(key, text):
    return {"instance_id": key, "prediction": text}


def reference(key, text):
    return {"instance_id": key, "reference": text}


@pytest.mark.parametrize("side", ["predictions", "references"])
def test_file_that_is_no_text_is_named(score, side):
    given = {"predictions": [prediction("a", "x")], "references": [reference("a", "x")], side: b"\x00\x01\xfe"}

    result = score("exact_match", given["predictions"], given["references"])

    assert result.exit_code == 2
    assert f"{side}.jsonl: Line 1: " in result.stderr


@pytest.mark.parametrize("case", CORPORA, ids=lambda case: case["id"])
def test_published_bleu_case_holds_at_the_command_line(score, case):
    columns = list(zip(*case["reference_streams"], strict=True))
    options = [f"--option={key}={value}" for key, value in case["options"].items()]

    result = score(
        "bleu",
        [prediction(f"s{number}", text) for number, text in enumerate(case["hypotheses"])],
        [reference(f"s{number}", [text for text in column if text]) for number, column in enumerate(columns)],
        *options,
        "--json",
    )

    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    expected = case["expected"]
    assert found["metrics"]["bleu"] == pytest.approx(expected.get("score", expected.get("corpus_score")), abs=1e-6)
    assert found["metrics"]["signature"] == expected.get("signature", found["metrics"]["signature"])
    values = [one["value"] for one in found["scores"]]
    assert values == pytest.approx(expected.get("sentence_scores", values), abs=1e-6)


def test_json_has_metrics_and_a_score_for_each_instance_in_the_order_of_the_predictions(score):
    result = score(
        "exact_match",
        [prediction("b", "Paris."), prediction("a", "rome")],
        [reference("a", ["Rome", "Roma"]), reference("b", "Paris")],
        "--option=casefold=true",
        "--json",
    )

    found = json.loads(result.stdout)
    assert result.exit_code == 0
    assert found["metrics"] == {"exact_match": 0.5, "passed": 1, "n": 2}
    assert [(one["instance_id"], one["value"], one["passed"]) for one in found["scores"]] == [
        ("b", 0.0, False),
        ("a", 1.0, True),
    ]
    assert all(one.keys() == {"instance_id", "value", "passed", "details"} for one in found["scores"])


@pytest.mark.parametrize(("evaluator", "metric"), [("chrf", "chrf"), ("contains", "contains"), ("bleu", "bleu")])
def test_every_evaluator_scores_under_its_own_name(score, evaluator, metric):
    result = score(evaluator, [prediction("a", "a b c d e")], [reference("a", "a b c d e")], "--json")

    assert json.loads(result.stdout)["metrics"][metric] in (1, 100)


def test_without_json_people_get_a_table(score):
    result = score("exact_match", [prediction("first", "x")], [reference("first", "y")])

    assert result.exit_code == 0
    assert "exact_match  0.0000" in result.stdout
    assert result.stdout.splitlines()[-1].split() == ["first", "0.0000", "no"]


def test_byte_order_mark_crlf_and_unusual_line_breaks_inside_texts_are_read(score):
    text = "one\u2028two\u0085three"
    lines = "\ufeff" + json.dumps(prediction("a", text), ensure_ascii=False) + "\r\n\r\n"

    result = score("exact_match", lines, [reference("a", text)], "--json")

    assert json.loads(result.stdout)["metrics"]["exact_match"] == 1


GOOD = ([prediction("a", "x")], [reference("a", "x")])


@pytest.mark.parametrize(
    ("predictions", "references", "sentences"),
    [
        ([prediction("a", "x")], [reference("a", "x"), reference("b", "y")], ["has no prediction for 'b'"]),
        ([prediction("a", "x"), prediction("c", "x")], GOOD[1], ["references.jsonl has no reference for 'c'"]),
        ([prediction("a", "x")] * 2, GOOD[1], ["predictions.jsonl: Line 2, instance_id: 'a' stands in line 1"]),
        (GOOD[0], [reference("a", "x")] * 2, ["references.jsonl: Line 2, instance_id: 'a' stands in line 1"]),
        ([prediction("a", None)], GOOD[1], ["Line 1, prediction: it must be text."]),
        ([prediction("a", ["x"])], GOOD[1], ["Line 1, prediction: it must be text."]),
        (GOOD[0], [reference("a", None)], ["Line 1, reference: it must be text, or a list of at least one text."]),
        (GOOD[0], [reference("a", [])], ["Line 1, reference: it must be text, or a list of at least one text."]),
        (GOOD[0], [reference("a", ["x", None])], ["Line 1, reference: every entry must be text."]),
        ([prediction(7, "x")], GOOD[1], ["Line 1, instance_id: it must be text"]),
        ([{"instance_id": "a"}], GOOD[1], ["Line 1, prediction: it is missing."]),
        ([{"instance_id": "a", "predicton": "x"}], GOOD[1], ["Did you mean 'prediction'?"]),
        ("[1]\n", GOOD[1], ["Line 1: it must be a JSON object"]),
        ('{"instance_id": "a",\n', GOOD[1], ["predictions.jsonl: Line 1: this is not JSON"]),
        ('{"instance_id": "a", "prediction": NaN}', GOOD[1], ["Line 1: NaN is not a JSON number."]),
        ('{"instance_id": "a", "prediction": "\\ud800"}', GOOD[1], ["Line 1, prediction:", "half of a character"]),
        ('{"instance_id": "a", "prediction": "x", "prediction": "y"}', GOOD[1], ["'prediction' stands twice"]),
        (b'{"instance_id": "a", "prediction": "\xe9"}', GOOD[1], ["Line 1: byte 0xe9 is not UTF-8."]),
        ("", GOOD[1], ["predictions.jsonl holds no line: there is nothing to score."]),
        (GOOD[0], "\n", ["references.jsonl holds no line: there is nothing to score."]),
    ],
)
def test_files_that_do_not_fit_are_refused_by_line_field_and_id(score, predictions, references, sentences):
    result = score("bleu", predictions, references, "--json")

    assert result.exit_code == 2
    assert result.stdout == ""
    for sentence in sentences:
        assert sentence in result.stderr


@pytest.mark.parametrize(
    ("evaluator", "options", "sentence"),
    [
        ("blue", [], "There is no evaluator 'blue'. Did you mean 'bleu'?"),
        ("../bleu", [], "There is no evaluator '../bleu'."),
        ("_checks", [], "There is no evaluator '_checks'."),
        ("bleu", ["tokenise=13a"], "has no option 'tokenise'. Did you mean 'tokenize'?"),
        ("bleu", ["tokenize=spm"], "Option tokenize"),
        ("bleu", ["smooth_value=2"], "smooth_value means nothing with smooth_method 'exp'"),
        ("bleu", ["lowercase"], "must be written KEY=VALUE"),
        ("bleu", ["lowercase=1", "lowercase=0"], "--option lowercase stands twice."),
        ("bleu", ["lowercase=[1"], "--option lowercase is not JSON"),
    ],
)
def test_evaluators_and_options_that_are_not_there_are_refused_by_name(score, evaluator, options, sentence):
    result = score(evaluator, *GOOD, *(f"--option={option}" for option in options))

    assert result.exit_code == 2
    assert sentence in result.stderr


def test_many_bad_lines_are_counted_beyond_the_first_twenty(score):
    result = score("bleu", "nonsense\n" * 50, GOOD[1])

    assert len(result.stderr.splitlines()) == 21
    assert "and 30 more" in result.stderr


def test_file_that_is_not_there_is_a_sentence(tmp_path):
    missing = str(tmp_path / "none.jsonl")

    result = CliRunner().invoke(workbench, ["score", "bleu", "--predictions", missing, "--references", missing])

    assert result.exit_code == 2
    assert "can't be read: no such file or directory." in result.stderr


def test_it_runs_where_there_is_no_database_and_loads_no_django_models(tmp_path):
    files = tmp_path / "p.jsonl", tmp_path / "r.jsonl"
    files[0].write_text(json.dumps(prediction("a", "x")))
    files[1].write_text(json.dumps(reference("a", "x")))
    program = "import sys; from workbench.cli import main\ntry: main()\nfinally: print('django.db' in sys.modules)"

    done = subprocess.run(
        [sys.executable, "-c", program, "score", "exact_match", "--predictions", files[0], "--references", files[1]],
        capture_output=True,
        text=True,
        env={"WORKBENCH_HOME": str(tmp_path / "none"), "PATH": ""},
        check=True,
    )

    assert done.stdout.splitlines()[-1] == "False"
    assert not (tmp_path / "none").exists()
