"""What a node may use during a visit: render a prompt, ask a model, call a tool, within the limits of the run.

Every call is written down as it ends, and taken from there when the run goes on after a crash.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, cast

from workbench.engine.errors import LimitReached, NodeFailed, ProviderError, ToolError, WorkbenchError
from workbench.engine.events import CUT_OFF, Answered, Asked, MessageData, ModelCalled, Noted, ToolCalled
from workbench.engine.filestore import Quota
from workbench.engine.limits import Budget
from workbench.engine.people import Desk, Question, Standing, attach, question_key, said
from workbench.engine.plugins import nearest
from workbench.engine.pricing import Machine
from workbench.engine.providers import (
    ChatMessage,
    ModelReply,
    ModelRequest,
    Provider,
    Providers,
    ToolCall,
    ToolSchema,
    Usage,
    model_cost,
)
from workbench.engine.templating import Inbox, InboxMessage, render
from workbench.engine.throttle import Turn
from workbench.engine.tools import TOOLS
from workbench.engine.under_way import Call, Heard, UnderWay
from workbench.engine.workspaces import PlainFiles, VisitFiles

logger = logging.getLogger(__name__)

Json = Any
MAX_RESULT = 100_000
NO_MACHINE = Machine()


class RetryPolicy(NamedTuple):
    """How often a call that failed for a passing reason is made again, and how long is waited (seconds, doubling).
    A server's Retry-After wins. Each attempt is a call of its own: written down, counted, paid from the limits.
    A server that is busy says nothing about the call, so it gets more attempts."""

    attempts: int = 4
    first_wait: float = 1.0
    longest_wait: float = 60.0
    busy_attempts: int = 10

    def gives_up(self, attempt: int, error: ProviderError) -> bool:
        return not error.temporary or attempt >= (self.busy_attempts if error.busy else self.attempts)

    def wait(self, attempt: int, error: ProviderError) -> float:
        if error.retry_after is not None:
            return error.retry_after
        return min(self.first_wait * 2.0 ** (attempt - 1), self.longest_wait)


class RunInput(NamedTuple):
    """What a run is about: an instance, or what was typed. Never holds references."""

    problem: str
    id: str = ""
    metadata: Mapping[str, Json] = {}
    files: Mapping[str, str] = {}


class Asking(NamedTuple):
    """What a model is asked: `model` is `provider/name`."""

    model: str
    request: ModelRequest


class Using(NamedTuple):
    """What a tool is called with."""

    tool: str
    arguments: Mapping[str, Json]


class NestedResult(NamedTuple):
    """How a nested topology ended; `messages` are the last outputs of its end nodes, in declared order."""

    status: str
    reason: str
    code: str
    messages: tuple[MessageData, ...]


class Reply(NamedTuple):
    """What a person answered: all of it as one text, then the choice, the words, and the files as they stand in the
    workspace."""

    text: str
    choice: str | None
    words: str
    files: tuple[str, ...]


@dataclass(slots=True)
class RunServices:
    """What all visits of one run share."""

    given: RunInput
    vars: Mapping[str, Json]
    run_id: str
    repetition: int
    budget: Budget
    providers: Providers
    workspace: Path
    append: Callable[[Any], Awaitable[None]]
    write: Callable[[Any], None]
    recorded: Mapping[tuple[Any, ...], Any]
    retry: RetryPolicy
    seconds_left: Callable[[], float | None]
    node_calls: dict[str, int] = field(default_factory=dict)
    under_way: UnderWay = field(default_factory=UnderWay)
    nested: Callable[..., Awaitable[NestedResult]] | None = None
    emitted: Mapping[str, Sequence[tuple[MessageData, ...]]] = field(default_factory=dict)
    desk: Desk = field(default_factory=Desk)


class Context:
    """One visit's way to the world."""

    def __init__(
        self,
        services: RunServices,
        node: str,
        visit: int,
        inbox: Sequence[MessageData],
        nodes: Mapping[str, Mapping[str, Json]],
        *,
        unit: int | None = None,
        path: tuple[str, ...] = (),
        state: dict[str, Any] | None = None,
        standing: Standing | None = None,
    ) -> None:
        self.node, self.visit, self.inbox = node, visit, tuple(inbox)
        self.unit, self.path = unit, path
        self.state: dict[str, Any] = {} if state is None else state
        self.standing = standing or Standing(lambda: None)
        self._services, self._nodes = services, nodes
        self.visit_files: VisitFiles | PlainFiles = PlainFiles(services.workspace)
        self._calls = self._tools = self._questions = 0

    def earlier(self, node: str) -> Sequence[tuple[MessageData, ...]]:
        """The messages of each visit of a node that this visit may know of, whatever happened to finish first."""
        return self._services.emitted.get(node, ())[: self._nodes.get(node, {}).get("visits", 0)]

    def files(self) -> Mapping[str, str]:
        """The instance's files, by name."""
        return self._services.given.files

    def render(self, template: str) -> str:
        """The prompt as text. Raises `TemplateError`."""
        services = self._services
        given = services.given
        names = {
            "instance": {"problem": given.problem, "id": given.id, "metadata": dict(given.metadata)},
            "inbox": Inbox(InboxMessage(m.text, m.source, m.data, m.status) for m in self.inbox),
            "nodes": self._nodes,
            "vars": dict(services.vars),
            "visit": self.visit,
            "run": {"id": services.run_id, "repetition": services.repetition},
        }
        return render(template, names)

    async def ask(
        self,
        model: str,
        messages: Sequence[ChatMessage],
        *,
        params: Mapping[str, Json],
        tools: Sequence[ToolSchema] = (),
        json_schema: dict[str, Json] | None = None,
    ) -> ModelReply:
        """The model's reply. Asks again where the failure may pass. Raises `ProviderError`, `LimitReached`."""
        call = self._services.under_way.begin(
            Call(self.path, self.node, self.visit, self.unit, "model", model, phase="turn")
        )
        try:
            return await self._asked(call, model, messages, params, tools, json_schema)
        finally:
            self._services.under_way.end(call)

    async def _asked(
        self,
        call: Call,
        model: str,
        messages: Sequence[ChatMessage],
        params: Mapping[str, Json],
        tools: Sequence[ToolSchema],
        json_schema: dict[str, Json] | None,
    ) -> ModelReply:
        provider_name, _, name = model.partition("/")
        provider = self._services.providers.get(provider_name)
        attempt = 1
        while True:
            self._calls += 1
            request = ModelRequest(
                model=name,
                messages=tuple(messages),
                params={key: value for key, value in params.items() if value is not None},
                tools=tuple(tools),
                json_schema=json_schema,
                node=self.node,
                visit=self.visit,
                call=self._calls,
                node_call=self._count_call(),
            )
            try:
                return await self._ask_once(provider, provider_name, model, request, call)
            except _Recorded as recorded:
                if self._services.retry.gives_up(attempt, recorded.error):
                    raise self._final(recorded.error) from None
            except ProviderError as error:
                if self._services.retry.gives_up(attempt, error):
                    raise self._final(error) from None
                call.enters("pause")
                await self._wait(self._services.retry.wait(attempt, error))
            attempt += 1

    def _final(self, error: ProviderError) -> ProviderError:
        """What nobody asks again after; what is wrong with a node's own setting says of which node."""
        if error.code != "tools_unsupported":
            return error
        return ProviderError(f"Node {self.node!r}: {error}", code=error.code)

    @property
    def _here(self) -> dict[str, Any]:
        """Whose events these are."""
        return {"path": self.path, "node": self.node, "visit": self.visit, "unit": self.unit}

    def _key(self, kind: str, call: int) -> tuple[Any, ...]:
        return (kind, self.path, self.node, self.visit, self.unit, call)

    def _earlier(self, kind: str, call: int, asked: Asking | Using | Question) -> Any:
        """What the journal holds of a call; None where it has to be made. Whatever `asked` for the same is not compared:
        a run that goes on asks what it asked before."""
        del asked
        return self._services.recorded.get(self._key(kind, call))

    def _count_call(self) -> int:
        calls = self._services.node_calls
        calls[self.node] = calls.get(self.node, 0) + 1
        return calls[self.node]

    async def _wait(self, seconds: float) -> None:
        left = self._services.seconds_left()
        if left is not None and seconds > left:
            raise LimitReached(
                "seconds",
                f"The provider asks to wait {seconds:.0f} s; the run has {max(left, 0):.0f} s left (limit seconds).",
            )
        await asyncio.sleep(seconds)

    async def _ask_once(
        self, provider: Provider, provider_name: str, model: str, request: ModelRequest, call: Call
    ) -> ModelReply:
        services = self._services
        services.budget.admit_call()
        earlier = self._earlier("model_called", request.call, Asking(model, request))
        if earlier is not None:
            services.budget.record_call(earlier)
            return _reply_of(earlier)
        call.enters("turn")
        turn = await self._turn(provider_name)
        started, heard = time.time(), Heard()
        call.enters("answer", heard)
        try:
            with turn:
                reply = await provider.chat(request, heard)
        except ProviderError as error:
            event = self._failed_call(provider, model, request, error, started, turn.waited_seconds)
            services.budget.record_call(event)
            await services.append(event)
            raise
        except asyncio.CancelledError:
            self._cut_off(provider, model, request, heard, started, turn.waited_seconds)
            raise
        event = self._made_call(provider, model, request, reply, turn.waited_seconds)
        services.budget.record_call(event)
        await services.append(event)
        return reply

    def _cut_off(
        self, provider: Provider, model: str, request: ModelRequest, heard: Heard, started: float, waited: float
    ) -> None:
        """A call that is abandoned while the model answers has cost something all the same. It is made again when the run
        goes on."""
        error = ProviderError("The call was cut off while the model answered.", code=CUT_OFF, partial=heard.said().text)
        event = self._failed_call(provider, model, request, error, started, waited)
        self._services.budget.record_call(event)
        self._services.write(event)

    async def _turn(self, provider: str) -> Turn:
        """The turn of an admitted call; without one it is not made."""
        try:
            return await self._services.providers.throttle.turn(provider, self._services.seconds_left)
        except BaseException:
            self._services.budget.withdraw_call()
            raise

    def _failed_call(
        self,
        provider: Provider,
        model: str,
        request: ModelRequest,
        error: ProviderError,
        started: float,
        waited: float,
    ) -> ModelCalled:
        prices = self._services.providers.prices()
        cost = model_cost(provider, model, Usage(), prices=prices, billed=error.cost_usd)
        return self._called(
            model,
            request,
            waited,
            status=error.code,
            error=str(error),
            content=error.partial,
            cost_usd=cost.amount,
            cost_source=cost.source,
            temporary=error.temporary,
            retry_after=error.retry_after,
            busy=error.busy,
            seconds=time.time() - started,
        )

    def _made_call(
        self,
        provider: Provider,
        model: str,
        request: ModelRequest,
        reply: ModelReply,
        waited: float,
    ) -> ModelCalled:
        usage, prices = reply.usage, self._services.providers.prices()
        cost = model_cost(provider, model, usage, prices=prices, billed=reply.cost_usd)
        machine = prices.machines.get(model.partition("/")[0], NO_MACHINE)
        loading = reply.load_seconds or 0.0  # another call may wait for it or none: it says nothing of this one
        return self._called(
            model,
            request,
            waited,
            request=reply.request,
            reply=reply.raw,
            content=reply.content,
            reasoning=reply.reasoning,
            tool_calls=_dumped(reply.tool_calls),
            finish=reply.finish,
            flags=reply.flags,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cached_tokens=usage.cached_tokens,
            reasoning_tokens=usage.reasoning_tokens,
            usage_source=usage.source,
            cost_usd=cost.amount,
            cost_source=cost.source,
            price=cost.price,
            compute_seconds=usage.compute_seconds,
            machine_usd=machine.usd(usage.compute_seconds),
            machine_wh=machine.watt_hours(usage.compute_seconds),
            seconds=max(0.0, reply.seconds - loading),
            first_token_seconds=reply.first_token_seconds and max(0.0, reply.first_token_seconds - loading),
            load_seconds=reply.load_seconds,
        )

    def _called(self, model: str, asked: ModelRequest, waited: float, **came: Any) -> ModelCalled:
        """The event of a call: whose it is and what was asked, with what came of it."""
        return ModelCalled(
            at=time.time(),
            **self._here,
            call=asked.call,
            model=model,
            messages=_dumped(asked.messages),
            waited_seconds=waited,
            **came,
        )

    async def call_tool(self, name: str, arguments: Mapping[str, Json], allowed: Sequence[str]) -> str:
        """What the tool says, or a sentence about why it did not work: the agent reads both."""
        called = await self._recorded_call(name, arguments, lambda: self._run_tool(name, arguments, allowed))
        return called.result

    async def use_tool(
        self, name: str, arguments: Mapping[str, Json], work: Callable[[], Awaitable[str]] | None = None
    ) -> str:
        """What the tool says, for a node that no model speaks for; `work` is done in the tool's place, and written down
        like it. Raises `NodeFailed` where it did not work."""
        called = await self._recorded_call(
            name, arguments, work or (lambda: self._run_tool(name, arguments, allowed=(name,)))
        )
        if called.status == "failed":
            raise NodeFailed(called.result, code=called.code or "tool")
        return called.result

    async def _recorded_call(
        self, tool: str, arguments: Mapping[str, Json], work: Callable[[], Awaitable[str]]
    ) -> ToolCalled:
        services = self._services
        self._tools += 1
        earlier = self._earlier("tool_called", self._tools, Using(tool, arguments))
        services.budget.record_tool()
        if earlier is not None:
            self.visit_files.recall(earlier.files)
            return cast(ToolCalled, earlier)
        started, waited = time.time(), self.standing.waited
        outcome: dict[str, Any]
        call = services.under_way.begin(Call(self.path, self.node, self.visit, self.unit, "tool", tool, phase="tool"))
        try:
            outcome = {"result": await work()}
        except ToolError as error:
            outcome = {"status": "failed", "result": str(error), "code": error.code}
        finally:
            services.under_way.end(call)
        now = time.time()
        called = ToolCalled(
            at=now,
            **self._here,
            call=self._tools,
            tool=tool,
            arguments=dict(arguments),
            seconds=max(0.0, now - started - (self.standing.waited - waited)),
            files=self.visit_files.taken(),
            **outcome,
        )
        await services.append(called)
        return called

    def folder(self, *, writes: bool) -> AbstractAsyncContextManager[Path]:
        """The run's files, for one call: `async with context.folder(writes=True) as folder`. What the call left there is
        kept as it ends."""
        return self.visit_files.use(writes=writes)

    @property
    def quota(self) -> Quota:
        """What the run's files may take."""
        return self.visit_files.quota

    async def _run_tool(self, name: str, arguments: Mapping[str, Json], allowed: Sequence[str]) -> str:
        if name not in allowed:
            names = ", ".join(allowed) or "none"
            raise ToolError(f"There is no tool {name!r} here. The tools are: {names}.{nearest(name, list(allowed))}")
        tool = TOOLS.get(name)
        try:
            given = tool.Arguments.model_validate(dict(arguments))
        except ValueError as error:
            raise ToolError(f"The arguments of {name} do not fit: {_first_line(error)}") from error
        question = tool().question(given)
        if question is not None:
            return (await self.ask_person(question)).text
        async with self.folder(writes=tool.writes) as folder:
            try:
                result = await asyncio.to_thread(tool().run, given, folder)
            except WorkbenchError:
                raise
            except Exception as error:  # a plug-in's fault: whoever called it hears of it, the log keeps the traceback
                logger.exception("The tool %s met a fault.", name)
                raise ToolError(
                    f"The tool {name} failed by a fault of its own: {error!r}", code="tool_fault"
                ) from error
        if len(result) > MAX_RESULT:
            return result[:MAX_RESULT] + f"\n[cut: {len(result) - MAX_RESULT:,} more characters]"
        return result

    async def ask_person(self, question: Question) -> Reply:
        """What a person says. The visit waits for it, the rest of the run goes on; where nothing else is left, the attempt
        ends here and the next one finds the answer. Raises `NodeFailed` when the time is up and there is no default."""
        self._questions += 1
        answered = self._earlier("answered", self._questions, question)
        if answered is None:
            answered = await self._answered(question)
        if answered.status == "timed_out" and question.default is None:
            seconds = f" within {question.timeout_s:g} seconds" if question.timeout_s else ""
            raise NodeFailed(f"Nobody answered the question of node {self.node!r}{seconds}.", code="no_answer")
        files = await self._attached(answered) if answered.files else ()
        return Reply(said(answered, files), answered.choice, answered.text, files)

    async def _attached(self, answered: Answered) -> tuple[str, ...]:
        async with self.folder(writes=True) as folder:
            return await attach(answered.files, folder, self._services.desk.fetch)

    async def _answered(self, question: Question) -> Answered:
        """Ask, wait, and write down what came of it."""
        now, place = time.time(), self._key("asked", self._questions)
        asked = self._services.recorded.get(place) or Asked(
            at=now,
            **self._here,
            call=self._questions,
            key=question_key(),
            asker=question.asker,
            question=question.text,
            choices=question.choices,
            free=question.free,
            deadline=None if question.timeout_s is None else now + question.timeout_s,
            default=question.default,
        )
        await self._services.append(asked)
        told = "\n\n".join(message.text for message in self.inbox)
        answer = await self._services.desk.ask(asked, told, self.standing)
        answered = Answered(
            at=time.time(),
            **self._here,
            call=asked.call,
            key=asked.key,
            status="timed_out" if answer.timed_out else "answered",
            text=answer.text,
            choice=answer.choice,
            files=answer.files,
            by=answer.by,
            answered_at=answer.at,
            waited_seconds=max(0.0, answer.at - asked.at),
        )
        await self._services.append(answered)
        return answered

    async def run_nested(self, plan: Mapping[str, Json], problem: str, variables: Mapping[str, str]) -> NestedResult:
        """Run a nested topology under this visit, within the run's limits. Raises `LimitReached`."""
        place = f"{self.node}.{self.visit}" if self.unit is None else f"{self.node}.{self.visit}.{self.unit}"
        assert self._services.nested is not None
        return await self._services.nested(plan, problem, variables, (*self.path, place), self.standing)

    async def note(self, text: str, code: str) -> None:
        """Tell a person something that is no result."""
        await self._services.append(
            Noted(at=time.time(), text=text, code=code, path=self.path, node=self.node, visit=self.visit)
        )


class _Recorded(Exception):
    """A failed call taken from the journal: whether to ask again is decided as before, but nobody waits."""

    def __init__(self, error: ProviderError) -> None:
        super().__init__(str(error))
        self.error = error


def _reply_of(event: ModelCalled) -> ModelReply:
    if event.status != "ok":
        raise _Recorded(
            ProviderError(
                event.error,
                code=event.status,
                temporary=event.temporary,
                retry_after=event.retry_after,
                busy=event.busy,
            )
        )
    return ModelReply(
        content=event.content,
        reasoning=event.reasoning,
        tool_calls=tuple(ToolCall.model_validate(call) for call in event.tool_calls),
        finish=event.finish,
        usage=Usage(input_tokens=event.input_tokens, output_tokens=event.output_tokens, source=event.usage_source),
        flags=event.flags,
        seconds=event.seconds,
    )


def _dumped(items: Sequence[Any]) -> tuple[dict[str, Json], ...]:
    return tuple(
        item.model_dump(exclude_defaults=True) | {"role": item.role} if hasattr(item, "role") else item.model_dump()
        for item in items
    )


def _first_line(error: ValueError) -> str:
    errors = getattr(error, "errors", None)
    if errors is None:
        return str(error)
    first = errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}." if where else f"{first['msg']}."


__all__ = ["Context", "NodeFailed", "RetryPolicy", "RunInput", "RunServices"]
