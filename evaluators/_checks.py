"""What evaluators that compare with references check before they begin."""

from __future__ import annotations

from workbench.engine.evaluation import EvaluationError, EvaluationInstance


def references_of(prediction: object, instance: EvaluationInstance) -> tuple[str, ...]:
    """The references to compare with. Raises `EvaluationError` where there is none, or where a text is no text."""
    if not isinstance(prediction, str):
        raise EvaluationError(f"The prediction for instance {instance.id!r} is not text.")
    if isinstance(instance.references, str) or not all(isinstance(text, str) for text in instance.references):
        raise EvaluationError(f"The references of instance {instance.id!r} are not a list of texts.")
    if not instance.references:
        raise EvaluationError(f"Instance {instance.id!r} has no reference to compare with.")
    return instance.references
