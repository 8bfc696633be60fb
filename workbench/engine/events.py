"""What can happen in a run: one tagged pydantic class each, format `workbench.event/1`. The journal holds them in order.

The journal is three things at once: the trace that people read, the ground for cost, and what resume and replay take
results from instead of calling again. An event's place is `path` (nested topologies), `node`, `visit` (from 1) and,
for calls, `call` (from 1, within the visit).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

EVENT_FORMAT = "workbench.event/1"
CUT_OFF = "cut_off"
"""The status of a model call that was abandoned: counted like any, never taken for a result."""


class EventBase(BaseModel):
    """`at` is seconds since the epoch."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageData:
    """A message as it stands in an inbox or comes out of a visit. `data` is its JSON, when it is structured.

    No pydantic class: a run makes thousands of them, and they come from our own code.
    """

    text: str
    source: str = ""
    status: Literal["succeeded", "failed"] = "succeeded"
    data: Any = None
    structured: bool = False

    def by(self, source: str) -> MessageData:
        """The same message from another node."""
        return MessageData(
            text=self.text, source=source, status=self.status, data=self.data, structured=self.structured
        )


class AtVisit(EventBase):
    """`unit` counts the units of a map from 0; `path` names the visits of the nested topologies around it, outermost
    first, as `node.visit` or `node.visit.unit`."""

    path: tuple[str, ...] = ()
    node: str
    visit: int
    unit: int | None = None


class RunStarted(EventBase):
    """An attempt begins: the first has number 1; a later one goes on from the journal."""

    kind: Literal["run_started"] = "run_started"
    attempt: int
    plan_hash: str
    versions: dict[str, str] = {}


class VisitStarted(AtVisit):
    """A visit that waits for something begins, with the inbox it reads. Wiring visits only end. `files` are the commits
    of the run's files that it begins with; none: those of the run's start."""

    kind: Literal["visit_started"] = "visit_started"
    inbox: tuple[MessageData, ...] = ()
    files: tuple[str, ...] = ()


class ModelCalled(AtVisit):
    """A model call ended. `request` and `reply` are the bodies as sent and received; `messages` the rendered prompt.

    `status` is `ok` or the code of the error, `error` its sentence, `content` then what came before it. `cost_usd` None:
    unknown; `price` says the unit prices and whose. `waited_seconds` were spent before the call, for its turn at the
    provider; `seconds` are the call's own, without `load_seconds`. What a machine of one's own takes is an estimate
    beside the money, from `compute_seconds`.
    """

    kind: Literal["model_called"] = "model_called"
    call: int
    model: str
    messages: tuple[dict[str, Any], ...] = ()
    request: dict[str, Any] = {}
    reply: dict[str, Any] | None = None
    content: str = ""
    reasoning: str = ""
    tool_calls: tuple[dict[str, Any], ...] = ()
    finish: str = ""
    flags: tuple[str, ...] = ()
    status: str = "ok"
    error: str = ""
    temporary: bool = False
    retry_after: float | None = None
    busy: bool = False
    waited_seconds: float = 0.0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    usage_source: Literal["reported", "estimated", "unknown"] = "unknown"
    cost_usd: Decimal | None = None
    cost_source: str = "unknown"
    price: str = ""
    compute_seconds: float | None = None
    machine_usd: Decimal | None = None
    machine_wh: float | None = None
    seconds: float = 0.0
    first_token_seconds: float | None = None
    load_seconds: float | None = None


class ToolCalled(AtVisit):
    """A tool call ended. `call` counts tools within the visit. `status` is `ok` or `failed`; `result` what the agent saw,
    or what a node without a model gave or failed with (`code`). `files` is the tree of the run's files that it left, empty
    where it changed none."""

    kind: Literal["tool_called"] = "tool_called"
    call: int
    tool: str
    arguments: dict[str, Any] = {}
    status: Literal["ok", "failed"] = "ok"
    result: str = ""
    code: str = ""
    seconds: float = 0.0
    files: str = ""


class AttachedFile(BaseModel):
    """A file that came with an answer: its name, its size, and by which hash its content is found."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    size: int
    sha256: str


class Asked(AtVisit):
    """A person is asked, and the visit waits. `key` names the question, `call` counts questions within the visit;
    `free`: something else than a choice may be said; at the `deadline` (seconds since the epoch) `default` is taken, or
    where there is none, there is no answer. `asker` is the node type or the tool that asks."""

    kind: Literal["asked"] = "asked"
    call: int
    key: str
    asker: str
    question: str
    choices: tuple[str, ...] = ()
    free: bool = True
    deadline: float | None = None
    default: str | None = None


class Answered(AtVisit):
    """What came of a question: what a person (`by`) said at `answered_at`, or that the time was up; then `text` is the
    default, if there is one. Replay goes by it."""

    kind: Literal["answered"] = "answered"
    call: int
    key: str
    status: Literal["answered", "timed_out"] = "answered"
    text: str = ""
    choice: str | None = None
    files: tuple[AttachedFile, ...] = ()
    by: str = ""
    answered_at: float
    waited_seconds: float = 0.0


class VisitEnded(AtVisit):
    """A visit ended: its messages, the edges that fired (indices in the plan), how long it took (working seconds).
    `commit` is the version of the run's files that it left, empty where it changed none."""

    kind: Literal["visit_ended"] = "visit_ended"
    status: Literal["succeeded", "failed"]
    messages: tuple[MessageData, ...] = ()
    fired: tuple[int, ...] = ()
    reason: str = ""
    code: str = ""
    targets: tuple[str, ...] | None = None
    mapped: bool = False
    seconds: float = 0.0
    commit: str = ""


class Joined(AtVisit):
    """A join `first` was decided: the edge (index in the plan, -1 the start) that came first. Replay goes by it."""

    kind: Literal["joined"] = "joined"
    edge: int


class MergeConflicted(AtVisit):
    """Files that were changed side by side contradict each other (`paths`): `sides` are the trees of the two, `names` say
    whose they are, `base` is the tree that both come from. Without a node: at the end of the run."""

    kind: Literal["merge_conflicted"] = "merge_conflicted"
    node: str = ""
    visit: int = 0
    base: str
    sides: tuple[str, str]
    names: tuple[str, str]
    paths: tuple[str, ...]


class Noted(EventBase):
    """Something a person should know that is no result: a dropped message, a skipped end node, a repaired answer."""

    kind: Literal["noted"] = "noted"
    path: tuple[str, ...] = ()
    text: str
    code: str = ""
    node: str = ""
    visit: int = 0


class LimitHit(EventBase):
    """A limit ended the run. `limit` is its key; an edge's `max` is `edge_max` with the edge's index."""

    kind: Literal["limit_hit"] = "limit_hit"
    limit: str
    text: str
    node: str = ""
    visit: int = 0
    edge: int | None = None


class RunEnded(EventBase):
    """The attempt ended with the run's final status. `outputs`: end node → text, in declared order. `commit` is the last
    version of the run's files and `diff` what it differs in from their start; both empty where none was changed."""

    kind: Literal["run_ended"] = "run_ended"
    status: Literal["succeeded", "failed", "limit_reached", "incomplete", "stopped"]
    reason: str = ""
    code: str = ""
    output: str | None = None
    outputs: dict[str, str] = {}
    partial: bool = False
    commit: str = ""
    diff: str = ""


Event = Annotated[
    RunStarted
    | VisitStarted
    | ModelCalled
    | ToolCalled
    | Asked
    | Answered
    | VisitEnded
    | Joined
    | MergeConflicted
    | Noted
    | LimitHit
    | RunEnded,
    Field(discriminator="kind"),
]

EVENT: TypeAdapter[Any] = TypeAdapter(Event)
"""Reads and writes any event: `EVENT.validate_json(text)`."""


class Journal(Protocol):
    """Where a run's events go. What one attempt appended the next one finds in `recorded`."""

    @property
    def recorded(self) -> Sequence[Any]:
        """The events of earlier attempts, in order; empty at the first."""

    def post(self, event: Any) -> None:
        """Takes the event in its turn: it is durable before anything that is posted or appended later is."""

    async def append(self, event: Any) -> None:
        """Returns when the event is durable. A result is appended before anything that depends on it starts."""


class MemoryJournal:
    """A journal in memory, for tests, benchmarks and dry runs."""

    def __init__(self, recorded: Sequence[Any] = ()) -> None:
        self.recorded: list[Any] = list(recorded)
        self.events: list[Any] = []

    def post(self, event: Any) -> None:
        self.events.append(event)

    async def append(self, event: Any) -> None:
        self.post(event)


def event_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of an event as it is written: one object for each `kind`."""
    found = EVENT.json_schema(mode="serialization")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{EVENT_FORMAT.replace('/', ':')}",
        "title": EVENT_FORMAT,
        "description": "One thing that happened in a run. The journal of a run is these in order; JSON Lines, one a line.",
        **found,
    }
