"""Form fields from a JSON Schema: a plug-in's options need no form written for them."""

from __future__ import annotations

import json
from typing import Any

from django import forms

Schema = dict[str, Any]


class JsonField(forms.CharField):
    """A value that no simple field fits, as JSON."""

    widget = forms.Textarea(attrs={"rows": 2, "class": "mono"})

    def prepare_value(self, value: Any) -> str:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        if not text:
            return None
        try:
            return json.loads(text)
        except ValueError as error:
            raise forms.ValidationError('This is not JSON. Write a value such as 3, "text", true or [1, 2].') from error


class LinesField(forms.Field):
    """A list of texts, one a line."""

    widget = forms.Textarea(attrs={"rows": 3})

    def prepare_value(self, value: Any) -> str:
        return value if isinstance(value, str) else "\n".join(value or ())

    def to_python(self, value: Any) -> list[str]:
        return [line for line in str(value or "").splitlines() if line.strip()]


def resolved(schema: Schema, root: Schema) -> Schema:
    """The schema with `$ref`, `allOf` of one and "or null" followed to what they stand for."""
    if "$ref" in schema:
        return resolved({**root["$defs"][schema["$ref"].rsplit("/", 1)[1]], **without(schema, "$ref")}, root)
    for key in ("anyOf", "allOf"):
        real = [item for item in schema.get(key, ()) if item.get("type") != "null"]
        if len(real) == 1:
            return resolved({**real[0], **without(schema, key)}, root)
    return schema


def without(schema: Schema, key: str) -> Schema:
    return {name: value for name, value in schema.items() if name != key}


def option_fields(schema: Schema) -> dict[str, forms.Field]:
    """A field for each property of an object's schema, by its name."""
    required = schema.get("required", ())
    return {
        name: option_field(name, resolved(option, schema), required=name in required)
        for name, option in schema.get("properties", {}).items()
    }


def option_field(name: str, schema: Schema, *, required: bool) -> forms.Field:
    """The field for one option."""
    shared: dict[str, Any] = {
        "label": option_label(name, schema.get("title", "")),
        "help_text": schema.get("description", ""),
        "initial": schema.get("default"),
        "required": required,
    }
    bounds: dict[str, Any] = {"min_value": schema.get("minimum"), "max_value": schema.get("maximum")}
    kind = schema.get("type")
    if "enum" in schema:
        choices = [(str(value), str(value)) for value in schema["enum"]]
        undecided = [] if required or schema.get("default") is not None else [("", "–")]
        return forms.ChoiceField(choices=[*undecided, *choices], **shared)
    if kind == "boolean" and schema.get("default", False) is None:
        choices = [("", "its own choice"), ("true", "yes"), ("false", "no")]
        return forms.TypedChoiceField(choices=choices, coerce="true".__eq__, empty_value=None, **shared)
    if kind == "boolean":
        return forms.BooleanField(**{**shared, "required": False})
    if kind == "integer":
        return forms.IntegerField(**bounds, **shared)
    if kind == "number":
        return forms.FloatField(**bounds, **shared)
    if kind == "string":
        return forms.CharField(strip=False, max_length=schema.get("maxLength"), **shared)
    if kind == "array" and schema.get("items", {}).get("type") == "string" and "enum" not in schema["items"]:
        return LinesField(**shared)
    return JsonField(**shared)


def option_label(name: str, title: str) -> str:
    """The option's own title, or its name as words."""
    words = name.replace("_", " ")
    return words.capitalize() if title in ("", words.title()) else title
