from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from workbench.engine.context import Context
from workbench.engine.errors import LimitReached, NodeFailed, PluginError, Problem
from workbench.engine.events import MessageData, VisitEnded
from workbench.engine.nodes import Emitted, Node, Surroundings
from workbench.engine.nodes._dialogue import (
    CRITICISE,
    IMPROVE,
    MAY_ASK,
    NO_MORE,
    Clarify,
    Reflect,
    as_answer,
    clarify_problems,
    clarify_resolved,
    clarify_schema,
    told,
)
from workbench.engine.nodes._memory import (
    Memory,
    looked_up,
    memory_problems,
    memory_reads,
    memory_resolved,
    recall_turn,
    remember,
    remembered,
)
from workbench.engine.nodes._models import (
    RoleConfig,
    agent_of,
    ask_for_json,
    asked_params,
    opening,
    parsed,
    role_problems,
    role_resolved,
)
from workbench.engine.providers import PROVIDERS, ChatMessage, ModelReply, ToolCall
from workbench.engine.schemas import schema_problems
from workbench.engine.spec import OutputSpec, ToolName
from workbench.engine.tools import TOOLS

MAX_UNKNOWN_TOOLS = 2


class AgentConfig(RoleConfig):
    tools: tuple[ToolName, ...] | None = Field(None, description="What it may do; left out, what its agent allows.")
    max_steps: int = Field(20, ge=1, le=1000, description="Model calls in one visit at most, tool calls between them.")
    output: Literal["text"] | OutputSpec | None = Field(None, description="Text, or JSON of a given schema.")
    memory: Memory | None = Field(None, description="What it remembers of its earlier visits.")
    reflect: Reflect | None = Field(
        None, description="Criticise its answer and give a better one, a bounded number of times."
    )
    clarify: Clarify | None = Field(
        None, description="Before answering it may ask the agent whose message it read last."
    )


class Agent(Node):
    """A model in a role: it reads its prompt, may use the tools it is allowed, and answers in text or JSON.

    An answer that does not fit its JSON Schema is sent back to be mended, a bounded number of times. Before it answers
    it may ask its predecessor (`clarify`); after that it may criticise and better its answer (`reflect`).
    """

    Config = AgentConfig

    async def run(self, inbox: Sequence[MessageData], context: Context) -> Emitted:
        config = self.config
        messages = opening(context, config)
        prompt = messages[-1].content
        prompt += looked_up(config.memory, prompt, context)
        messages[-1] = ChatMessage(role="user", content=prompt)
        messages[-1:-1] = remembered(config.memory, context.state)
        answer = await self._clarified(messages, inbox, context) or await self._answered(messages, context)
        for _ in range(config.reflect.rounds if config.reflect else 0):
            answer = await self._reflected(messages, answer, context)
        if config.memory is not None and context.unit is None:
            remember(context.state, prompt, answer.text)
        return Emitted((answer,))

    def recall(self, state: dict[str, Any], ended: VisitEnded, calls: Sequence[Any]) -> None:
        if self.config.memory is not None:
            recall_turn(state, ended, calls)

    def given(self, text: str, inbox: Sequence[MessageData]) -> Emitted:
        if self._schema is None:
            return super().given(text, inbox)
        data, fault = parsed(text, self._schema)
        if fault:
            raise NodeFailed(f"The answer does not fit the schema of node {self.node!r}: {fault}", code="bad_output")
        return Emitted((self.message(as_answer(data), data, structured=True),))

    @property
    def _schema(self) -> dict[str, Any] | None:
        return self.config.output.json_schema if isinstance(self.config.output, OutputSpec) else None

    @property
    def _repairs(self) -> int:
        return self.config.output.repairs if isinstance(self.config.output, OutputSpec) else 2

    async def _answered(self, messages: list[ChatMessage], context: Context) -> MessageData:
        """Ask, and do what the model wants done, until it answers."""
        config, schema, repairs = self.config, self._schema, self._repairs
        tools = [TOOLS.get(name).schema(name) for name in config.tools]
        unknown = 0
        for _ in range(config.max_steps):
            reply = await context.ask(
                config.model, messages, params=asked_params(config.params), tools=tools, json_schema=schema
            )
            if reply.tool_calls:
                unknown += await self._use_tools(reply, messages, context)
                if unknown > MAX_UNKNOWN_TOOLS:
                    raise NodeFailed(f"Node {self.node!r} kept calling tools that do not exist.", code="unknown_tool")
                continue
            if schema is None:
                return self.message(self._text(reply))
            data, fault = parsed(reply.content, schema)
            if not fault:
                return self.message(as_answer(data), data, structured=True)
            if repairs == 0:
                self._text(reply)
                raise NodeFailed(
                    f"The answer of node {self.node!r} does not fit its schema: {fault}", code="bad_output"
                )
            repairs -= 1
            await context.note(f"The answer was sent back to be mended: {fault}", "repair")
            messages += [
                ChatMessage(role="assistant", content=reply.content),
                ChatMessage(role="user", content=f"This answer does not fit: {fault} Answer again, with JSON alone."),
            ]
        raise LimitReached(
            "max_steps", f"Node {self.node!r} did not answer within its {config.max_steps} steps (max_steps)."
        )

    async def _clarified(
        self, messages: list[ChatMessage], inbox: Sequence[MessageData], context: Context
    ) -> MessageData | None:
        """The answer, if one came before the questions were used up; what was asked and told is added to the messages."""
        config = self.config
        given = inbox[-1] if inbox else None
        role = (config.clarify.roles or {}).get(given.source) if config.clarify and given else None
        if role is None or given is None:
            return None
        schema = clarify_schema(self._schema)
        messages[-1] = ChatMessage(role="user", content=messages[-1].content + MAY_ASK)
        for _ in range(config.clarify.max):
            said, reply = await ask_for_json(
                context, config.model, messages, config.params, schema, repairs=self._repairs
            )
            if "answer" in said:
                answer = said["answer"]
                return self.message(
                    as_answer(answer), *((answer,) if self._schema else ()), structured=bool(self._schema)
                )
            answered = await told(role, given, said["question"], context)
            messages += [
                ChatMessage(role="assistant", content=reply.content),
                ChatMessage(role="user", content=f"{given.source} answers:\n\n{answered}"),
            ]
        messages[-1] = ChatMessage(role="user", content=messages[-1].content + NO_MORE)
        return None

    async def _reflected(self, messages: list[ChatMessage], answer: MessageData, context: Context) -> MessageData:
        """The answer bettered by the model's own criticism; where nothing usable comes of that, the answer as it was."""
        config = self.config
        asked = context.render(config.reflect.prompt) if config.reflect.prompt else CRITICISE
        talk = [
            *messages,
            ChatMessage(role="assistant", content=answer.text),
            ChatMessage(role="user", content=asked),
        ]
        criticism = await context.ask(config.model, talk, params=asked_params(config.params))
        talk += [
            ChatMessage(role="assistant", content=criticism.content),
            ChatMessage(role="user", content=IMPROVE),
        ]
        try:
            if self._schema is None:
                reply = await context.ask(config.model, talk, params=asked_params(config.params))
                return self.message(self._text(reply))
            data, _ = await ask_for_json(
                context, config.model, talk, config.params, self._schema, repairs=self._repairs
            )
            return self.message(as_answer(data), data, structured=True)
        except NodeFailed as error:
            await context.note(f"The answer before reflection stands: {error}", "reflection_unused")
            return answer

    def _text(self, reply: ModelReply) -> str:
        if reply.content.strip():
            return reply.content
        only = "nothing but reasoning" if reply.reasoning.strip() else "nothing"
        raise NodeFailed(f"The model answered {only} to node {self.node!r}.", code="empty_output")

    async def _use_tools(self, reply: ModelReply, messages: list[ChatMessage], context: Context) -> int:
        """Do what the reply asks for, in order; returns how many of the tools do not exist."""
        messages.append(ChatMessage(role="assistant", content=reply.content, tool_calls=reply.tool_calls))
        unknown = 0
        for call in reply.tool_calls:
            name = self._mended_name(call)
            unknown += name not in self.config.tools
            if call.arguments_error:
                result = f"The arguments of {name} could not be read: {call.arguments_error}"
            else:
                result = await context.call_tool(name, call.arguments, self.config.tools)
            messages.append(ChatMessage(role="tool", content=result, tool_call_id=call.id, name=name))
        return unknown

    def _mended_name(self, call: ToolCall) -> str:
        """Small models copy a signature for a name: `search(query: str)` means `search`."""
        bare = call.name.partition("(")[0].strip()
        return bare if bare in self.config.tools else call.name

    @classmethod
    def asks_model(cls, config: Mapping[str, Any]) -> bool:
        return True

    @classmethod
    def problems(cls, config: Any, around: Surroundings) -> Iterator[Problem]:
        yield from role_problems(config, around)
        agent = agent_of(config, around)
        if config.agent and agent is None:
            return
        if not (config.system or config.prompt or (agent and (agent.system or agent.prompt))):
            message = f"Node {around.node!r} has no prompt: the model is sent its inbox and nothing else."
            yield Problem("warning", "no_prompt", "", message, 'Set "agent", "system" or "prompt".')
        yield from _tool_problems(config.tools or ())
        output = config.output or (agent.output if agent else "text")
        yield from _output_problems(output)
        tools = config.tools if config.tools is not None else (agent.tools if agent else ())
        model = config.model or (agent.model if agent else None) or around.defaults.model or ""
        yield from _json_with_tools(model, bool(tools), isinstance(output, OutputSpec), around)
        yield from clarify_problems(config.clarify, bool(tools), around)
        yield from memory_problems(config.memory, around)

    @classmethod
    def resolve(cls, config: Any, around: Surroundings) -> Any:
        agent = agent_of(config, around)
        update = {
            "tools": config.tools if config.tools is not None else (agent.tools if agent else ()),
            "output": config.output or (agent.output if agent else "text"),
            "clarify": clarify_resolved(config.clarify, around),
            "memory": memory_resolved(config.memory, around),
        }
        return role_resolved(config, around).model_copy(update=update)

    @classmethod
    def writes_files(cls, config: Any) -> bool:
        return any(TOOLS.get(name).writes for name in config.tools or ())

    @classmethod
    def reads(cls, config: Any) -> Sequence[str]:
        return memory_reads(config.memory)

    @classmethod
    def prompts(cls, config: Any) -> Mapping[str, str]:
        found = {field: text for field in ("system", "prompt") if (text := getattr(config, field))}
        if config.reflect and config.reflect.prompt:
            found["reflect/prompt"] = config.reflect.prompt
        return found


def _tool_problems(tools: Sequence[str]) -> Iterator[Problem]:
    for index, name in enumerate(tools):
        try:
            TOOLS.get(name)
        except PluginError as error:
            hint = f"The tools are {', '.join(TOOLS.names())}."
            yield Problem("error", "unknown_tool", f"/tools/{index}", str(error), hint)


def _output_problems(output: Any) -> Iterator[Problem]:
    if isinstance(output, OutputSpec):
        yield from schema_problems(output.json_schema, "/output/json_schema")


def _json_with_tools(model: str, tools: bool, json_output: bool, around: Surroundings) -> Iterator[Problem]:
    provider = model.partition("/")[0]
    if not (tools and json_output) or provider not in PROVIDERS.names():
        return
    if not PROVIDERS.get(provider).json_with_tools:
        message = f"Node {around.node!r} asks {provider} for JSON and offers tools: it can't do both in one call."
        hint = "Let one node use the tools and a second one put the answer into JSON."
        yield Problem("error", "json_with_tools", "/output", message, hint)
