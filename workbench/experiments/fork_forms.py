"""The form of a fork: what is to be changed at its visit. One kind of change at a time; fields come from the node's type."""

from __future__ import annotations

from typing import Any

from django import forms

from workbench.engine.forking import Change
from workbench.engine.nodes import NODES
from workbench.engine.planning import NodePlan
from workbench.engine.recorded import Place, plan_at
from workbench.experiments.forking import Wish
from workbench.experiments.models import Run
from workbench.experiments.rowforms import JsonObjectField
from workbench.experiments.stored import stored_plan
from workbench.topologies.models import Topology

TEXTS = {"system": "Role (system)", "prompt": "Prompt", "question": "Question", "code": "Code"}
AGAIN = [
    ("settings", "with other settings"),
    ("answer", "with an answer of yours"),
    ("topology", "by another topology or version"),
    ("same", "as it was"),
]


class ForkForm(forms.Form):
    """What is changed at the visit `place` of a run."""

    use_required_attribute = False

    what = forms.ChoiceField(label="Make it again", choices=AGAIN, widget=forms.RadioSelect, initial="settings")
    model = forms.CharField(required=False, widget=forms.TextInput(attrs={"list": "models"}))
    params = JsonObjectField(required=False, label="Parameters (JSON)", widget=forms.TextInput(attrs={"class": "mono"}))
    answer = forms.CharField(
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 8, "class": "short"}),
        help_text="What the visit is to have said. It is not made again; what waits for it is.",
    )
    topology = forms.CharField(
        required=False,
        widget=forms.TextInput(attrs={"list": "topologies", "class": "mono"}),
        help_text="A name for its newest version, or name@commit.",
    )

    def __init__(self, data: Any = None, *, run: Run, place: Place, answer: str = "") -> None:
        self.place, self.node = place, node_of(run, place)
        initial = self._current() | {"what": "settings" if self.node else "topology", "answer": answer}
        super().__init__(data, initial=initial | {"topology": run.plan.topology})
        fields: dict[str, forms.Field] = dict(self.fields)
        self.fields.clear()
        self.fields["what"] = fields.pop("what")
        for name, label in TEXTS.items():
            if name in self._current():
                area = forms.Textarea(attrs={"rows": 3 if name == "system" else 8, "class": "short mono"})
                self.fields[name] = forms.CharField(required=False, strip=False, label=label, widget=area)
        for name in ("model", "params"):
            if name in self._current():
                self.fields[name] = fields[name]
        self.fields |= {name: fields[name] for name in ("answer", "topology")}

    def _current(self) -> dict[str, Any]:
        """What can be set at the node, with the values that the run was made with."""
        if self.node is None:
            return {}
        known = NODES.get(self.node.type).Config.model_fields
        return {name: self.node.config.get(name) or "" for name in (*TEXTS, "model") if name in known} | (
            {"params": self.node.config.get("params") or {}} if "params" in known else {}
        )

    @property
    def settings(self) -> list[Any]:
        """The fields of the node's settings, bound."""
        return [self[name] for name in self._current()]

    @property
    def topologies(self) -> list[str]:
        """What a topology can be chosen from."""
        return list(Topology.objects.filter(deleted_at=None).values_list("name", flat=True))

    def wish(self) -> Wish:
        """What was filled in. Only for a form that is valid."""
        said = self.cleaned_data
        if said["what"] == "answer":
            return Wish(self.place, Change(answer=newlines(said["answer"])))
        if said["what"] == "topology":
            return Wish(self.place, topology=said["topology"].strip())
        if said["what"] == "same":
            return Wish(self.place)
        current = self._current()
        changed = {name: newlines(said[name]) for name in current if name != "params"}
        settings: dict[str, Any] = {
            name: value for name, value in changed.items() if value != newlines(str(current[name]))
        }
        if "params" in current and (params := params_changed(current["params"], said["params"])):
            settings["params"] = params
        return Wish(self.place, Change(settings=settings))


def newlines(text: str) -> str:
    """Browsers send other ends of lines than prompts have."""
    return text.replace("\r\n", "\n")


def params_changed(was: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """The parameters that differ; those that were taken away are null."""
    gone = dict.fromkeys(name for name in was if name not in now)
    return gone | {name: value for name, value in now.items() if was.get(name) != value}


def node_of(run: Run, place: Place) -> NodePlan | None:
    """The node of a visit as the run's plan has it."""
    plan = plan_at(stored_plan(run.plan_id), place.path)
    return plan.nodes.get(place.node) if plan is not None else None
