"""What is done to a model's text, once, in the adapter: reasoning split off, calls recovered, repetition seen."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from workbench.engine.providers import ToolCall

NAMES = r"think|thinking|thought|reasoning"
TAGS = (
    (rf"<(?:{NAMES})>", rf"</(?:{NAMES})>"),
    (r"\[THINK\]", r"\[/THINK\]"),
    (r"◁think▷", r"◁/think▷"),
)
OPENING = re.compile("|".join(opening for opening, _ in TAGS), re.IGNORECASE)
CLOSING = re.compile(rf"(?<!`)(?:{'|'.join(closing for _, closing in TAGS)})(?!`)", re.IGNORECASE)
INNER = re.compile(r"^[ \t]*<think>(.*?)</think>\s*", re.IGNORECASE | re.DOTALL | re.MULTILINE)
LONGEST_OPENING = len("<reasoning>")


class Split(NamedTuple):
    reasoning: str
    content: str


def split_reasoning(text: str) -> Split:
    """Take reasoning that stands inside the text out of it. JSON is left alone: a tag in it is somebody's data."""
    if is_json(text) or not (OPENING.search(text) or CLOSING.search(text)):
        return Split("", text)
    parts: list[str] = []
    rest = text
    while opening := OPENING.match(rest.lstrip()):
        rest = rest.lstrip()[opening.end() :]
        closing = CLOSING.search(rest)
        if closing is None:  # the answer was cut off before it began
            return Split("\n".join([*parts, rest.strip()]), "")
        parts.append(rest[: closing.start()].strip())
        rest = rest[closing.end() :]
    if is_json(rest):
        return Split("\n".join(parts), rest.strip())
    closing = CLOSING.search(rest)
    if closing and not OPENING.search(rest, 0, closing.start()):  # the prompt's template opened it
        parts.append(rest[: closing.start()].strip())
        rest = rest[closing.end() :]
    if not is_json(rest):
        parts += [found.strip() for found in INNER.findall(rest)]
        rest = INNER.sub("", rest)
    return Split("\n".join(parts), rest.lstrip() if parts else text)


def is_json(text: str) -> bool:
    """Whether the whole text is one JSON value."""
    if text.strip()[:1] not in tuple('{["'):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


class ReasoningFilter:
    """Lets the content of a growing text through, for those who watch. Reasoning whose opening tag is missing can't be
    told from content before its end; the reply itself is split by `split_reasoning`."""

    def __init__(self) -> None:
        self._held, self._inside, self._open = "", False, False

    def feed(self, text: str) -> str:
        """What of the text so far may be shown now."""
        if self._open:
            return text
        self._held += text
        while True:
            if self._inside:
                closing = CLOSING.search(self._held)
                if closing is None:
                    return ""
                self._held, self._inside = self._held[closing.end() :], False
            start = self._held.lstrip()
            opening = OPENING.match(start)
            if opening is None:
                break
            self._held, self._inside = start[opening.end() :], True
        if not start or (len(start) < LONGEST_OPENING and start[0] in "<[◁" and ">" not in start):
            return ""  # may still become a tag
        self._open = True
        return start

    def rest(self) -> str:
        """What was held back at the end of the text."""
        return "" if self._open or self._inside else self._held.lstrip()


class Repetition:
    """Sees when a text has become one phrase again and again: 4,000 characters with a period of at most 400."""

    WINDOW, PERIOD, STEP, PROBE = 4000, 400, 500, 64

    def __init__(self) -> None:
        self._tail, self._new = "", 0

    def add(self, text: str) -> bool:
        """Take in more of the text; true when it repeats."""
        self._tail += text
        self._new += len(text)
        if self._new < self.STEP:
            return False
        self._tail, self._new = self._tail[-self.WINDOW :], 0
        return self._repeats()

    def _repeats(self) -> bool:
        tail = self._tail
        if len(tail) < self.WINDOW or not tail.strip():
            return len(tail) >= self.WINDOW
        before = tail.rfind(tail[-self.PROBE :], 0, len(tail) - 1)
        period = len(tail) - self.PROBE - before
        return before >= 0 and period <= self.PERIOD and tail[period:] == tail[:-period]


def read_arguments(given: Any) -> tuple[dict[str, Any], str | None]:
    """Arguments of a tool call, as an object or as JSON text; and what is wrong with them, if anything is."""
    if given is None or given == "":
        return {}, None
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError) as error:
            return {}, f"The arguments are not JSON: {error}."
    if not isinstance(given, Mapping):
        return {}, "The arguments are not a JSON object."
    return dict(given), None


def calls_from_text(content: str, offered: Collection[str]) -> tuple[ToolCall, ...]:
    """Tool calls that a model wrote as text instead of making them. Only where the whole content is JSON, and every
    name is one of those offered: anything else is an answer."""
    if not offered or not is_json(content):
        return ()
    data = json.loads(content)
    if isinstance(data, dict) and isinstance(data.get("tool_calls"), list):
        data = data["tool_calls"]
    items = data if isinstance(data, list) else [data]
    calls = [_call(item, offered, number) for number, item in enumerate(items, 1)]
    return tuple(call for call in calls if call) if items and all(calls) else ()


def _call(item: Any, offered: Collection[str], number: int) -> ToolCall | None:
    if isinstance(item, dict) and isinstance(item.get("function"), dict):
        item = item["function"]
    if not isinstance(item, dict) or item.get("name") not in offered:
        return None
    key = next((key for key in ("arguments", "parameters") if key in item), None)
    if key is None:
        return None
    arguments, error = read_arguments(item[key])
    return ToolCall(id=f"text-{number}", name=item["name"], arguments=arguments, arguments_error=error)
