"""chrF: the library's numbers, made from what scores keep."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError
from sacrebleu.metrics.chrf import CHRF

from evaluators.chrf import Chrf, ChrfOptions
from workbench.engine.evaluation import EvaluationError, EvaluationInstance, Pair

HYPOTHESES = ["The red boat crossed the river.", "Nobody answered the phone today.", ""]
STREAMS = [
    ["The red boat crossed the wide river.", "No one answered the phone.", "She closed the old door quickly."],
    ["A red boat went across the river.", "Nobody picked up the phone today.", "Quickly, she shut the old door."],
]


def judged(options):
    evaluator = Chrf(ChrfOptions(**options))
    columns = list(zip(*STREAMS, strict=True))
    pairs = [
        Pair(text, EvaluationInstance(text, references=found)) for text, found in zip(HYPOTHESES, columns, strict=True)
    ]
    scores = evaluator.evaluate_many(pairs)
    return scores, evaluator.summarise(
        [score._replace(details=json.loads(json.dumps(score.details))) for score in scores]
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"word_order": 2},
        {"char_order": 4, "beta": 1},
        {"lowercase": True, "whitespace": True},
        {"eps_smoothing": True},
    ],
)
def test_scores_and_metric_are_the_librarys(options):
    library = CHRF(**options)

    scores, metrics = judged(options)

    assert metrics["chrf"] == pytest.approx(library.corpus_score(HYPOTHESES, STREAMS).score, abs=1e-9)
    assert metrics["signature"] == library.get_signature().format()
    for score, text, references in zip(scores, HYPOTHESES, zip(*STREAMS, strict=True), strict=True):
        assert score.value == pytest.approx(library.sentence_score(text, list(references)).score, abs=1e-9)
        assert score.passed is None


def test_identical_text_scores_100_and_nothing_in_common_0():
    instance = EvaluationInstance("x", references=("seven days",))

    assert Chrf().evaluate("seven days", instance).value == 100
    assert Chrf().evaluate("QQQ", instance).value == 0


def test_input_without_reference_is_refused():
    with pytest.raises(EvaluationError, match="'x' has no reference"):
        Chrf().evaluate("text", EvaluationInstance("x"))


def test_nothing_judged_has_no_number():
    assert Chrf().summarise([]) == {"chrf": None, "n": 0}


@pytest.mark.parametrize("options", [{"char_order": -1}, {"char_order": 0, "word_order": 0}, {"beta": 0}, {"chars": 6}])
def test_option_out_of_range_is_refused(options):
    with pytest.raises(ValidationError):
        ChrfOptions(**options)
