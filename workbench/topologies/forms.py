"""Forms of topologies: what a person writes is kept as it is; the services say what is wrong with it."""

from __future__ import annotations

from typing import Any

from django import forms

from workbench.topologies.models import Topology
from workbench.topologies.reading import NAME


class CreateForm(forms.Form):
    """The name of a new topology, and what it begins as."""

    use_required_attribute = False

    name = forms.CharField(
        max_length=100,
        help_text="Letters, digits, dots, hyphens and underscores; it is the file's name.",
        error_messages={"required": "Give it a name."},
    )
    source = forms.ChoiceField(required=False, label="Begin with")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = Topology.objects.filter(deleted_at=None).values_list("name", flat=True)
        fields: dict[str, Any] = self.fields
        fields["source"].choices = [
            ("", "One agent that is given the problem"),
            *((n, f"A copy of {n}") for n in names),
        ]

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if not NAME.fullmatch(name):
            raise forms.ValidationError(
                "Use letters, digits, dots, hyphens and underscores only, with a letter or digit first."
            )
        return name
