"""What an agent may do around its answer: ask its predecessor first, look at it again, remember its earlier turns.

Every exchange is a model call of the visit, counted and written down like any other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field, ValidationError

from workbench.engine.context import Context
from workbench.engine.errors import Problem, TemplateError
from workbench.engine.events import MessageData, VisitEnded
from workbench.engine.memory import best_passages, board_text, passages
from workbench.engine.nodes import Surroundings
from workbench.engine.nodes._models import RoleConfig, asked_params, role_resolved
from workbench.engine.providers import ChatMessage
from workbench.engine.spec import ModelName, NodeSpec, Params, Spec, Text
from workbench.engine.templating import references

Json = Any
MAX_REMEMBERED = 100
OWN_NAMES = ("nodes", "inbox", "visit")
"""What a role names of its own visits, so that it means nothing in another node's."""

MAY_ASK = (
    "\n\nIf something is missing or unclear that would change your answer, you may first ask the one who gave you this. "
    'Reply as JSON: {"question": …} to ask, or {"answer": …} to answer.'
)
NO_MORE = "\n\nYou have asked all that you may. Answer now, in the form that was asked for at first."
CRITICISE = (
    "Read your answer again as a demanding reader would. Name its faults: what is wrong, missing, unfounded or unclear. "
    "Do not answer again yet."
)
IMPROVE = "Now answer again without these faults. Give the improved answer alone, in the form that was asked for."


class Reflect(Spec):
    """Whether the agent criticises its answer and gives a better one, and how often."""

    prompt: Text | None = Field(None, description="How it is asked to criticise its answer.")
    rounds: int = Field(1, ge=1, le=3)


class Role(Spec):
    """A predecessor as it answers questions."""

    system: str = ""
    model: ModelName
    params: Params = Params()


class Clarify(Spec):
    """How many questions the agent may ask the agent whose message it read last, before it answers."""

    max: int = Field(1, ge=1, le=5)
    roles: dict[str, Role] | None = Field(None, description="The predecessors once resolved; planning writes them.")


class ShortTerm(Spec):
    """How many messages of its earlier turns, prompts and answers, the agent is shown."""

    messages: int = Field(MAX_REMEMBERED, ge=2, le=1000)


class Retrieve(Spec):
    """Passages that fit its prompt: of the instance's files, or of what was said in the run before."""

    source: Literal["instance.files", "run"] = Field(alias="from")
    top_k: int = Field(3, ge=1, le=50)
    nodes: tuple[str, ...] | None = Field(None, description="Whose messages are searched; planning writes it.")


class Memory(Spec):
    """What the agent remembers. `short_term`: its own turns since the loop that it stands in was entered. `blackboard`:
    all agents that name the same one write their answers on it, and read what was written before. `retrieve`: passages."""

    short_term: Literal[True] | ShortTerm | None = None
    blackboard: str | None = Field(None, min_length=1, max_length=100)
    writers: tuple[str, ...] | None = Field(None, description="Who writes on the blackboard; planning writes it.")
    retrieve: Retrieve | None = None


# Clarify


def clarify_problems(clarify: Clarify | None, tools: bool, around: Surroundings) -> Iterator[Problem]:
    """There must be an agent to ask, and one whose role can be read in another node."""
    if clarify is None:
        return
    if tools:
        message = f"Node {around.node!r} asks for clarification and uses tools: it can't do both."
        yield Problem(
            "error", "clarify_with_tools", "/clarify", message, "Let one node ask and a second one do the work."
        )
    roles = _roles(around)
    if not roles:
        message = f"Node {around.node!r} may ask its predecessor, but no agent's edge brings it a message."
        yield Problem("error", "nobody_to_ask", "/clarify", message, "Draw an edge from an agent, or leave it out.")
    for name, role in roles.items():
        try:
            own = sorted({item.path[0] for item in references(role.system)} & set(OWN_NAMES))
        except TemplateError:
            continue  # said of the node itself
        if own:
            message = f"Node {name!r} can't answer questions: its role (system) names {', '.join(own)}."
            yield Problem("error", "role_of_its_own", "/clarify", message, "Put that into its prompt instead.")


def clarify_resolved(clarify: Clarify | None, around: Surroundings) -> Clarify | None:
    """With the roles of those who may be asked."""
    return None if clarify is None else clarify.model_copy(update={"roles": _roles(around)})


def _roles(around: Surroundings) -> dict[str, Role]:
    roles = {}
    for name, node in around.sources.items():
        if node.type != "agent":
            continue
        fields = {key: value for key, value in node.config.items() if key in RoleConfig.model_fields}
        try:
            config = role_resolved(RoleConfig.model_validate(fields), around._replace(node=name))
            roles[name] = Role(system=config.system, model=config.model, params=config.params)
        except ValidationError:
            continue  # said of the node itself
    return roles


def clarify_schema(schema: Mapping[str, Json] | None) -> dict[str, Json]:
    """A question, or an answer of the form that is asked for."""
    answer = dict(schema) if schema is not None else {"type": "string", "minLength": 1}
    shared = {key: answer.pop(key) for key in ("$defs", "definitions") if key in answer}
    return {
        "type": "object",
        "properties": {"question": {"type": "string", "minLength": 1}, "answer": answer},
        "minProperties": 1,
        "additionalProperties": False,
        **shared,
    }


async def told(role: Role, given: MessageData, question: str, context: Context) -> str:
    """What the predecessor says to a question."""
    asked = (
        f"This is what you gave to a colleague:\n\n{given.text}\n\nBefore going on, your colleague asks you:\n\n{question}"
        "\n\nAnswer the question alone, exactly and in few sentences."
    )
    system = context.render(role.system)
    messages = [ChatMessage(role="system", content=system)] if system.strip() else []
    messages.append(ChatMessage(role="user", content=asked))
    reply = await context.ask(role.model, messages, params=asked_params(role.params))
    return reply.content.strip() or "(no answer)"


# Memory


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


def as_answer(data: Json) -> str:
    """The text of a JSON answer."""
    return data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
