"""What models and people said, on pages: control characters are shown, not obeyed, and long texts are folded."""

from __future__ import annotations

import json
from typing import Any

from django import template

from workbench.experiments.payloads import APART, REFERENCE
from workbench.experiments.text import visible

register = template.Library()

SHOWN = 20_000
"""So much of a text stands on a page; its raw form holds the rest."""


@register.filter
def said(value: Any) -> str:
    """A text as a page may show it, cut where it gets too long."""
    return visible(str(value)[:SHOWN])


@register.filter
def row_text(value: str) -> str:
    """The beginning of an event as its row holds it; parts that are kept apart are named."""
    return said(REFERENCE.sub(" a long part, kept apart ", value[1:]) if value.startswith(APART) else value)


@register.filter
def is_long(value: Any) -> bool:
    """Whether `said` cuts it."""
    return len(str(value)) > SHOWN


@register.filter
def as_json(value: Any) -> str:
    """A document, indented, cut where it gets too long."""
    if hasattr(value, "model_dump"):
        value = value.model_dump(mode="json")
    return visible(json.dumps(value, indent=2, ensure_ascii=False, default=str)[:SHOWN])


@register.filter
def arrows(values: list[str]) -> str:
    """`a, b ×3`: names in their order, each once."""
    counts = {name: values.count(name) for name in values}
    return ", ".join(name if number == 1 else f"{name} ×{number}" for name, number in counts.items())
