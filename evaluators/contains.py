"""Contains: does the prediction hold an accepted answer somewhere in its text?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from evaluators._checks import references_of
from evaluators._normalise import normalised
from workbench.engine import evaluation
from workbench.engine.evaluation import EvaluationInstance, Score


class ContainsOptions(evaluation.Options):
    """How many references must be found, and what is evened out on both sides before looking."""

    references: Literal["any", "all"] = Field(
        "any", description="Pass when any reference is found, or only when all are."
    )
    whole_words: bool = Field(False, description="'art' is then not found in 'part' or 'arts'.")
    nfkc: bool = Field(False, description="Unicode NFKC: full-width, ligature and composed forms become one.")
    casefold: bool = Field(False, description="Ignore upper and lower case, in every script.")
    collapse_whitespace: bool = Field(False, description="Each run of white space, line breaks too, becomes one space.")


class Contains(evaluation.Evaluator):
    """Passed when the prediction contains a reference as it stands, anywhere in its text.

    Made for answers that come with words around them. White space at the ends of a reference is ignored. The metric is
    the share of predictions that passed.
    """

    Options: ClassVar[type[evaluation.Options]] = ContainsOptions
    options: ContainsOptions

    def evaluate(self, prediction: str, instance: EvaluationInstance) -> Score:
        references = references_of(prediction, instance)
        wanted = [self.normalised(reference).strip() for reference in references]
        if not all(wanted):
            raise evaluation.EvaluationError(f"Instance {instance.id!r} has an empty reference: any text contains it.")
        text = self.normalised(prediction)
        found = [index for index, reference in enumerate(wanted) if self.is_in(reference, text)]
        passed = len(found) == len(wanted) if self.options.references == "all" else bool(found)
        return Score(float(passed), passed, {"found_references": found, "references": len(references)})

    def summarise(self, scores: Sequence[Score]) -> dict[str, Any]:
        judged = [score for score in scores if score.value is not None]
        return {**super().summarise(scores), "passed": sum(bool(score.passed) for score in judged), "n": len(judged)}

    def normalised(self, text: str) -> str:
        """The text as it is compared."""
        options = self.options
        return normalised(
            text,
            nfkc=options.nfkc,
            casefold=options.casefold,
            strip_punctuation=False,
            collapse_whitespace=options.collapse_whitespace,
            strip=False,
        )

    def is_in(self, reference: str, text: str) -> bool:
        """Whether the reference stands in the text, between word boundaries where whole words are asked for."""
        at = text.find(reference)
        while at >= 0 and self.options.whole_words and not stands_alone(text, at, at + len(reference)):
            at = text.find(reference, at + 1)
        return at >= 0


def stands_alone(text: str, start: int, end: int) -> bool:
    """Whether no word goes on at either end. Where the reference itself ends in a mark, anything may follow."""
    before = start > 0 and is_word(text[start - 1]) and is_word(text[start])
    after = end < len(text) and is_word(text[end]) and is_word(text[end - 1])
    return not before and not after


def is_word(character: str) -> bool:
    """Letters and digits of any script, and the underscore."""
    return character.isalnum() or character == "_"
