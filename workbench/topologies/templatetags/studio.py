"""What the editor's templates need: a lookup by key, JSON for buttons and data blocks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django import template
from django.utils.html import json_script
from django.utils.safestring import SafeString

register = template.Library()


@register.filter
def at(found: Mapping[Any, Any], key: Any) -> Any:
    """What stands under a key, or nothing."""
    return found.get(key, "") if isinstance(found, Mapping) else ""


@register.filter
def as_json(value: Any) -> str:
    """JSON for an attribute; Django escapes it."""
    return json.dumps(value, ensure_ascii=False)


@register.simple_tag
def data_block(value: Any, name: str) -> SafeString:
    """A block of JSON for the page's script; browsers do not execute it."""
    return json_script(value, name)
