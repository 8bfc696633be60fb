"""What an agent remembers: its own turns in a loop, a blackboard that it shares, passages that fit its prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from workbench.engine.context import Context
from workbench.engine.errors import Problem
from workbench.engine.events import VisitEnded
from workbench.engine.memory import best_passages, board_text, passages
from workbench.engine.nodes import Surroundings
from workbench.engine.nodes._dialogue import MAY_ASK
from workbench.engine.providers import ChatMessage
from workbench.engine.spec import NodeSpec, Spec

MAX_REMEMBERED = 100


class ShortTerm(Spec):
    """How many messages of its earlier turns, prompts and answers, the agent is shown."""

    messages: int = Field(MAX_REMEMBERED, ge=2, le=1000)


class Retrieve(Spec):
    """Passages that fit its prompt: of the instance's files, or of what was said in the run before."""

    source: Literal["instance.files", "run"] = Field(alias="from")
    top_k: int = Field(3, ge=1, le=50)
    nodes: tuple[str, ...] | None = Field(None, json_schema_extra={"x-input": "hidden"})
    """Whose messages are searched; planning writes it."""


class Memory(Spec):
    """What the agent remembers. `short_term`: its own turns since the loop that it stands in was entered. `blackboard`:
    all agents that name the same one write their answers on it, and read what was written before. `retrieve`: passages."""

    short_term: Literal[True] | ShortTerm | None = None
    blackboard: str | None = Field(None, min_length=1, max_length=100)
    writers: tuple[str, ...] | None = Field(None, json_schema_extra={"x-input": "hidden"})
    """Who writes on the blackboard; planning writes it."""
    retrieve: Retrieve | None = None


def remembered(memory: Memory | None, state: Mapping[str, Any]) -> list[ChatMessage]:
    """The agent's earlier turns, oldest first, as the conversation that they were."""
    if memory is None or memory.short_term is None:
        return []
    most = memory.short_term.messages if isinstance(memory.short_term, ShortTerm) else MAX_REMEMBERED
    turns: Sequence[tuple[str, str]] = state.get("turns", ())
    shown: list[ChatMessage] = []
    for prompt, answer in turns[-(most // 2) :]:
        shown += [ChatMessage(role="user", content=prompt), ChatMessage(role="assistant", content=answer)]
    return shown


def remember(state: dict[str, Any], prompt: str, answer: str) -> None:
    """Keep a turn. The list is replaced, never changed: whoever reads it sees one state of it."""
    state["turns"] = [*state.get("turns", ()), (prompt.removesuffix(MAY_ASK), answer)][-MAX_REMEMBERED * 5 :]


def memory_resolved(memory: Memory | None, around: Surroundings) -> Memory | None:
    """With the names of the nodes that it reads."""
    if memory is None:
        return None
    update: dict[str, Any] = {"writers": _writers(memory.blackboard, around) if memory.blackboard else None}
    if memory.retrieve is not None and memory.retrieve.source == "run":
        update["retrieve"] = memory.retrieve.model_copy(update={"nodes": tuple(around.nodes)})
    return memory.model_copy(update=update)


def _writers(blackboard: str, around: Surroundings) -> tuple[str, ...]:
    def board(node: NodeSpec) -> Any:
        memory = node.config.get("memory") if node.type == "agent" else None
        return memory.get("blackboard") if isinstance(memory, Mapping) else None

    return tuple(name for name, node in around.nodes.items() if board(node) == blackboard)


def memory_problems(memory: Memory | None, around: Surroundings) -> Iterator[Problem]:
    """A blackboard is for several."""
    if memory is None or memory.blackboard is None:
        return
    if len(_writers(memory.blackboard, around)) < 2 and around.nodes:
        message = f"Only node {around.node!r} writes on the blackboard {memory.blackboard!r}."
        hint = 'Name it in a second agent too, or use "short_term".'
        yield Problem("warning", "blackboard_alone", "/memory/blackboard", message, hint)


def memory_reads(memory: Memory | None) -> tuple[str, ...]:
    """The nodes whose earlier messages are read."""
    if memory is None:
        return ()
    return (*(memory.writers or ()), *((memory.retrieve.nodes or ()) if memory.retrieve else ()))


def looked_up(memory: Memory | None, prompt: str, context: Context) -> str:
    """What is put after the prompt: the blackboard, and the passages that fit the prompt; empty if there is nothing."""
    found = ""
    if memory is not None and memory.writers:
        board = board_text({name: context.earlier(name) for name in memory.writers})
        found += f"\n\nThe blackboard so far:\n\n{board}" if board else ""
    if memory is not None and memory.retrieve is not None:
        texts = _texts(memory.retrieve, context)
        best = best_passages(passages(texts), prompt, memory.retrieve.top_k)
        found += "\n\nPassages that may help:" if best else ""
        found += "".join(f"\n\n[{passage.source}]\n{passage.text}" for passage in best)
    return found


def _texts(retrieve: Retrieve, context: Context) -> list[tuple[str, str]]:
    if retrieve.source == "instance.files":
        return sorted(context.files().items())
    return [
        (name, message.text)
        for name in retrieve.nodes or ()
        for messages in context.earlier(name)
        for message in messages
    ]


def recall_turn(state: dict[str, Any], ended: VisitEnded, calls: Sequence[Any]) -> None:
    """Keep the turn of a visit that is taken from the journal: its prompt is in its first call."""
    if ended.status != "succeeded" or ended.mapped or not ended.messages:
        return
    first = next((call for call in calls if call.kind == "model_called"), None)
    if first is not None:
        remember(state, str(first.messages[-1].get("content", "")), ended.messages[-1].text)
