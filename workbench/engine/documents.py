"""JSON documents as they come in (strictly read, every fault a sentence) and as they go out (canonical, hashed).

Python's own parser takes NaN, lets the last of two equal keys win and recurses; here each is a problem with its place.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from workbench.engine.errors import Problem

MAX_BYTES = 5 * 1024 * 1024
MAX_DEPTH = 100

Json = Any

_SURROGATE = re.compile("[\ud800-\udfff]")


class ReadResult(NamedTuple):
    """`data` is None where the text could not be read; warnings may stand beside data."""

    data: Json
    problems: list[Problem]


class _Object(dict[str, Json]):
    """An object that remembers which keys stood in it twice."""

    duplicates: tuple[str, ...] = ()


class _Refused(ValueError):
    """A number that JSON does not have."""


def pointer(*parts: str | int) -> str:
    """A JSON Pointer (RFC 6901) from its parts; half characters are written as escapes, so that it can be shown."""
    return "".join(map(_step, parts))


@lru_cache(maxsize=10_000)
def _step(part: str | int) -> str:
    escaped = str(part).replace("~", "~0").replace("/", "~1")
    return "/" + escaped.encode("utf-8", "backslashreplace").decode()


def read_json(text: str | bytes) -> ReadResult:
    """Read a document strictly: at most 5 MB, 100 levels, no duplicate keys, no NaN, no NUL, no lone surrogates."""
    size = len(text) if isinstance(text, bytes) else len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        megabytes = size / 1024 / 1024
        return _refuse("too_large", f"The document has {megabytes:.1f} MB; 5 MB is the most that is read.")
    decoded = _decode(text)
    if isinstance(decoded, Problem):
        return ReadResult(None, [decoded])
    problems = []
    if decoded.startswith("\ufeff"):
        decoded = decoded[1:]
        problems.append(
            Problem("warning", "byte_order_mark", "", "The document begins with a byte order mark; it was left out.")
        )
    try:
        data = json.loads(decoded, object_pairs_hook=_object, parse_constant=_constant)
    except RecursionError:
        return _too_deep()
    except _Refused as error:
        return _refuse("not_a_number", f"{error} is not a JSON number.", "Use a finite number, or null.")
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        return _refuse("not_json", f"This is not JSON: {_because(error, decoded)} ({where}).")
    except ValueError:
        return _refuse("number_too_long", "A number in the document has too many digits.")
    if _depth(data) > MAX_DEPTH:
        return _too_deep()
    problems.extend(_faults(data))
    return ReadResult(None if any(p.severity == "error" for p in problems) else data, problems)


def _refuse(code: str, message: str, hint: str = "") -> ReadResult:
    return ReadResult(None, [Problem("error", code, "", message, hint)])


def _decode(text: str | bytes) -> str | Problem:
    if isinstance(text, str):
        found = _SURROGATE.search(text)
        if found:
            return _surrogate("", f"Character {found.start() + 1} of the document")
        return text
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        hint = "Save the file as UTF-8."
        if text[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return Problem("error", "not_utf8", "", "The document is UTF-16, not UTF-8.", hint)
        return Problem("error", "not_utf8", "", f"Byte {error.start + 1} of the document is not UTF-8.", hint)


def _because(error: json.JSONDecodeError, text: str) -> str:
    if not text.strip():
        return "it is empty"
    if error.pos < len(text) and text[error.pos] == "\0":
        return "it holds a NUL character"
    return error.msg[0].lower() + error.msg[1:]


def _too_deep() -> ReadResult:
    return _refuse("too_deep", f"The document is nested more than {MAX_DEPTH} levels deep.")


def _depth(data: Json) -> int:
    """How many containers lie in each other at most; level by level, without recursion."""
    depth, level = 0, [data]
    while level := [item for item in level if isinstance(item, dict | list)]:
        depth += 1
        level = [inner for item in level for inner in (item.values() if isinstance(item, dict) else item)]
    return depth


def _object(pairs: list[tuple[str, Json]]) -> _Object:
    found = _Object(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice: list[str] = []
        for key, _ in pairs:
            if key in seen and key not in twice:
                twice.append(key)
            seen.add(key)
        found.duplicates = tuple(twice)
    return found


def _constant(name: str) -> Json:
    raise _Refused(name)


def _surrogate(path: str, what: str) -> Problem:
    return Problem(
        "error", "lone_surrogate", path, f"{what} is half of a character (a lone surrogate).", "Write it out in full."
    )


def _faults(data: Json) -> Iterator[Problem]:
    """Walks without recursion: what parses but can't be kept."""
    waiting: list[tuple[_Place, Json]] = [((), data)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, _Object):
            for key in value.duplicates:
                where = _path((place, key))
                yield Problem("error", "duplicate_key", where, f"The key {key!r} stands twice.", "Keep one of them.")
            for key in value:
                yield from _text_faults(place, key, "A key")
            waiting.extend(((place, key), item) for key, item in reversed(value.items()))
        elif isinstance(value, list):
            waiting.extend(((place, index), item) for index, item in reversed(list(enumerate(value))))
        elif isinstance(value, str):
            yield from _text_faults(place, value, "The text")
        elif isinstance(value, float) and not math.isfinite(value):
            where = _path(place)
            yield Problem("error", "not_a_number", where, "The number is too large.", "Use a finite number, or null.")


_Place = tuple[Any, ...]
"""Where a value stands: the place around it and its key there. Only what is wrong needs its path written out."""


def _path(place: _Place) -> str:
    steps = []
    while place:
        place, step = place
        steps.append(step)
    return pointer(*reversed(steps))


def _text_faults(place: _Place, text: str, what: str) -> Iterator[Problem]:
    if text.isascii() and "\0" not in text:
        return
    if "\0" in text:
        yield Problem("error", "nul", _path(place), f"{what} holds a NUL character.", "Take it out.")
    if _SURROGATE.search(text):
        yield _surrogate(_path(place), f"A character of {what[0].lower()}{what[1:]}")


TOPOLOGY_KEYS = ("format name title description start end defaults limits vars workspace nodes edges layout").split()
AGENT_KEYS = (
    "format name title role description system prompt model params tools output expects gives tags provenance"
).split()
NODE_KEYS = (
    "type label agent system prompt model params tools max_steps output memory reflect clarify mode rules "
    "on_unclear by normalise question choices timeout_s on_timeout code tool args topology inputs content all count "
    "message seconds forward join on_error retries"
).split()
EDGE_KEYS = ("from to when trigger carry keep clear transform map reduce max").split()


def canonical_json(document: dict[str, Json]) -> str:
    """The document as it stands on disk: keys in the format's order, two spaces, one trailing newline.

    The order of nodes, edges and of what is inside free JSON (schemas, conditions) is the author's and is kept.
    """
    agent = str(document.get("format", "")).startswith("workbench.agent/")
    ordered = _ordered(document, AGENT_KEYS if agent else TOPOLOGY_KEYS)
    nodes, edges, layout = ordered.get("nodes"), ordered.get("edges"), ordered.get("layout")
    if isinstance(nodes, dict):
        ordered["nodes"] = {key: _ordered(node, NODE_KEYS) for key, node in nodes.items()}
    if isinstance(edges, list):
        ordered["edges"] = [_ordered(edge, EDGE_KEYS) for edge in edges]
    if isinstance(layout, dict) and isinstance(nodes, dict):
        ordered["layout"] = {key: layout[key] for key in [*nodes, *layout] if key in layout}
    return json.dumps(ordered, indent=2, ensure_ascii=False) + "\n"


def _ordered(value: Json, keys: list[str]) -> Json:
    if not isinstance(value, dict):
        return value
    rank = {key: position for position, key in enumerate(keys)}
    return dict(sorted(value.items(), key=lambda item: (rank.get(item[0], len(rank)), item[0])))


def content_hash(value: Json) -> str:
    """SHA-256 (hex) of JSON, whatever the order of its keys."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def semantic_hash(document: dict[str, Json]) -> str:
    """The hash of what a topology or agent means: everything but where its nodes are drawn."""
    return content_hash({key: value for key, value in document.items() if key != "layout"})
