"""The script of the scripted provider: a JSON file that says what each model call is answered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from workbench.engine.documents import pointer, read_json
from workbench.engine.errors import InvalidDocument, Problem, has_errors
from workbench.engine.faultwords import fault_words
from workbench.engine.plugins import nearest
from workbench.engine.providers import ModelRequest

TEMPORARY = frozenset({"rate_limited", "server_error", "connect_timeout", "first_token_timeout", "idle_timeout"})

HOSTILE = ("nul", "lone_surrogate")
"""What a script may hold though no document may: it plays models, and models say such things."""


class Part(BaseModel):
    """A part of a script: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Tokens(Part):
    """The tokens that a call reports; what is left out is unknown."""

    input: int | None = Field(None, ge=0)
    output: int | None = Field(None, ge=0)


class Fault(Part):
    """A failure in place of an answer. `temporary` follows from the code unless it is said."""

    code: str
    message: str = ""
    temporary: bool | None = None
    retry_after: float | None = Field(None, ge=0)

    @property
    def sentence(self) -> str:
        return self.message or f"The script answers this call with the fault {self.code!r}."

    @property
    def is_temporary(self) -> bool:
        return self.code in TEMPORARY if self.temporary is None else self.temporary


class ScriptedToolCall(Part):
    """A tool that the answer asks for."""

    name: str
    arguments: dict[str, Any] = {}


class Entry(Part):
    """One answer. `targets` is a router's choice and takes the place of `text`. `tokens` null: the count is unknown."""

    text: str = ""
    reasoning: str = ""
    targets: tuple[str, ...] | None = None
    tool_calls: tuple[ScriptedToolCall, ...] = ()
    tokens: Annotated[Tokens | None, BeforeValidator(lambda value: _tokens(value))] = None
    fault: Annotated[Fault | None, BeforeValidator(lambda value: _fault(value))] = None
    cost_usd: Decimal | None = Field(None, ge=0)
    latency_s: float | None = Field(None, ge=0)

    @property
    def content(self) -> str:
        return self.text if self.targets is None else json.dumps({"targets": list(self.targets)})


AnyEntry = Annotated[Entry, BeforeValidator(lambda value: {"text": value} if isinstance(value, str) else value)]
Texts = Annotated[tuple[str, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)]


class Rule(Part):
    """An answer for calls whose messages contain all these texts, and that `node` makes where one is named."""

    contains: Texts = ()
    node: str | None = None
    answer: AnyEntry

    def fits(self, request: ModelRequest) -> bool:
        if self.node not in (None, request.node):
            return False
        prompt = "\n".join(message.content for message in request.messages)
        return all(text in prompt for text in self.contains)


class Script(Part):
    """What to answer: the first rule that fits, else the node's entry for this call of it (the last one repeats), else
    the default, else the last thing the user said."""

    default: AnyEntry | None = None
    nodes: dict[str, Annotated[tuple[AnyEntry, ...], Field(min_length=1)]] = {}
    rules: tuple[Rule, ...] = ()
    latency_s: float = Field(0, ge=0)

    def entry(self, request: ModelRequest) -> Entry:
        """The answer to that request. A pure function: the same request is always answered the same."""
        for rule in self.rules:
            if rule.fits(request):
                return rule.answer
        entries = self.nodes.get(request.node)
        if entries:
            return entries[min(request.node_call, len(entries)) - 1]
        return self.default or Entry(text=_last_user_text(request))

    def strangers(self, nodes: Sequence[str]) -> list[Problem]:
        """A problem for each node that the script answers for and that is none of these: a misspelt name would leave its
        node to the default."""
        named = [(pointer("nodes", name), name) for name in self.nodes]
        named += [(pointer("rules", place, "node"), rule.node) for place, rule in enumerate(self.rules) if rule.node]
        known = list(nodes)
        return [
            Problem(
                "error",
                "unknown_node",
                path,
                f"The script answers for node {name!r}, which the topology does not have.{nearest(name, known)}",
                f"Its nodes: {', '.join(known[:20])}{' …' if len(known) > 20 else ''}.",
            )
            for path, name in named
            if name not in known
        ]

    @classmethod
    def from_text(cls, text: str | bytes) -> Script:
        """Read a script file. Raises `InvalidDocument` with every problem in it."""
        read = read_json(text)
        found = [problem for problem in read.problems if problem.code not in HOSTILE]
        if has_errors(found):
            raise InvalidDocument([problem._replace(message=f"The script: {problem.message}") for problem in found])
        try:
            return cls.model_validate(json.loads(text) if read.data is None else read.data)
        except ValidationError as error:
            raise InvalidDocument(_problems(error)) from error


def _last_user_text(request: ModelRequest) -> str:
    said = [message.content for message in request.messages if message.role == "user"]
    return said[-1] if said else ""


def _tokens(value: Any) -> Any:
    """A bare number is all output, so that it is the sum as well."""
    return {"input": 0, "output": value} if isinstance(value, int) and not isinstance(value, bool) else value


def _fault(value: Any) -> Any:
    return {"code": value} if isinstance(value, str) else value


def _problems(error: ValidationError) -> list[Problem]:
    faults = error.errors(include_url=False)
    # A list of which one entry is wrong counts as empty for pydantic: the entry says it.
    wrong = {fault["loc"][:depth] for fault in faults for depth in range(len(fault["loc"]))}
    told = [fault for fault in faults if fault["type"] != "too_short" or fault["loc"] not in wrong]
    return [_problem(fault["type"], fault["loc"], fault_words(fault)) for fault in told]


def _problem(kind: str, place: tuple[str | int, ...], message: str) -> Problem:
    path = "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in place)
    if kind != "extra_forbidden":
        return Problem("error", "script", path, f"In the script, at {path or 'the top'}: {message}.")
    key, parts = str(place[-1]), (Script, Rule, Entry, Fault, Tokens, ScriptedToolCall)
    known = sorted({name for part in parts for name in part.model_fields} - {key})
    return Problem("error", "unknown_key", path, f"A script has no key {key!r} at {path}.{nearest(key, known)}")
