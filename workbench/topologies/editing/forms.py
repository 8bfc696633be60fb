"""Forms out of JSON Schemas: which fields a node, an edge or the topology has, and what a person wrote into them.

Nothing is written for a single type: kinds of fields follow from the schema's types and its `x-input` marks. What no
kind fits is edited as JSON, so there is nothing that can't be edited.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from workbench.engine.documents import pointer, read_json
from workbench.topologies.editing.conditionforms import Part, condition_form, sentence
from workbench.topologies.editing.fields import MISSING
from workbench.topologies.editing.schemas import Schema, resolved, tool_schema, variants

Json = Any
LONG = 10_000
FINITE = ("const", "enum")
LISTED = {"model": "models", "agent": "agents", "tool": "tools", "node": "nodes", "topology": "topologies"}


class Option(NamedTuple):
    """A choice; `value` is JSON."""

    value: str
    label: str
    chosen: bool = False


class Field(NamedTuple):
    """A field of a form. `path` is a JSON Pointer inside the node, the edge or the topology."""

    path: str
    kind: str
    label: str
    help: str
    schema: Schema
    root: Schema
    value: Json = None
    given: bool = False
    text: str = ""
    placeholder: str = ""
    options: Sequence[Option] = ()
    fields: Sequence[Field] = ()
    names: str = ""
    """Which list of names it is completed from."""

    condition: Part | None = None
    none: bool = False
    """Whether null may be chosen, beside leaving it out."""

    unknown: bool = False
    required: bool = False

    @property
    def id(self) -> str:
        return "f" + "".join(sign if sign.isalnum() else "-" for sign in self.path)

    @property
    def sentence(self) -> str:
        return sentence(self.value)

    @property
    def chosen(self) -> list[str]:
        """The names in a list of names, as far as they are names."""
        return [name for name in self.value if isinstance(name, str)] if isinstance(self.value, list) else []

    @property
    def rows(self) -> int:
        return max(3, min(18, self.text.count("\n") + len(self.text) // 60 + 2))

    @property
    def folded(self) -> bool:
        """Whether it is shown folded: a part that says nothing."""
        return self.kind in ("group", "union", "objects") and not self.given


class Around(NamedTuple):
    """What a form may know of the rest: what is taken where nothing is said, and the value of the whole."""

    usual: Mapping[str, Json] = {}
    whole: Mapping[str, Json] = {}


ALONE = Around()


def fields_of(schema: Schema, value: Json, around: Around = ALONE, *, skip: Sequence[str] = ()) -> list[Field]:
    """The fields of an object, in the schema's order; keys that the schema does not know come last."""
    return _fields(schema, schema, value, "", around, skip)


def _fields(
    schema: Schema, root: Schema, value: Json, path: str, around: Around, skip: Sequence[str] = ()
) -> list[Field]:
    said = value if isinstance(value, Mapping) else {}
    known: Mapping[str, Schema] = schema.get("properties") or {}
    required = schema.get("required") or ()
    found = []
    for name, inner in known.items():
        if name in skip or resolved(inner, root).get("x-input") == "hidden":
            continue
        field = field_of(name, path + pointer(name), inner, root, said.get(name, MISSING), around)
        found.append(field._replace(required=name in required))
    for name, item in said.items():
        if name not in known and name not in skip:
            found.append(_unknown(name, path + pointer(name), item))
    return found


def _unknown(name: str, path: str, value: Json) -> Field:
    return Field(path, "json", name, "", {}, {}, value, True, _json(value), unknown=True)


def field_of(name: str, path: str, schema: Schema, root: Schema, value: Json, around: Around = ALONE) -> Field:
    """One field. `value` is `MISSING` where nothing is said."""
    whole = resolved(schema, root)
    forms = variants(schema, root)
    mark = whole.get("x-input") or next((form["x-input"] for form in forms if "x-input" in form), "")
    given = value is not MISSING
    field = Field(
        path, "json", name.replace("_", " ").capitalize(), str(whole.get("description") or ""), schema, root,
        value if given else None, given, _text(value) if given else "",
        placeholder=_usual(name, path, whole, around), none=_may_be_null(schema, root) and whole.get("default") is not None,
    )  # fmt: skip
    if mark == "arguments":
        return _arguments(field, around)
    if mark == "condition":
        return field._replace(kind="condition", condition=condition_form(value if given else None, path))
    if mark in LISTED and all(form.get("type") == "string" for form in forms):
        return field._replace(kind="text", names=LISTED[mark])
    if mark in ("prompt", "code"):
        return field._replace(kind=mark)
    if mark == "map" and len(forms) == 1:
        return _map(field, forms[0])
    return _by_type(field, forms, around)


def _by_type(field: Field, forms: Sequence[Schema], around: Around) -> Field:
    whole = resolved(field.schema, field.root)
    kinds = {form.get("type") for form in forms}
    if kinds == {"boolean"} and len(forms) == 1 and "const" not in forms[0] and isinstance(whole.get("default"), bool):
        return field._replace(kind="bool", value=field.value if field.given else whole["default"])
    if forms and all(form.get("type") == "boolean" or any(key in form for key in FINITE) for form in forms):
        return field._replace(kind="choice", options=_choices(field, forms))
    optional = _may_be_null(field.schema, field.root)
    if len(forms) == 1:
        return _single(field, forms[0], around, optional)
    if kinds <= {"string", "integer", "number"} and not any("enum" in form for form in forms):
        return field._replace(kind="scalar")
    return _union(field, forms, around)


def _single(field: Field, form: Schema, around: Around, optional: bool) -> Field:
    kind = form.get("type")
    if kind == "string":
        return field._replace(kind="long" if form.get("maxLength", 0) > LONG else "text")
    if kind in ("integer", "number"):
        return field._replace(kind="number", text="" if field.value is None else field.text)
    if kind == "array":
        return _list(field, form, around)
    if kind == "object" and "properties" in form:
        if optional:
            return _union(field, [form], around)
        inner = _fields(form, field.root, field.value, field.path, around)
        return field._replace(kind="group", fields=inner, help=field.help or _words(form))
    if kind == "object" and isinstance(form.get("additionalProperties"), dict):
        return _map(field, form)
    return field


def _list(field: Field, form: Schema, around: Around) -> Field:
    items = resolved(form.get("items") or {}, field.root)
    mark = items.get("x-input", "")
    if items.get("type") == "string" and mark in ("tool", "node"):
        return field._replace(kind="checks", names=LISTED[mark])
    if items.get("type") == "string":
        text = "\n".join(map(str, field.value)) if isinstance(field.value, list) else field.text
        return field._replace(kind="lines", text=text)
    if items.get("type") == "object" and "properties" in items:
        values = field.value if isinstance(field.value, list) else []
        inner = [
            Field(
                f"{field.path}/{place}", "group", f"{field.label} {place + 1}", "", items, field.root, value, True,
                fields=_fields(items, field.root, value, f"{field.path}/{place}", around),
            )
            for place, value in enumerate(values)
        ]  # fmt: skip
        return field._replace(kind="objects", fields=inner, text=json.dumps(skeleton(items, field.root)))
    return field


def _union(field: Field, forms: Sequence[Schema], around: Around) -> Field:
    """A value of one of several forms: first which, then the fields of that form."""
    place = _form_of(field.value, forms, field.root) if field.given and field.value is not None else None
    optional = _may_be_null(field.schema, field.root) or "default" in resolved(field.schema, field.root)
    options = [Option("", _left_out(field), place is None)] if optional else []
    options += [Option(str(number), _form_label(form), number == place) for number, form in enumerate(forms)]
    inner: list[Field] = []
    if place is not None and not any(key in forms[place] for key in FINITE):
        form = forms[place]
        if form.get("type") == "object" and "properties" in form:
            inner = _fields(form, field.root, field.value, field.path, around)
        else:
            part = field_of("value", field.path, form, field.root, field.value, around)
            inner = [part._replace(label=field.label)]
    return field._replace(kind="union", options=options, fields=inner)


def _left_out(field: Field) -> str:
    return f"as usual: {field.placeholder}" if field.placeholder and len(field.placeholder) < 40 else "–"


def _form_label(form: Schema) -> str:
    if "const" in form:
        return "yes" if form["const"] is True else str(form["const"])
    if "enum" in form:
        return " or ".join(str(value) for value in form["enum"])
    if form.get("type") == "object":
        title = str(form.get("title") or "an object").removesuffix("Spec")
        words = "".join(f" {sign.lower()}" if sign.isupper() else sign for sign in title).strip()
        return {"output": "JSON of a schema"}.get(words, words)
    return {"string": "text", "boolean": "yes or no", "array": "list"}.get(str(form.get("type")), "JSON")


def _form_of(value: Json, forms: Sequence[Schema], root: Schema) -> int | None:
    """The form that a value most likely has."""
    kinds = {bool: "boolean", str: "string", int: "integer", float: "number", list: "array", dict: "object"}
    kind = kinds.get(type(value))
    for number, form in enumerate(forms):
        if ("const" in form and form["const"] == value) or ("enum" in form and value in form["enum"]):
            return number
    for number, form in enumerate(forms):
        if form.get("type") == kind and not any(key in form for key in FINITE):
            return number
    return None


def _map(field: Field, form: Schema) -> Field:
    """A free object: names and their values."""
    inner = form.get("additionalProperties")
    long = isinstance(inner, dict) and inner.get("x-input") == "prompt"
    said = field.value if isinstance(field.value, Mapping) else {}
    fields = [
        Field(field.path + pointer(key), "prompt" if long else "loose", key, "", {}, {}, value, True, _text(value))
        for key, value in said.items()
    ]
    return field._replace(kind="map", fields=fields)


def _arguments(field: Field, around: Around) -> Field:
    """The arguments of the tool that the node names; the texts in them are prompts."""
    schema = tool_schema(str(around.whole.get("tool")))
    if schema is None:
        return field
    said = field.value if isinstance(field.value, Mapping) else {}
    fields = []
    for name, inner in (schema.get("properties") or {}).items():
        value = said.get(name, MISSING)
        part = resolved(inner, schema)
        fields.append(
            Field(
                field.path + pointer(name), "loose", name, str(part.get("description") or ""), inner, schema,
                None if value is MISSING else value, value is not MISSING, "" if value is MISSING else _text(value),
                required=name in (schema.get("required") or ()),
            )
        )  # fmt: skip
    fields += [
        _unknown(key, field.path + pointer(key), value)
        for key, value in said.items()
        if key not in schema["properties"]
    ]
    return field._replace(kind="group", fields=fields, given=True)


def _choices(field: Field, forms: Sequence[Schema]) -> list[Option]:
    values: list[Json] = []
    for form in forms:
        values += [form["const"]] if "const" in form else form.get("enum") or [True, False]
    default = resolved(field.schema, field.root).get("default")
    left = "–" if default is None else f"as usual: {_plain(default)}"
    options = [Option("", left, not field.given)]
    options += [
        Option(_json(value), _plain(value), field.given and value == field.value and type(value) is type(field.value))
        for value in values
    ]
    if field.given and field.value is not None and not any(option.chosen for option in options):
        options.append(Option(_json(field.value), f"{_plain(field.value)} (not known)", True))
    return options


def _plain(value: Json) -> str:
    words = {True: "yes", False: "no"}
    return words[value] if isinstance(value, bool) else str(value)


def _may_be_null(schema: Schema, root: Schema) -> bool:
    whole = resolved(schema, root)
    return any(resolved(part, root).get("type") == "null" for part in whole.get("anyOf") or ())


def _usual(name: str, path: str, whole: Schema, around: Around) -> str:
    """What is taken where nothing is said."""
    found = around.usual.get(path, whole.get("default"))
    if found is None or found == "" or isinstance(found, dict | list | tuple):
        return ""
    return _plain(found) if isinstance(found, bool) else str(found)


def _words(form: Schema) -> str:
    return " ".join(str(form.get("description") or "").replace("`", "").split())


def _text(value: Json) -> str:
    return value if isinstance(value, str) else _json(value)


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def skeleton(schema: Schema, root: Schema) -> Json:
    """The smallest value of a form, to begin with."""
    form = variants(schema, root)[0]
    if "const" in form:
        return form["const"]
    if form.get("x-input") == "condition":
        return {"contains_any": ["yes"]}
    if "enum" in form:
        return form["enum"][0]
    if form.get("default") is not None:
        return form["default"]
    kind = form.get("type")
    if kind == "object":
        known = form.get("properties") or {}
        return {name: skeleton(known[name], root) for name in form.get("required") or () if name in known}
    empty: dict[Json, Json] = {"string": "", "array": [], "boolean": False, "integer": 0, "number": 0}
    return form.get("minimum", empty[kind]) if kind in empty else {}


def loose(text: str, before: Json = MISSING) -> Json:
    """What a person typed where any JSON may stand: a text stays one, else what reads as JSON is JSON."""
    if isinstance(before, str) or not text.strip():
        return text
    found = read_json(text)
    return text if found.problems else found.data
