"""chrF, as sacrebleu 2.6.0 computes it. Popović 2015; chrF++ (word_order 2) 2017."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import Field, model_validator
from sacrebleu.metrics.chrf import CHRF

from evaluators._checks import references_of
from workbench.engine import evaluation
from workbench.engine.evaluation import EvaluationInstance, Score


class ChrfOptions(evaluation.Options):
    """The library's own options. Results compare only where their signatures are equal."""

    char_order: int = Field(6, ge=0, le=20, description="The longest character sequence that counts.")
    word_order: int = Field(0, ge=0, le=10, description="The longest word sequence that counts; 2 makes it chrF++.")
    beta: int = Field(2, ge=1, le=10, description="How much more recall weighs than precision.")
    lowercase: bool = Field(False, description="Compare in lower case.")
    whitespace: bool = Field(False, description="Count white space as characters.")
    eps_smoothing: bool = Field(False, description="Smooth as the first chrF++ script did.")

    @model_validator(mode="after")
    def something_counts(self) -> ChrfOptions:
        """Sequences of no length can't be compared."""
        if self.char_order + self.word_order == 0:
            raise ValueError("char_order and word_order can't both be 0")
        return self


class Chrf(evaluation.Evaluator):
    """How many character sequences prediction and references share, from 0 to 100 (sacrebleu).

    Kinder than BLEU to other forms of a word, and needs no word boundaries. A score is the sentence's chrF against its
    best reference; the metric is the chrF of all predictions as one text, which is not their mean.
    """

    version: ClassVar[str] = "sacrebleu 2.6.0"
    scale: ClassVar[float] = 100.0
    Options: ClassVar[type[evaluation.Options]] = ChrfOptions

    def evaluate(self, prediction: str, instance: EvaluationInstance) -> Score:
        references = references_of(prediction, instance)
        metric = self.metric()
        statistics = metric._extract_corpus_statistics([prediction], [[reference] for reference in references])[0]
        details = {
            "signature": signature(metric, len(references)),
            "statistics": statistics,
            "references": len(references),
        }
        return Score(clamped(metric._aggregate_and_compute([statistics]).score), None, details)

    def summarise(self, scores: Sequence[Score]) -> dict[str, Any]:
        judged = [score for score in scores if score.value is not None]
        if not judged:
            return {self.name(): None, "n": 0}
        metric = self.metric()
        counts = {int(score.details["references"]) for score in judged}
        result = metric._aggregate_and_compute([list(score.details["statistics"]) for score in judged])
        return {
            self.name(): clamped(result.score),
            "signature": signature(metric, counts.pop() if len(counts) == 1 else -1),
            "mean_sentence_chrf": sum(score.value or 0.0 for score in judged) / len(judged),
            "n": len(judged),
        }

    def metric(self) -> CHRF:
        """The library's metric with these options."""
        return CHRF(**self.options.model_dump())


def signature(metric: CHRF, references: int) -> str:
    """What the result depends on, in the library's notation; -1 references is a number that varies."""
    metric.num_refs = references
    return str(metric.get_signature().format())


def clamped(score: float) -> float:
    """Rounding can lead a hair outside."""
    return min(100.0, max(0.0, float(score)))
