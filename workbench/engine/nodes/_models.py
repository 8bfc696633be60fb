"""What node types that ask a model share: which model, and an answer of a given shape."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import Field

from workbench.engine.context import Context
from workbench.engine.errors import NodeFailed, Problem
from workbench.engine.nodes import NodeConfig, Surroundings
from workbench.engine.plugins import nearest
from workbench.engine.providers import PROVIDERS, ChatMessage, ModelReply
from workbench.engine.schemas import schema_fault
from workbench.engine.spec import AgentName, AgentSpec, ModelName, Params, Prompt

Json = Any

_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)


class RoleConfig(NodeConfig):
    """What node types share that ask a model in a role. What a node says wins over its agent, that over the defaults."""

    agent: AgentName | None = Field(None, description="An agent of the catalogue: its name, or name@version.")
    system: Prompt | None = None
    prompt: Prompt | None = Field(None, description="Left out, the agent's prompt, else the inbox.")
    model: ModelName | None = None
    params: Params = Params()


def agent_of(config: RoleConfig, around: Surroundings) -> AgentSpec | None:
    """The catalogue's agent that the node names; None where it names none, or one that does not exist."""
    return around.catalogue.agent(config.agent) if config.agent else None


def role_problems(config: RoleConfig, around: Surroundings) -> Iterator[Problem]:
    """The agent must exist, and a model be known."""
    agent = agent_of(config, around)
    if config.agent and agent is None:
        names = around.catalogue.names()
        near = nearest(config.agent.partition("@")[0], names)
        message = f"There is no agent {config.agent!r} in the catalogue.{near}"
        yield Problem("error", "unknown_agent", "/agent", message, "The page Agents lists them.")
        return
    model = config.model or (agent.model if agent else None)
    yield from model_problems(model, around)


def role_resolved(config: Any, around: Surroundings) -> Any:
    """The config with what its agent and the topology's defaults say filled in."""
    agent = agent_of(config, around)
    params = around.defaults.params
    if agent is not None:
        params = params.merged(agent.params)
    update = {
        "system": config.system if config.system is not None else (agent.system if agent else ""),
        "prompt": config.prompt if config.prompt is not None else ((agent.prompt if agent else "") or "{{ inbox }}"),
        "model": config.model or (agent.model if agent else None) or around.defaults.model,
        "params": params.merged(config.params),
    }
    return config.model_copy(update=update)


def opening(context: Context, config: RoleConfig, addition: str = "") -> list[ChatMessage]:
    """The conversation's beginning: the role, and the prompt."""
    system = context.render(config.system or "")
    user = context.render(config.prompt or "{{ inbox }}") + addition
    first = [ChatMessage(role="system", content=system)] if system.strip() else []
    return [*first, ChatMessage(role="user", content=user)]


def model_problems(model: str | None, around: Surroundings, path: str = "/model") -> Iterator[Problem]:
    """A model must be named, by the node, its agent, or the topology's defaults; its provider must exist."""
    chosen = model or around.defaults.model
    if chosen is None:
        yield Problem(
            "error",
            "no_model",
            path,
            f"Node {around.node!r} names no model, and the topology has no default.",
            'Set "model", or "defaults": {"model": "ollama/…"}.',
        )
        return
    provider = chosen.partition("/")[0]
    if provider not in PROVIDERS.names():
        hint = f"The providers are {', '.join(PROVIDERS.names())}."
        message = f"There is no provider {provider!r}.{nearest(provider, PROVIDERS.names())}"
        yield Problem("error", "unknown_provider", path, message, hint)


def resolved_model(config: Any, around: Surroundings) -> Any:
    """The config with its model and params filled in from the topology's defaults."""
    params = around.defaults.params.merged(config.params)
    return config.model_copy(update={"model": config.model or around.defaults.model, "params": params})


def asked_params(params: Params) -> dict[str, Json]:
    """The params that are set, as a request carries them."""
    return params.model_dump(exclude_none=True)


async def ask_for_json(
    context: Context,
    model: str,
    messages: Sequence[ChatMessage],
    params: Params,
    schema: dict[str, Json],
    *,
    repairs: int,
) -> tuple[Json, ModelReply]:
    """An answer that fits the schema; one that does not is sent back with the reason, at most `repairs` times.
    Raises `NodeFailed` (`bad_output`, `empty_output`)."""
    conversation = list(messages)
    for attempt in range(repairs + 1):
        reply = await context.ask(model, conversation, params=asked_params(params), json_schema=schema)
        data, fault = parsed(reply.content, schema)
        if not fault:
            return data, reply
        if attempt < repairs:
            await context.note(f"The answer was sent back to be mended: {fault}", "repair")
            conversation += [
                ChatMessage(role="assistant", content=reply.content),
                ChatMessage(role="user", content=f"This answer does not fit: {fault} Answer again, with JSON alone."),
            ]
    if not reply.content.strip():
        raise NodeFailed(f"The model answered nothing to node {context.node!r}.", code="empty_output")
    raise NodeFailed(f"The answer to node {context.node!r} does not fit its schema: {fault}", code="bad_output")


def parsed(text: str, schema: dict[str, Json]) -> tuple[Json, str]:
    """The JSON in an answer, and what is wrong with it ("" if nothing). The whole text first, then a fenced block."""
    data, found = None, False
    for candidate in [text.strip(), *(match.group(1) for match in _FENCE.finditer(text))]:
        try:
            data, found = json.loads(candidate, parse_constant=_no_constant), True
            break
        except (ValueError, RecursionError):
            continue
    if not found and _accepts_text(schema):
        data, found = text.strip(), True  # a bare word is the JSON string that a small model meant
    if not found:
        return None, "it is empty." if not text.strip() else "it is not JSON."
    fault = schema_fault(schema, data)
    return (None, fault) if fault else (data, "")


def _no_constant(name: str) -> Json:
    raise ValueError(name)


def _accepts_text(schema: dict[str, Json]) -> bool:
    values = schema.get("enum")
    return schema.get("type") == "string" or (isinstance(values, list) and all(isinstance(v, str) for v in values))
