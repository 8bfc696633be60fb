"""Rows of the form of a draft: a configuration, an evaluator. What else a row asks depends on its first choice."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

from django import forms

from workbench.engine.documents import read_json
from workbench.engine.errors import InvalidDocument, WorkbenchError, has_errors
from workbench.engine.evaluation import EVALUATORS
from workbench.experiments.evaluators import evaluator_with
from workbench.topologies.models import Topology
from workbench.topologies.selectors import topology_version
from workbench.topologies.store import store
from workbench.web.schemafields import option_fields

PARAMS = ("temperature", "seed", "max_output_tokens")
COMMIT = re.compile("[0-9a-f]{7,40}")
VERSIONS = 30
"""So many of a topology's versions are offered."""


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


class ChoosingForm(forms.Form):
    """A row whose other fields depend on what is chosen in one: `shown` remembers for which choice they were made. Another
    choice shows its fields when the page is asked for again, by itself or, without a script, by a button."""

    use_required_attribute = False
    chooser = ""

    shown = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        kind, _, number = str(self.prefix).rpartition("-")
        self.fields[self.chooser].widget.attrs |= {
            "hx-post": "",
            "hx-trigger": "change",
            "hx-include": "closest form",
            "hx-target": "closest form",
            "hx-select": ".draft-form",
            "hx-swap": "outerHTML",
            "hx-vals": json.dumps({"row": f"show {kind}s {number}"}),
        }

    def chosen(self) -> tuple[str, bool]:
        """What is chosen, and whether the fields that were sent are its own."""
        if not self.is_bound:
            return str((self.initial or {}).get(self.chooser) or ""), True
        chosen = str(self.data.get(self.add_prefix(self.chooser), ""))
        return chosen, str(self.data.get(self.add_prefix("shown"), chosen)) == chosen


class ConfigurationForm(ChoosingForm):
    """A topology, in its newest version or an older one, and what is changed in it."""

    chooser = "topology"

    topology = forms.ChoiceField()
    version = forms.ChoiceField(required=False)
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
        topologies = dict(Topology.objects.filter(deleted_at=None).values_list("name", "commit"))
        chosen, self.own = self.chosen()
        chosen = chosen or next(iter(topologies), "")
        names = [*topologies, *([chosen] if chosen and chosen not in topologies and not self.is_bound else [])]
        fields: Any = self.fields
        fields["topology"].choices = [(name, name) for name in names]
        fields["version"].choices = version_choices(chosen, topologies.get(chosen, ""), self.asked_version(chosen))
        self.initial = {**(self.initial or {}), "shown": chosen}
        if self.is_bound and not self.own:  # the version was one of another topology
            sent: Any = self.data
            self.data = {**sent.dict(), self.add_prefix("version"): "", self.add_prefix("shown"): chosen}

    def asked_version(self, topology: str) -> str:
        """The version that a stored draft or this form names, if it is one of that topology's, however old."""
        if not self.is_bound:
            return str((self.initial or {}).get("version") or "")
        asked = str(self.data.get(self.add_prefix("version"), "")) if self.own else ""
        try:
            return asked if COMMIT.fullmatch(asked) and topology_version(topology, asked) is not None else ""
        except WorkbenchError:  # no commit of this repository
            return ""

    def spec(self) -> dict[str, Any]:
        """This row as a file would say it."""
        said = self.cleaned_data
        overrides = dict(said["more"])
        params = {name: said[name] for name in PARAMS if said[name] is not None}
        if params:
            overrides["params"] = {**overrides.get("params", {}), **params}
        if said["model"]:
            overrides["model"] = said["model"]
        topology = f"{said['topology']}@{said['version']}" if said["version"] else said["topology"]
        return {"topology": topology, "label": said["label"], "overrides": overrides}


def version_choices(topology: str, newest: str, asked: str) -> list[tuple[str, str]]:
    """The newest at the start, or one of those that are there now."""
    found = [("", "the newest"), *(versions_listed(topology, newest) if topology else ())]
    return found if asked in dict(found) else [*found, (asked, asked[:10])]


@lru_cache(maxsize=256)
def versions_listed(topology: str, newest: str) -> tuple[tuple[str, str], ...]:
    """Commit and words of the last versions; `newest` tells when there is one more."""
    versions = store().history(topology, limit=VERSIONS)
    return tuple(
        (it.commit, f"{it.date:%Y-%m-%d %H:%M} {it.message[:50]} ({it.commit[:7]})") for it in versions if it.blob
    )


class EvaluatorForm(ChoosingForm):
    """An evaluator and its options, made from what the plug-in says of them."""

    chooser = "name"

    name = forms.ChoiceField(label="Evaluator")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        fields: Any = self.fields
        chosen, self.own = self.chosen()
        known = EVALUATORS.names()
        chosen = chosen or next(iter(known), "")
        lost = [chosen] if chosen not in known and not self.is_bound else []
        fields["name"].choices = [(name, name) for name in (*known, *lost)]
        made = option_fields(EVALUATORS.get(chosen).Options.model_json_schema()) if chosen in known and self.own else {}
        self.options = list(made)
        self.fields |= {f"option-{name}": field for name, field in made.items()}
        given = (self.initial or {}).get("options") or {}
        own = {f"option-{name}": given[name] for name in made if name in given}
        self.initial = {**(self.initial or {}), **own, "shown": chosen}

    def clean(self) -> dict[str, Any]:
        """The evaluator itself has the last word on its options."""
        cleaned = super().clean() or {}
        if self.errors:
            return cleaned
        try:
            evaluator_with(cleaned["name"], self.given())
        except InvalidDocument as error:
            for problem in error.problems:
                name = f"option-{problem.path.split('/')[1]}"
                self.add_error(name if name in self.fields else None, problem.message)
        return cleaned

    def given(self) -> dict[str, Any]:
        """The options that were filled in and say something else than the plug-in's defaults."""
        said = {name: self.cleaned_data.get(f"option-{name}") for name in self.options}
        return {
            name: value
            for name, value in said.items()
            if value not in (None, "") and value != self.fields[f"option-{name}"].initial
        }

    def spec(self) -> dict[str, Any]:
        """This row as a file would say it."""
        return {"name": self.cleaned_data["name"], "options": self.given()}
