"""What pydantic finds wrong with a value, in words for the person who wrote it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

WORDS = {
    "missing": "it is missing",
    "string_type": "it must be text",
    "int_type": "it must be a whole number",
    "int_parsing": "it must be a whole number",
    "int_from_float": "it must be a whole number",
    "float_type": "it must be a number",
    "float_parsing": "it must be a number",
    "finite_number": "it must be a finite number",
    "decimal_type": "it must be a number",
    "decimal_parsing": "it must be a number",
    "bool_type": "it must be true or false",
    "bool_parsing": "it must be true or false",
    "dict_type": "it must be an object, in braces",
    "model_type": "it must be an object, in braces",
    "model_attributes_type": "it must be an object, in braces",
    "list_type": "it must be a list, in brackets",
    "tuple_type": "it must be a list, in brackets",
    "none_required": "it must be null",
    "greater_than": "it must be more than {gt}",
    "greater_than_equal": "it must be at least {ge}",
    "less_than": "it must be less than {lt}",
    "less_than_equal": "it must be at most {le}",
    "string_too_short": "it must not be shorter than {min_length} characters",
    "string_too_long": "it must not be longer than {max_length} characters",
    "too_short": "it must not hold fewer than {min_length}",
    "too_long": "it must not hold more than {max_length}",
    "literal_error": "it must be {expected}",
    "enum": "it must be {expected}",
    "string_pattern_mismatch": "it is not written as such a thing is ({pattern})",
}
EMPTY = "it must not be empty"
PATTERNS = {"^[a-z_]+/.+$": "it must be written PROVIDER/NAME, such as ollama/qwen3.5:9b"}
"""What a pattern asks for, where that can be said."""


def fault_words(fault: Mapping[str, Any]) -> str:
    """One of pydantic's errors as the end of a sentence, without its full stop, with what was given where that is short."""
    said = fault_said(fault)
    return said if fault["type"] not in WORDS or fault["type"] == "missing" or said == EMPTY else said + _given(fault)


def fault_said(fault: Mapping[str, Any]) -> str:
    """The same without what was given."""
    context = fault.get("ctx") or {}
    if fault["type"] in ("string_too_short", "too_short") and context.get("min_length") == 1:
        return EMPTY
    template = PATTERNS.get(context.get("pattern", "")) or WORDS.get(fault["type"])
    if template is None:
        said = str(fault["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ").rstrip(".")
        return said[:1].lower() + said[1:]
    return template.format_map(context)


def _given(fault: Mapping[str, Any]) -> str:
    value = fault.get("input")
    if value is None or isinstance(value, bool | int | float | str):
        text = json.dumps(value, ensure_ascii=True)
        return f"; it is {text}" if len(text) <= 60 else ""
    return ""
