"""Exact match: any of the references, and only what the options even out is ignored."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from evaluators.exact_match import ExactMatch, ExactMatchOptions
from workbench.engine.evaluation import EvaluationError, EvaluationInstance, Score


def score(prediction, *references, **options):
    return ExactMatch(ExactMatchOptions(**options)).evaluate(prediction, EvaluationInstance("x", references=references))


@pytest.mark.parametrize(
    ("prediction", "reference", "options"),
    [
        ("Paris", "Paris", {}),
        (" Paris\n", "Paris", {}),
        ("PARIS", "Paris", {"casefold": True}),
        ("STRASSE", "straße", {"casefold": True}),
        ("Paris.", "Paris", {"strip_punctuation": True}),
        ("**Paris** .", "“Paris”", {"strip_punctuation": True}),
        ("¡Hola!", "Hola", {"strip_punctuation": True}),
        ("New\n  York", "New York", {"collapse_whitespace": True}),
        ("ﬁve", "five", {"nfkc": True}),
        ("e\u0301te\u0301", "été", {"nfkc": True}),
        ("Label: question", "label: question", {"casefold": True, "collapse_whitespace": True}),
        ("", "", {}),
    ],
)
def test_difference_that_an_option_evens_out_passes(prediction, reference, options):
    found = score(prediction, reference, **options)

    assert (found.value, found.passed) == (1.0, True)


@pytest.mark.parametrize(
    ("prediction", "reference", "options"),
    [
        ("paris", "Paris", {}),
        ("Paris.", "Paris", {}),
        (" Paris", "Paris", {"strip": False}),
        ("New  York", "New York", {}),
        ("a  b ", "a b", {"strip": False, "collapse_whitespace": True}),
        ("don't", "dont", {"strip_punctuation": True}),
        ("", "Paris", {"casefold": True, "strip_punctuation": True}),
    ],
)
def test_any_other_difference_fails(prediction, reference, options):
    found = score(prediction, reference, **options)

    assert (found.value, found.passed) == (0.0, False)


def test_any_of_the_references_is_enough_and_the_details_say_which():
    found = score("b", "a", "b", "c")

    assert found.passed
    assert found.details == {"compared": "b", "matched_reference": 1, "references": 3}


def test_metric_is_the_share_of_those_judged():
    scores = [score("a", "a"), score("b", "a"), Score(None, None, {"reason": "the run failed"})]

    assert ExactMatch().summarise(scores) == {"exact_match": 0.5, "passed": 1, "n": 2}
    assert ExactMatch().summarise([]) == {"exact_match": None, "passed": 0, "n": 0}


def test_instance_without_reference_is_refused_by_id():
    with pytest.raises(EvaluationError, match="'x' has no reference"):
        score("a")


def test_unknown_option_is_refused():
    with pytest.raises(ValidationError, match="lowercase"):
        ExactMatchOptions(lowercase=True)


def test_a_megabyte_of_answer_keeps_the_details_small():
    assert len(score("a" * 1_000_000, "a").details["compared"]) == 200
