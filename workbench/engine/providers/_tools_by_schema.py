"""Tools for models that can't call them: an answer forced into one of the forms "call this" or "answer that"."""

from __future__ import annotations

import json
from typing import Any

from workbench.engine.providers import ChatMessage, ModelReply, ModelRequest, ToolCall, ToolSchema

FLAG = "tools_by_schema"


def with_schema(request: ModelRequest) -> ModelRequest:
    """The request without tools, asking for JSON instead that is a call of one of them, or the answer."""
    if not request.tools:
        return request.model_copy(update={"messages": tuple(_plain(message) for message in request.messages)})
    system = ChatMessage(role="system", content=_instructions(request.tools))
    messages = [_plain(message) for message in request.messages]
    if messages and messages[0].role == "system":
        both = f"{messages[0].content}\n\n{system.content}"
        messages[0] = ChatMessage(role="system", content=both)
    else:
        messages.insert(0, system)
    return request.model_copy(update={"messages": tuple(messages), "tools": (), "json_schema": _schema(request)})


def read_reply(reply: ModelReply, request: ModelRequest) -> ModelReply:
    """The reply to such a request, as if the model could call tools. `request` is the one before."""
    if not request.tools:
        return reply
    flags = (*reply.flags, FLAG)
    try:
        data = json.loads(reply.content)
    except ValueError:  # cut off by the output limit
        return reply.model_copy(update={"flags": flags})
    if "name" in data:
        call = ToolCall(id=f"call-{request.call}", name=data["name"], arguments=data.get("arguments") or {})
        return reply.model_copy(update={"content": "", "tool_calls": (call,), "finish": "tool_calls", "flags": flags})
    answer = data.get("answer", "")
    content = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    return reply.model_copy(update={"content": content, "flags": flags})


def _schema(request: ModelRequest) -> dict[str, Any]:
    answer = request.json_schema or {"type": "string"}
    calls = [_object(name={"const": tool.name}, arguments=tool.parameters) for tool in request.tools]
    return {"anyOf": [*calls, _object(answer=answer)]}


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _instructions(tools: tuple[ToolSchema, ...]) -> str:
    lines = [f"- {tool.name}: {tool.description} Arguments: {json.dumps(_properties(tool))}" for tool in tools]
    return (
        "You may use these tools:\n" + "\n".join(lines) + "\nReply in JSON: "
        '{"name": "TOOL", "arguments": {...}} to use one, or {"answer": ...} when you know the answer.'
    )


def _properties(tool: ToolSchema) -> dict[str, str]:
    properties = tool.parameters.get("properties", {})
    return {name: str(item.get("description", item.get("type", ""))) for name, item in properties.items()}


def _plain(message: ChatMessage) -> ChatMessage:
    """Calls and results as the model itself would have written and read them."""
    if message.role == "tool":
        return ChatMessage(role="user", content=f"Result of {message.name or 'the tool'}:\n{message.content}")
    if message.tool_calls:
        calls = [json.dumps({"name": call.name, "arguments": call.arguments}) for call in message.tool_calls]
        return ChatMessage(role="assistant", content="\n".join(calls))
    return message
