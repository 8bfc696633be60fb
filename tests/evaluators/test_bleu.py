"""BLEU: every published case holds, and what would give a meaningless number is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from evaluators.bleu import Bleu, BleuOptions
from workbench.engine.evaluation import EVALUATORS, EvaluationError, EvaluationInstance, Pair

CASES = json.loads((Path(__file__).parent / "data" / "bleu.json").read_text())["cases"]
SCORED = [case for case in CASES if case["level"] in ("corpus", "both") and "refused" not in case["expected"]]


def pairs(case):
    columns = zip(*case["reference_streams"], strict=True)
    references = [tuple(text for text in column if text is not None) for column in columns]
    return [
        Pair(text, EvaluationInstance(f"s{number}", references=found))
        for number, (text, found) in enumerate(zip(case["hypotheses"], references, strict=True))
    ]


def judged(case):
    evaluator = Bleu(BleuOptions(**case["options"]))
    scores = evaluator.evaluate_many(pairs(case))
    return scores, evaluator.summarise(scores)


@pytest.mark.parametrize("case", SCORED, ids=lambda case: case["id"])
def test_published_corpus_case_holds(case):
    scores, metrics = judged(case)

    expected = dict(case["expected"])
    found = {**metrics, "score": metrics["bleu"], "corpus_score": metrics["bleu"]}
    found["sentence_scores"] = [score.value for score in scores]
    found["mean_of_sentence_scores"] = metrics["mean_sentence_bleu"]
    for key, value in expected.items():
        assert found[key] == (value if isinstance(value, str) else pytest.approx(value, abs=1e-6)), key


@pytest.mark.parametrize("case", [case for case in CASES if case["level"] == "sentence"], ids=lambda case: case["id"])
def test_published_sentence_case_holds(case):
    instance = EvaluationInstance("s", references=tuple(case["references"]))

    score = Bleu(BleuOptions(**case["options"])).evaluate(case["hypothesis"], instance)

    expected = dict(case["expected"])
    assert score.value == pytest.approx(expected.pop("score"), abs=1e-6)
    for key, value in expected.items():
        assert score.details[key] == (value if isinstance(value, str) else pytest.approx(value, abs=1e-6)), key


@pytest.mark.parametrize(
    "pair", next(case["pairs"] for case in CASES if case["level"] == "signature"), ids=lambda pair: pair["b"]
)
def test_results_compare_only_with_equal_signatures(pair):
    assert (pair["a"] == pair["b"]) is pair["comparable"]


def test_metrics_are_made_from_what_json_keeps_of_the_scores():
    case = next(case for case in CASES if case["id"] == "BL01")
    scores, metrics = judged(case)

    kept = [score._replace(details=json.loads(json.dumps(score.details))) for score in scores]

    assert Bleu().summarise(kept) == metrics
    json.dumps(metrics)


def test_number_of_references_that_varies_is_in_the_signature():
    one = EvaluationInstance("a", references=("the small cat sat down",))
    two = EvaluationInstance("b", references=("the small cat sat down", "a cat sat"))

    evaluator = Bleu()
    scores = evaluator.evaluate_many([Pair("the small cat sat down", one), Pair("the cat sat down", two)])

    assert evaluator.summarise(scores)["signature"].startswith("nrefs:var|")
    assert scores[1].details["signature"].startswith("nrefs:2|case:mixed|eff:yes|")


@pytest.mark.parametrize(
    ("prediction", "references", "words"),
    [
        (None, ("a b c d",), "prediction for instance 'x' is not text"),
        (["a b c d"], ("a b c d",), "prediction for instance 'x' is not text"),
        ("a b c d", (), "'x' has no reference"),
        ("a b c d", (None,), "references of instance 'x' are not a list of texts"),
        ("a b c d", "a b c d", "references of instance 'x' are not a list of texts"),
    ],
)
def test_null_and_missing_input_never_reaches_the_library(prediction, references, words):
    with pytest.raises(EvaluationError, match=words):
        Bleu().evaluate(prediction, EvaluationInstance("x", references=references))


def test_nothing_judged_has_no_number():
    assert Bleu().summarise([]) == {"bleu": None, "n": 0}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tokenize": "spm"}, "tokenize"),
        ({"smooth_method": "linear"}, "smooth_method"),
        ({"smooth_value": 0.5}, "smooth_value means nothing with smooth_method 'exp'"),
        ({"smooth_method": "floor", "smooth_value": float("nan")}, "smooth_value"),
        ({"max_ngram_order": 0}, "max_ngram_order"),
        ({"tokeniser": "13a"}, "tokeniser"),
    ],
)
def test_option_out_of_range_is_refused_by_name(options, words):
    with pytest.raises(ValidationError, match=words):
        BleuOptions(**options)


def test_it_is_found_by_its_file_name():
    assert EVALUATORS.get("bleu") is Bleu
    assert Bleu.name() == "bleu"
