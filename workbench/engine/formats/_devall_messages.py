"""What DevAll's edges make of messages: processors, and the maps and trees that split them; regular expressions."""

from __future__ import annotations

import re
from typing import Any

from workbench.engine.conditions import regex_problems
from workbench.engine.formats._reading import Part, Reading

Json = Any

PROCESSORS = ("uppercase_payload", "code_save_and_run")
_REGEX_KEYS = ["pattern", "group", "case_sensitive", "multiline", "dotall"]
_CLASSES = re.compile(r"\\[dDwWsSbB]")


def transform_of(part: Part, reading: Reading) -> dict[str, Json] | None:
    """An edge's processor as a transform; None where it can't be expressed."""
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
        check_regex(pattern, config.at("pattern"), reading)
    return f"(?{flags}){pattern}" if flags else pattern


def check_regex(pattern: str, path: str, reading: Reading) -> None:
    """Say what is wrong with a pattern here, or means something else."""
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


def map_of(dynamic: Part, reading: Reading) -> dict[str, Json]:
    """A dynamic edge's fields `map` and `reduce`."""
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
