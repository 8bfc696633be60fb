"""How what a run would do now differs from what it did: in what is asked, in how a node is set, in what came of a visit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from workbench.engine.context import Asking, Using
from workbench.engine.events import MessageData, VisitEnded
from workbench.engine.planning import NodePlan, RunPlan
from workbench.engine.providers import ModelRequest
from workbench.engine.recorded import Place

Kind = Literal["node", "settings", "prompt", "model", "tool", "question", "call", "output", "route", "visit", "result"]
SEEN_IN_CALLS = ("prompt", "system", "model", "agent", "question", "plan", "topology", "inputs", "args", "code")
"""Settings of nodes that are compared where they have an effect: in what is asked."""


class Difference(NamedTuple):
    """Where a replay leaves what is recorded: at which visit (and call), in what, and both sides as text."""

    kind: Kind
    place: Place | None
    text: str
    recorded: str = ""
    now: str = ""
    unit: int | None = None
    call: int | None = None


def asked_otherwise(found: Any, asked: Any) -> tuple[Kind, str, str, str] | None:
    """How what is asked now differs from what was asked then: kind, sentence, both sides."""
    if isinstance(asked, Asking):
        if found.model != asked.model:
            return "model", f"call {found.call}: another model is asked.", found.model, asked.model
        was, now = conversation(found.messages), conversation(_dumped(asked.request))
        return ("prompt", f"call {found.call}: the prompt differs.", was, now) if was != now else None
    if isinstance(asked, Using):
        was, now = as_json([found.tool, found.arguments]), as_json([asked.tool, dict(asked.arguments)])
        return ("tool", f"tool call {found.call}: the tool is called otherwise.", was, now) if was != now else None
    return None


def _dumped(request: ModelRequest) -> Sequence[Mapping[str, Any]]:
    return [
        message.model_dump(mode="json", exclude_defaults=True) | {"role": message.role} for message in request.messages
    ]


def conversation(messages: Iterable[Mapping[str, Any]]) -> str:
    """The messages of a call as text that can be read and compared."""
    parts = []
    for message in messages:
        calls = message.get("tool_calls")
        parts.append(
            f"[{message.get('role', '')}]\n{message.get('content', '')}" + (f"\n{as_json(calls)}" if calls else "")
        )
    return "\n\n".join(parts)


def asked_now(asked: Any) -> str:
    if isinstance(asked, Asking):
        return conversation(_dumped(asked.request))
    return as_json([asked.tool, dict(asked.arguments)]) if isinstance(asked, Using) else str(asked.text)


def doing(asked: Any) -> str:
    if isinstance(asked, Asking):
        return "ask a model"
    return f"call the tool {asked.tool}" if isinstance(asked, Using) else "ask a person"


def settings_changed(was: NodePlan, now: NodePlan) -> list[str]:
    """The settings of a node that differ, but for those that show in what it asks."""
    shared = [name for name in ("type", "on_error", "retries") if getattr(was, name) != getattr(now, name)]
    keys = [key for key in {**was.config, **now.config} if key not in SEEN_IN_CALLS]
    return shared + [key for key in keys if was.config.get(key) != now.config.get(key)]


def settings_text(node: NodePlan, names: Sequence[str]) -> str:
    whole = {**node.config, "type": node.type, "on_error": node.on_error, "retries": node.retries}
    return as_json({name: whole.get(name) for name in names})


def outcome(ended: VisitEnded) -> Any:
    messages = [(message.text, message.status, message.source) for message in ended.messages]
    return ended.status, messages, ended.targets and tuple(ended.targets), ended.mapped


def said(ended: VisitEnded) -> str:
    said = "\n\n".join(_message(message) for message in ended.messages)
    return said if ended.status == "succeeded" else f"[{ended.status}] {ended.reason}\n{said}".strip()


def _message(message: MessageData) -> str:
    return message.text if message.status == "succeeded" else f"[{message.status}] {message.text}"


def targets_of(plan: RunPlan | None, fired: Iterable[int]) -> list[str]:
    edges = plan.edges if plan is not None else ()
    return sorted(edges[number]["to"] for number in fired if number < len(edges))


def listed(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "nothing"


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, default=str, sort_keys=True)
