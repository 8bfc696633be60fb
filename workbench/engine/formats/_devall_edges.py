"""DevAll's edges: conditions, processors, maps and trees, and what they do to their target's inbox."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from workbench.engine.conditions import regex_problems
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
PROCESSORS = ("uppercase_payload", "code_save_and_run")
_REGEX_KEYS = ["pattern", "group", "case_sensitive", "multiline", "dotall"]
_CLASSES = re.compile(r"\\[dDwWsSbB]")


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
    if part.has("process") and (transform := _process(part, reading)):
        found["transform"] = transform
    if part.has("dynamic"):
        found |= _dynamic(part.part("dynamic", ("type", "split", "config"), "A dynamic edge"), reading)
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
        _check_regex(pattern, config.at("regex", position), reading)
    wanted: list[Json] = [{"contains_any": words, **sensitive}] if words else []
    wanted += [{"matches": pattern, **sensitive} for pattern in patterns]
    parts: list[Json] = [{"contains_none": barred, **sensitive}] if barred else []
    parts += [{"any": wanted}] if len(wanted) > 1 else wanted
    if not parts:
        message = 'A keyword condition needs at least one of "any", "none" and "regex".'
        reading.error("missing_key", config.path, message)
        return None
    return {"all": parts} if len(parts) > 1 else dict(parts[0])


def _process(part: Part, reading: Reading) -> dict[str, Json] | None:
    process = part.part("process", ("type", "config"), "A processor")
    if process.choice("type", ("regex_extract", "function"), "function", required=True) == "regex_extract":
        known = [*_REGEX_KEYS, "multiple", "template", "on_no_match", "default_value"]
        return _extract(process.part("config", known, "A regex_extract processor"), reading)
    name = process.part("config", ("name",), "A function processor").text("name")
    message = f"DevAll's function {name!r} can't be expressed: an import executes no code."
    if name not in PROCESSORS:
        message = f"There is no processor function {name!r}.{reading.nearest(name, PROCESSORS)}"
    hint = "Let a node do what it does, or take the processor out."
    reading.error("unknown_function", process.at("config", "name"), message, hint)
    return None


def _extract(config: Part, reading: Reading) -> dict[str, Json]:
    found: dict[str, Json] = {"regex": _regex(config, reading), "group": _group(config)}
    if config.flag("multiple", False):
        found["all"] = True
    if template := config.text("template"):
        found["template"] = template
    on_no_match = config.choice("on_no_match", ("pass", "default", "drop"), "pass")
    instead: dict[str, Json] = {"pass": "keep", "drop": "drop", "default": {"default": config.text("default_value")}}
    found["on_no_match"] = instead[on_no_match]
    return found


def _regex(config: Part, reading: Reading) -> str:
    pattern = config.text("pattern", required=True)
    flags = "" if config.flag("case_sensitive", True) else "i"
    flags += "m" if config.flag("multiline", False) else ""
    flags += "s" if config.flag("dotall", False) else ""
    if pattern:
        _check_regex(pattern, config.at("pattern"), reading)
    return f"(?{flags}){pattern}" if flags else pattern


def _check_regex(pattern: str, path: str, reading: Reading) -> None:
    reading.problems += regex_problems(pattern, path)
    if _CLASSES.search(pattern):
        reading.note(r"In regular expressions \d, \w, \s and \b know ASCII letters only here (RE2).")
    if "$" in pattern:
        reading.note("In regular expressions $ is the very end of the text here, not before a last line break (RE2).")


def _group(config: Part) -> int | str:
    value = config.get("group")
    if isinstance(value, bool) or not isinstance(value, int | str | None):
        return config.whole("group", 0)
    if value is None:
        return 0
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value


def _dynamic(dynamic: Part, reading: Reading) -> dict[str, Json]:
    kind = dynamic.choice("type", ("map", "tree"), "map", required=True)
    known = ("max_parallel",) if kind == "map" else ("max_parallel", "group_size")
    config = dynamic.part("config", known, f"The config of a {kind}")
    found: dict[str, Json] = {
        "map": {"split": _split(dynamic, reading), "max_parallel": config.whole("max_parallel", 10)}
    }
    if kind == "tree":
        found["reduce"] = {"group_size": config.whole("group_size", 3)}
    return found


def _split(dynamic: Part, reading: Reading) -> Json:
    split = dynamic.part("split", ("type", "config"), "A split")
    kind = split.choice("type", ("message", "regex", "json_path"), "message")
    if kind == "message":
        split.part("config", (), "The config of a split by message")
        return "messages"
    if kind == "json_path":
        return {"json": split.part("config", ("json_path",), "A split by json_path").text("json_path")}
    config = split.part("config", [*_REGEX_KEYS, "on_no_match"], "A split by regex")
    instead = config.choice("on_no_match", ("pass", "empty"), "pass")
    whole = "the whole text is one unit" if instead == "pass" else "there is one empty unit"
    reading.note(f"Where a split by regex finds nothing there are no units here; in DevAll {whole}.")
    found: dict[str, Json] = {"regex": _regex(config, reading)}
    return {**found, "group": _group(config)} if "(" in config.text("pattern") else found
