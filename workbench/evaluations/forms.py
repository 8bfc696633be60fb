"""The form of an evaluation, made from the JSON Schema of the evaluator's options: none needs a page of its own."""

from __future__ import annotations

from typing import Any

from django import forms

from workbench.engine.errors import InvalidDocument
from workbench.engine.evaluation import EVALUATORS
from workbench.experiments.evaluators import evaluator_with
from workbench.web.schemafields import option_fields


class EvaluationForm(forms.Form):
    """Options of one evaluator, and whether partial predictions count. Raises `PluginError` for an unknown name."""

    include_partial = forms.BooleanField(
        required=False,
        label="Judge partial answers too",
        help_text="Answers of runs that were cut short by a limit, a stop or a failure. Left out otherwise.",
    )

    def __init__(self, evaluator: str, data: Any = None) -> None:
        super().__init__(data, auto_id=f"id_{evaluator}_%s")
        self.evaluator = evaluator
        fields = option_fields(EVALUATORS.get(evaluator).Options.model_json_schema())
        self.options = list(fields)
        self.fields = {**fields, **self.fields}

    def clean(self) -> dict[str, Any]:
        """The evaluator itself has the last word on its options."""
        cleaned = super().clean() or {}
        if self.errors:
            return cleaned
        try:
            evaluator_with(self.evaluator, self.given(cleaned))
        except InvalidDocument as error:
            for problem in error.problems:
                name = problem.path.split("/")[1]
                self.add_error(name if name in self.fields else None, problem.message)
        return cleaned

    def given(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        """The options that were filled in; an empty field is the evaluator's default."""
        return {name: cleaned[name] for name in self.options if cleaned.get(name) not in (None, "")}
