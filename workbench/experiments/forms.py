"""The form of a draft: facts, rows of configurations, rows of evaluators. Rows come and go by plain submits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.forms import formset_factory
from pydantic import ValidationError

from workbench.datasets.models import DatasetVersion
from workbench.datasets.services import dataset_version
from workbench.engine.errors import WorkbenchError
from workbench.experiments.models import Experiment
from workbench.experiments.rowforms import PARAMS, ConfigurationForm, EvaluatorForm
from workbench.experiments.spec import MOST_REPETITIONS, ExperimentSpec, own_label, shape_problems

LIMITS = ("model_calls", "tokens", "cost_usd", "seconds")


class FactsForm(forms.Form):
    """What an experiment asks, of what, how often, within which limits."""

    use_required_attribute = False

    name = forms.CharField(max_length=200)
    question = forms.CharField(
        required=False, widget=forms.Textarea(attrs={"rows": 2}), help_text="What do you want to know?"
    )
    dataset = forms.ChoiceField(label="Dataset")
    which = forms.ChoiceField(
        label="Instances",
        choices=[("all", "All of them"), ("first", "Only the first"), ("list", "These")],
        widget=forms.RadioSelect,
        initial="all",
    )
    first = forms.IntegerField(
        required=False, min_value=1, max_value=1_000_000, label="How many", help_text="For “Only the first”."
    )
    keys = forms.CharField(
        required=False,
        label="Ids",
        widget=forms.Textarea(attrs={"rows": 3, "class": "short mono"}),
        help_text="For “These”: one id a line.",
    )
    repetitions = forms.IntegerField(
        min_value=1,
        max_value=MOST_REPETITIONS,
        initial=1,
        help_text="How often each configuration meets each instance.",
    )
    model_calls = forms.IntegerField(required=False, min_value=0, label="Model calls")
    tokens = forms.IntegerField(required=False, min_value=0, label="Tokens")
    cost_usd = forms.FloatField(required=False, min_value=0, label="US dollars")
    seconds = forms.FloatField(required=False, min_value=0.001, label="Working seconds")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        versions = DatasetVersion.objects.select_related("dataset").order_by("dataset__name", "-number")
        field: Any = self.fields["dataset"]
        field.choices = [(str(version), f"{version} · {version.count:,} instances") for version in versions]

    def instances(self) -> list[str] | None:
        """The chosen ids; None: all."""
        said = self.cleaned_data
        if said["which"] == "first" and said["first"]:
            rows = dataset_version(said["dataset"]).instances.order_by("position")
            return list(rows.values_list("key", flat=True)[: said["first"]])
        if said["which"] == "list":
            return list(dict.fromkeys(line.strip() for line in said["keys"].splitlines() if line.strip()))
        return None


ConfigurationRows = formset_factory(ConfigurationForm, extra=0, max_num=200)
EvaluatorRows = formset_factory(EvaluatorForm, extra=0, max_num=20)


class DraftForm:
    """The three forms of the page as one."""

    def __init__(self, data: Any = None, initial: Mapping[str, Any] | None = None) -> None:
        given = initial or {}
        self.facts = FactsForm(data, initial=given.get("facts"))
        self.configurations = ConfigurationRows(data, initial=given.get("configurations"), prefix="configuration")
        self.evaluators = EvaluatorRows(data, initial=given.get("evaluators"), prefix="evaluator")
        self.problems: list[str] = []

    def is_valid(self) -> bool:
        """All three, without stopping at the first."""
        valid = [form.is_valid() for form in (self.facts, self.configurations, self.evaluators)]
        return all(valid)

    def spec(self) -> ExperimentSpec | None:
        """What the page says; None where something is wrong, which then stands in the forms or in `problems`."""
        if not self.is_valid():
            return None
        said = self.facts.cleaned_data
        try:
            return ExperimentSpec.model_validate(
                {
                    **{name: said[name] for name in ("name", "question", "dataset", "repetitions")},
                    "instances": self.facts.instances(),
                    "limits": {name: said[name] for name in LIMITS if said[name] is not None},
                    "configurations": [form.spec() for form in self.configurations],
                    "evaluators": [form.spec() for form in self.evaluators],
                }
            )
        except ValidationError as error:
            self.problems = [problem.message for problem in shape_problems(error)]
        except WorkbenchError as error:
            self.problems = [str(error)]
        return None

    def values(self) -> dict[str, Any]:
        """What was typed, unchecked, as `initial` takes it."""
        return {
            "facts": typed(self.facts),
            "configurations": [typed_configuration(form) for form in self.configurations],
            "evaluators": [typed_evaluator(form) for form in self.evaluators],
        }


def typed(form: forms.Form) -> dict[str, Any]:
    return {name: form[name].value() for name in form.fields}


def typed_configuration(form: ConfigurationForm) -> dict[str, Any]:
    """A row as `initial` takes it; a version of a topology that is no longer the chosen one is forgotten."""
    return typed(form) if form.own else {**typed(form), "version": ""}


def typed_evaluator(form: EvaluatorForm) -> dict[str, Any]:
    """A row as `initial` takes it."""
    values = typed(form)
    return {"name": values["name"], "options": {name: values[f"option-{name}"] for name in form.options}}


ROW_ACTIONS = ("add", "duplicate", "remove", "show")


def rows_changed(data: Mapping[str, str]) -> DraftForm | None:
    """The page again with a row more or less, or with the fields of another choice, when that is what was asked for: `row`
    is `remove configurations 2`."""
    action, _, rest = data.get("row", "").partition(" ")
    kind, _, number = rest.partition(" ")
    if action not in ROW_ACTIONS or kind not in ("configurations", "evaluators"):
        return None
    values = DraftForm(data).values()
    rows, index = values[kind], int(number) if number.isdecimal() else -1
    if action == "add":
        rows.append({})
    elif 0 <= index < len(rows):
        if action == "remove":
            del rows[index]
        elif action == "duplicate":
            rows.insert(index + 1, {**rows[index], "label": ""})
    return DraftForm(initial=values)


def draft_initial(experiment: Experiment) -> dict[str, Any]:
    """A stored draft, as the page shows it for a change."""
    keys = experiment.instance_keys
    facts = {
        **{name: getattr(experiment, name) for name in ("name", "question", "repetitions")},
        **experiment.limits,
        "dataset": str(experiment.dataset_version),
        "which": "all" if keys is None else "list",
        "keys": "\n".join(keys or []),
    }
    configurations = [
        configuration_initial(it.topology, it.commit, it.label, it.overrides) for it in experiment.configurations.all()
    ]
    return {"facts": facts, "configurations": configurations, "evaluators": experiment.evaluators}


def configuration_initial(topology: str, commit: str, label: str, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """A row; what has no field of its own stands under `more`."""
    params = dict(overrides.get("params", {}))
    own = {name: params.pop(name) for name in PARAMS if name in params}
    more = {"params": params, "vars": overrides.get("vars", {})}
    return {
        "topology": topology,
        "version": commit,
        "label": "" if label == own_label(f"{topology}@{commit}" if commit else topology, overrides) else label,
        "model": overrides.get("model", ""),
        **own,
        "more": {key: value for key, value in more.items() if value},
    }


def blank_initial() -> dict[str, Any]:
    """A new draft begins with one configuration and the evaluator that most begin with."""
    return {"facts": {}, "configurations": [{}], "evaluators": [{"name": "exact_match"}]}
