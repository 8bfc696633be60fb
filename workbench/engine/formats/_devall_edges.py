"""DevAll's edges: when they fire, what they carry, and what they do to their target's inbox."""

from __future__ import annotations

from typing import Any, NamedTuple

from workbench.engine.formats._devall_messages import check_regex, map_of, transform_of
from workbench.engine.formats._reading import Part, Reading

Json = Any

EDGE_KEYS = (
    "from to trigger condition carry_data keep_message clear_context clear_kept_context process dynamic"
).split()
FAILED = "==CODE EXECUTION FAILED=="
NEVER = {"not": {"matches": ".*"}}
_VERDICT = {"matches": r"verdict\s*:\s*(STOP|DONE)\b", "case_sensitive": False}
FUNCTIONS: dict[str, dict[str, Json] | None] = {
    "true": None,
    "always_false": NEVER,
    "contains_keyword": {"contains_any": ["trigger"], "case_sensitive": False},
    "not_contains_keyword": {"contains_none": ["trigger"], "case_sensitive": False},
    "length_greater_than_5": {"matches": "(?s).{6}"},
    "code_pass": {"contains_none": [FAILED]},
    "code_fail": {"contains_any": [FAILED]},
    "need_reflection_loop": {"not": _VERDICT},
    "should_stop_loop": _VERDICT,
}
OF_PYTHON: dict[str, dict[str, Json] | None] = {"code_pass": None, "code_fail": {"status": "failed"}}


class Converted(NamedTuple):
    """An edge without its ends. `tests_failure`: its source has to go on when it fails."""

    document: dict[str, Json]
    tests_failure: bool = False


def edge_document(part: Part, source_type: str, reading: Reading) -> Converted:
    """The edge in the own format; what has its default is left out."""
    found: dict[str, Json] = {}
    when, tests_failure = _condition(part, source_type, reading)
    if when is not None:
        found["when"] = when
    for key, own, default in (
        ("trigger", "trigger", True),
        ("carry_data", "carry", True),
        ("keep_message", "keep", False),
    ):
        if (value := part.flag(key, default)) is not default:
            found[own] = value
    cleared = {(True, False): "inbox", (False, True): "kept", (True, True): "all"}
    if clear := cleared.get((part.flag("clear_context", False), part.flag("clear_kept_context", False))):
        found["clear"] = clear
    if part.has("process") and (transform := transform_of(part, reading)):
        found["transform"] = transform
    if part.has("dynamic"):
        found |= map_of(part.part("dynamic", ("type", "split", "config"), "A dynamic edge"), reading)
    return Converted(found, tests_failure)


def _about(part: Part) -> str:
    return f"edge {part.get('from')} → {part.get('to')}"


def _condition(part: Part, source_type: str, reading: Reading) -> tuple[dict[str, Json] | None, bool]:
    given = part.get("condition")
    if given is None or given is True:
        return None, False
    if given is False:
        return NEVER, False
    if isinstance(given, str):
        return _function(given, part.at("condition"), part, source_type, reading)
    condition = part.part("condition", ("type", "config"), "A condition")
    kind = condition.choice("type", ("function", "keyword"), "function", required=True)
    if kind == "keyword":
        known = ("any", "none", "regex", "case_sensitive", "default")
        return _keyword(condition.part("config", known, "A keyword condition"), _about(part), reading), False
    config = condition.part("config", ("name",), "A function condition")
    name = config.text("name", required=True)
    return _function(name, config.at("name"), part, source_type, reading) if name else (None, False)


def _function(
    name: str, path: str, part: Part, source_type: str, reading: Reading
) -> tuple[dict[str, Json] | None, bool]:
    if name not in FUNCTIONS:
        message = f"There is no condition function {name!r}.{reading.nearest(name, FUNCTIONS)}"
        hint = f"An import executes no code; these can be expressed: {', '.join(FUNCTIONS)}."
        reading.error("unknown_function", path, message, hint)
        return None, False
    if name in OF_PYTHON and source_type == "python":
        reading.note(f"{name} asks here whether the node failed; a failed node sends no output on.", _about(part))
        return OF_PYTHON[name], True
    if name in OF_PYTHON:
        reading.note(
            f"{name} looks for the text {FAILED!r}, which no node writes here: code that fails is a failed node."
        )
    if FUNCTIONS[name] in (_VERDICT, {"not": _VERDICT}):
        reading.note(f"{name} looks at every verdict in the text, not only at the first.", _about(part))
    return FUNCTIONS[name], False


def _keyword(config: Part, about: str, reading: Reading) -> dict[str, Json] | None:
    """A `none` word decides against; else an `any` word or a pattern for; else it is true only if neither is given."""
    words, barred, patterns = config.texts("any"), config.texts("none"), config.texts("regex")
    sensitive: dict[str, Json] = {} if config.flag("case_sensitive", True) else {"case_sensitive": False}
    if config.has("default"):
        reading.note('DevAll itself pays no heed to a keyword condition\'s "default"; it was left out.', about)
    for position, pattern in enumerate(patterns):
        check_regex(pattern, config.at("regex", position), reading)
    wanted: list[Json] = [{"contains_any": words, **sensitive}] if words else []
    wanted += [{"matches": pattern, **sensitive} for pattern in patterns]
    parts: list[Json] = [{"contains_none": barred, **sensitive}] if barred else []
    parts += [{"any": wanted}] if len(wanted) > 1 else wanted
    if not parts:
        message = 'A keyword condition needs at least one of "any", "none" and "regex".'
        reading.error("missing_key", config.path, message)
        return None
    return {"all": parts} if len(parts) > 1 else dict(parts[0])
