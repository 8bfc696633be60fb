"""What an agent may do around its answer: ask its predecessor first, look at the answer again.

Every exchange is a model call of the visit, counted and written down like any other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field, ValidationError

from workbench.engine.context import Context
from workbench.engine.errors import Problem, TemplateError
from workbench.engine.events import MessageData
from workbench.engine.nodes import Surroundings
from workbench.engine.nodes._models import RoleConfig, asked_params, role_resolved
from workbench.engine.providers import ChatMessage
from workbench.engine.spec import ModelName, Params, Prompt, Spec
from workbench.engine.templating import references

Json = Any
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

    prompt: Prompt | None = Field(None, description="How it is asked to criticise its answer.")
    rounds: int = Field(1, ge=1, le=3)


class Role(Spec):
    """A predecessor as it answers questions."""

    system: str = ""
    model: ModelName
    params: Params = Params()


class Clarify(Spec):
    """How many questions the agent may ask the agent whose message it read last, before it answers."""

    max: int = Field(1, ge=1, le=5)
    roles: dict[str, Role] | None = Field(None, json_schema_extra={"x-input": "hidden"})
    """The predecessors once resolved; planning writes them."""


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


def as_answer(data: Json) -> str:
    """The text of a JSON answer."""
    return data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
