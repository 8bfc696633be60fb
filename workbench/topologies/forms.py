"""Forms of topologies: what a person writes is kept as it is; the services say what is wrong with it."""

from __future__ import annotations

from typing import Any

from django import forms

from workbench.topologies.models import Topology
from workbench.topologies.reading import NAME

LONGEST_MESSAGE = 2000


class EditForm(forms.Form):
    """The text of a topology, and a message for its history."""

    use_required_attribute = False

    text = forms.CharField(
        strip=False,
        label="Topology as JSON",
        widget=forms.Textarea(attrs={"class": "mono", "rows": 28, "spellcheck": "false", "autocomplete": "off"}),
        error_messages={"required": "There is no text to commit."},
    )
    message = forms.CharField(
        max_length=LONGEST_MESSAGE,
        label="What changed",
        help_text="A few words for the history.",
        error_messages={"required": "Say in a few words what you changed."},
    )
    expected = forms.CharField(required=False, widget=forms.HiddenInput)

    def clean_text(self) -> str:
        """Browsers send CRLF; files here end their lines with LF."""
        text: str = self.cleaned_data["text"]
        return text.replace("\r\n", "\n")


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
