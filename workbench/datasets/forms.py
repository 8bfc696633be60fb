"""The form that imports a data set, in two steps: a file is looked at first, then added."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from workbench.datasets.rows import MAX_BYTES
from workbench.datasets.services import dataset_name
from workbench.engine.errors import InvalidDocument


class ImportForm(forms.Form):
    """The file, or (at the second step) the token of the file that was kept, and what the data set is called."""

    file = forms.FileField(
        required=False,
        allow_empty_file=True,
        label="File",
        help_text="JSON Lines (.jsonl) or CSV (.csv) in UTF-8, at most 50 MB.",
        widget=forms.FileInput(attrs={"accept": ".jsonl,.ndjson,.csv"}),
    )
    name = forms.CharField(
        required=False,
        max_length=100,
        label="Name",
        help_text="Letters, digits, - and _. Empty: the file's name. A name that exists gets a new version.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    title = forms.CharField(required=False, max_length=200, label="Title", help_text="For people; may stay empty.")
    upload = forms.CharField(required=False, max_length=80, widget=forms.HiddenInput)
    filename = forms.CharField(required=False, max_length=300, widget=forms.HiddenInput)

    def clean_file(self) -> UploadedFile[Any] | None:
        file: UploadedFile[Any] | None = self.cleaned_data["file"]
        if file is not None and (file.size or 0) > MAX_BYTES:
            raise forms.ValidationError(f"The file has {(file.size or 0) / 1024**2:.1f} MB; 50 MB is the most.")
        return file

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        file = cleaned.get("file")
        if file is None and not cleaned.get("upload") and "file" not in self.errors:
            self.add_error("file", "Choose a file.")
        if file is not None:
            cleaned["filename"] = PurePath(file.name or "").name[:300]
        cleaned["name"] = cleaned.get("name") or PurePath(cleaned.get("filename", "")).stem
        if "name" not in self.errors and "file" not in self.errors and cleaned["name"]:
            self.check_name(cleaned["name"])
        return cleaned

    def check_name(self, name: str) -> None:
        """The name, typed or taken from the file, must do."""
        try:
            dataset_name(name)
        except InvalidDocument as error:
            self.add_error("name", f"{error} {error.problems[0].hint}")
