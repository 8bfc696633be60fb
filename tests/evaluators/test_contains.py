"""Contains: an accepted answer anywhere in the text."""

from __future__ import annotations

import pytest

from evaluators.contains import Contains, ContainsOptions
from workbench.engine.evaluation import EvaluationError, EvaluationInstance


def score(prediction, *references, **options):
    return Contains(ContainsOptions(**options)).evaluate(prediction, EvaluationInstance("x", references=references))


@pytest.mark.parametrize(
    ("prediction", "references", "options", "passed"),
    [
        ("The answer is 42.", ["42"], {}, True),
        ("The answer is 4.", ["42"], {}, False),
        ("a Question, I think", ["question"], {}, False),
        ("a Question, I think", ["question"], {"casefold": True}, True),
        ("part of it", ["art"], {}, True),
        ("part of it", ["art"], {"whole_words": True}, False),
        ("part of art", ["art"], {"whole_words": True}, True),
        ("x = f(y)", ["f(y)"], {"whole_words": True}, True),
        ("New\nYork", ["New York"], {"collapse_whitespace": True}, True),
        ("ﬁne", ["fine"], {"nfkc": True}, True),
        ("red and blue", ["red", "green"], {}, True),
        ("red and blue", ["red", "green"], {"references": "all"}, False),
        ("red and blue", ["red", "blue"], {"references": "all"}, True),
        ("", ["red"], {}, False),
        ("answer: 42", [" 42\n"], {}, True),
    ],
)
def test_reference_is_found_as_the_options_say(prediction, references, options, passed):
    found = score(prediction, *references, **options)

    assert (found.value, found.passed) == (float(passed), passed)


def test_details_say_which_references_were_found():
    assert score("red and blue", "green", "blue").details == {"found_references": [1], "references": 2}


def test_metric_is_the_share_that_passed():
    assert Contains().summarise([score("ab", "a"), score("c", "a")]) == {"contains": 0.5, "passed": 1, "n": 2}


@pytest.mark.parametrize("references", [[], ["  "]])
def test_reference_that_says_nothing_is_refused(references):
    with pytest.raises(EvaluationError, match="'x' has"):
        score("text", *references)
