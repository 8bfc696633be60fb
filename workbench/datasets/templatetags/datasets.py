"""How instances are written on pages."""

from __future__ import annotations

import json
from typing import Any

from django import template

register = template.Library()

SHOWN = 20_000


@register.filter
def excerpt(text: str) -> str:
    """The beginning of a text, as much as a page can bear."""
    return text[:SHOWN]


@register.filter
def pretty_json(value: Any) -> str:
    """JSON for people."""
    return json.dumps(value, indent=2, ensure_ascii=False)
