"""The form of a draft: facts, rows of configurations, rows of evaluators. Rows come and go by plain submits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django import forms
from django.forms import formset_factory
from pydantic import ValidationError

from workbench.datasets.models import DatasetVersion
from workbench.datasets.services import dataset_version
from workbench.engine.documents import read_json
from workbench.engine.errors import WorkbenchError, has_errors
from workbench.engine.evaluation import EVALUATORS
from workbench.experiments.models import Experiment
from workbench.experiments.spec import MOST_REPETITIONS, ExperimentSpec, own_label, shape_problems
from workbench.topologies.models import Topology

LIMITS = ("model_calls", "tokens", "cost_usd", "seconds")
PARAMS = ("temperature", "seed", "max_output_tokens")


class JsonObjectField(forms.CharField):
    """A JSON object; empty is `{}`."""

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, str) or value is None:
            return value
        return json.dumps(value, ensure_ascii=False) if value else ""

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        read = read_json(text or "{}")
        if has_errors(read.problems):
            raise forms.ValidationError([f"{problem.message} {problem.hint}".strip() for problem in read.problems])
        if not isinstance(read.data, dict):
            raise forms.ValidationError("Write an object, in braces.")
        return read.data


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


class ConfigurationForm(forms.Form):
    """A topology and what is changed in it."""

    use_required_attribute = False

    topology = forms.ChoiceField()
    model = forms.CharField(
        required=False, widget=forms.TextInput(attrs={"placeholder": "as the topology says", "list": "models"})
    )
    temperature = forms.FloatField(required=False, min_value=0, max_value=5)
    seed = forms.IntegerField(required=False)
    max_output_tokens = forms.IntegerField(required=False, min_value=1, label="Longest answer")
    label = forms.CharField(required=False, max_length=200, label="Called")
    more = JsonObjectField(
        required=False,
        label="More (JSON)",
        widget=forms.TextInput(attrs={"class": "mono", "placeholder": '{"vars": {…}}'}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = Topology.objects.filter(deleted_at=None).values_list("name", flat=True)
        given = (self.initial or {}).get("topology")
        choices = [*names, *([given] if given and given not in names else [])]
        field: Any = self.fields["topology"]
        field.choices = [(name, name) for name in choices]

    def spec(self) -> dict[str, Any]:
        """This row as a file would say it."""
        said = self.cleaned_data
        overrides = dict(said["more"])
        params = {name: said[name] for name in PARAMS if said[name] is not None}
        if params:
            overrides["params"] = {**overrides.get("params", {}), **params}
        if said["model"]:
            overrides["model"] = said["model"]
        return {"topology": said["topology"], "label": said["label"], "overrides": overrides}


class EvaluatorForm(forms.Form):
    """An evaluator and its options."""

    use_required_attribute = False

    name = forms.ChoiceField(label="Evaluator")
    options = JsonObjectField(
        required=False,
        label="Options (JSON)",
        widget=forms.TextInput(attrs={"class": "mono", "placeholder": "the defaults"}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["name"]
        field.choices = [(name, name) for name in EVALUATORS.names()]


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
                    "evaluators": [form.cleaned_data for form in self.evaluators],
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
            "configurations": [typed(form) for form in self.configurations],
            "evaluators": [typed(form) for form in self.evaluators],
        }


def typed(form: forms.Form) -> dict[str, Any]:
    return {name: form[name].value() for name in form.fields}


ROW_ACTIONS = ("add", "duplicate", "remove")


def rows_changed(data: Mapping[str, str]) -> DraftForm | None:
    """The page again with a row more or less, when that is what was asked for: `row` is `remove configurations 2`."""
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
        else:
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
        configuration_initial(f"{it.topology}@{it.commit}" if it.commit else it.topology, it.label, it.overrides)
        for it in experiment.configurations.all()
    ]
    return {"facts": facts, "configurations": configurations, "evaluators": experiment.evaluators}


def configuration_initial(topology: str, label: str, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """A row; what has no field of its own stands under `more`."""
    params = dict(overrides.get("params", {}))
    own = {name: params.pop(name) for name in PARAMS if name in params}
    more = {"params": params, "vars": overrides.get("vars", {})}
    return {
        "topology": topology,
        "label": "" if label == own_label(topology, overrides) else label,
        "model": overrides.get("model", ""),
        **own,
        "more": {key: value for key, value in more.items() if value},
    }


def blank_initial() -> dict[str, Any]:
    """A new draft begins with one configuration and the evaluator that most begin with."""
    return {"facts": {}, "configurations": [{}], "evaluators": [{"name": "exact_match"}]}
