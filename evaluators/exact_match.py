"""Exact match: is the prediction one of the accepted answers?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import Field

from evaluators._checks import references_of
from evaluators._normalise import normalised
from workbench.engine import evaluation
from workbench.engine.evaluation import EvaluationInstance, Score


class ExactMatchOptions(evaluation.Options):
    """What is evened out in prediction and references alike, in this order, before they are compared."""

    nfkc: bool = Field(False, description="Unicode NFKC: full-width, ligature and composed forms become one.")
    casefold: bool = Field(False, description="Ignore upper and lower case, in every script.")
    strip_punctuation: bool = Field(
        False, description="Drop punctuation and white space at both ends; inside the text it stays."
    )
    collapse_whitespace: bool = Field(False, description="Each run of white space, line breaks too, becomes one space.")
    strip: bool = Field(True, description="Drop white space at both ends.")


class ExactMatch(evaluation.Evaluator):
    """Passed when the prediction equals any of the references, after the normalisation chosen in the options.

    Without options only white space at both ends is ignored. The metric is the share of predictions that passed.
    """

    Options: ClassVar[type[evaluation.Options]] = ExactMatchOptions

    def evaluate(self, prediction: str, instance: EvaluationInstance) -> Score:
        references = references_of(prediction, instance)
        answer = normalised(prediction, **self.options.model_dump())
        accepted = [normalised(reference, **self.options.model_dump()) for reference in references]
        matched = accepted.index(answer) if answer in accepted else None
        details = {"compared": answer[:200], "matched_reference": matched, "references": len(references)}
        return Score(float(matched is not None), matched is not None, details)

    def summarise(self, scores: Sequence[Score]) -> dict[str, Any]:
        judged = [score for score in scores if score.value is not None]
        return {**super().summarise(scores), "passed": sum(bool(score.passed) for score in judged), "n": len(judged)}
