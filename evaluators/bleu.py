"""BLEU, as sacrebleu 2.6.0 computes it. Papineni et al. 2002; Post 2018."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator
from sacrebleu.metrics.bleu import BLEU, BLEUScore

from evaluators._checks import references_of
from workbench.engine import evaluation
from workbench.engine.evaluation import EvaluationInstance, Score


class BleuOptions(evaluation.Options):
    """The library's own options. Results compare only where their signatures are equal."""

    tokenize: Literal["13a", "intl", "zh", "char", "none"] = Field(
        "13a",
        description="'13a' is meant for European languages; use 'zh' for Chinese, 'char' where words have no spaces.",
    )
    smooth_method: Literal["exp", "floor", "add-k", "none"] = Field(
        "exp", description="What an n-gram order without any match counts as."
    )
    smooth_value: float | None = Field(
        None, ge=0, allow_inf_nan=False, description="For 'floor' (0.1 when absent) and 'add-k' (1 when absent) only."
    )
    lowercase: bool = Field(False, description="Compare in lower case.")
    max_ngram_order: int = Field(4, ge=1, le=10, description="The longest word sequence that counts.")
    effective_order: bool | None = Field(
        None,
        description="Leave out orders for which the prediction is too short. "
        "When absent: on for the score of one prediction, off for the metric.",
    )
    n_bootstrap: int = Field(
        0, ge=0, le=100_000, description="Resamples for the library's own interval of the metric; 0 is none."
    )

    @model_validator(mode="after")
    def smooth_value_has_a_method(self) -> BleuOptions:
        """A value that would be ignored is a mistake."""
        if self.smooth_value is not None and self.smooth_method in ("exp", "none"):
            raise ValueError(f"smooth_value means nothing with smooth_method '{self.smooth_method}'")
        return self


class Bleu(evaluation.Evaluator):
    """How many word sequences prediction and references share, from 0 to 100 (sacrebleu).

    A score is the sentence's BLEU; the metric is the BLEU of all predictions as one text, which is not their mean. Both
    signatures are kept: compare results only where they are equal. An empty prediction counts, with length 0.
    """

    version: ClassVar[str] = "sacrebleu 2.6.0"
    scale: ClassVar[float] = 100.0
    Options: ClassVar[type[evaluation.Options]] = BleuOptions
    options: BleuOptions

    def evaluate(self, prediction: str, instance: EvaluationInstance) -> Score:
        references = references_of(prediction, instance)
        metric = self.metric(default_effective_order=True)
        # The counts before smoothing: their sum over a corpus is all that corpus BLEU needs.
        statistics = metric._extract_corpus_statistics([prediction], [[reference] for reference in references])[0]
        result = metric._aggregate_and_compute([statistics])
        details = {
            "signature": signature(metric, len(references)),
            "statistics": statistics,
            "references": len(references),
            **summary(result),
        }
        return Score(clamped(result.score), None, details)

    def summarise(self, scores: Sequence[Score]) -> dict[str, Any]:
        judged = [score for score in scores if score.value is not None]
        if not judged:
            return {self.name(): None, "n": 0}
        metric = self.metric(default_effective_order=False)
        statistics = [list(score.details["statistics"]) for score in judged]
        result = metric._aggregate_and_compute(statistics)
        counts = {int(score.details["references"]) for score in judged}
        return {
            self.name(): clamped(result.score),
            **self.bootstrap(metric, statistics),
            "signature": signature(metric, counts.pop() if len(counts) == 1 else -1),
            "mean_sentence_bleu": sum(score.value or 0.0 for score in judged) / len(judged),
            "precisions": [clamped(precision) for precision in result.precisions],
            **summary(result),
            "n": len(judged),
        }

    def metric(self, *, default_effective_order: bool) -> BLEU:
        """The library's metric with these options."""
        options = self.options.model_dump(exclude={"n_bootstrap", "effective_order"})
        effective = self.options.effective_order
        return BLEU(**options, force=True, effective_order=default_effective_order if effective is None else effective)

    def bootstrap(self, metric: BLEU, statistics: list[list[int]]) -> dict[str, Any]:
        """The library's bootstrap of the metric, seeded by it (12345 unless SACREBLEU_SEED is set), where asked for."""
        if self.options.n_bootstrap < 2:
            return {}
        import numpy as np
        from sacrebleu.significance import _bootstrap_resample, estimate_ci

        metric.n_bootstrap = self.options.n_bootstrap
        metric.seed, resampled = _bootstrap_resample(
            [list(row) for row in statistics], metric, self.options.n_bootstrap
        )
        mean, half_width = estimate_ci(np.array([one.score for one in resampled]))
        return {"bootstrap_mean": float(mean), "bootstrap_half_width": float(half_width)}


def signature(metric: BLEU, references: int) -> str:
    """What the result depends on, in the library's notation; -1 references is a number that varies."""
    metric.num_refs = references
    return str(metric.get_signature().format())


def summary(result: BLEUScore) -> dict[str, Any]:
    """The numbers behind a BLEU, as the library reports them: after smoothing."""
    return {
        "brevity_penalty": float(result.bp),
        "hypothesis_length": int(result.sys_len),
        "reference_length": int(result.ref_len),
        "matches": list(result.counts),
        "totals": list(result.totals),
    }


def clamped(score: float) -> float:
    """100.00000000000004 is 100."""
    return min(100.0, max(0.0, float(score)))
