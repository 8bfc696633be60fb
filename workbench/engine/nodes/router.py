from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from workbench.engine.conditions import Judged, condition_problems, read_condition
from workbench.engine.context import Context
from workbench.engine.errors import NodeFailed, Problem
from workbench.engine.events import MessageData
from workbench.engine.nodes import Emitted, Node, Surroundings
from workbench.engine.nodes._models import RoleConfig, ask_for_json, opening, role_problems, role_resolved
from workbench.engine.people import Question
from workbench.engine.plugins import nearest
from workbench.engine.spec import ConditionJson, Json, NodeName, Spec

END = "end"
HUMAN = "human"
NO_RULE = "no rule holds."


class RouterRule(Spec):
    """Where to go when the last message passes a condition."""

    when: ConditionJson
    to: tuple[NodeName, ...] = Field(min_length=1)


class RouterConfig(RoleConfig):
    mode: Literal["model", "rules"] = "model"
    rules: tuple[RouterRule, ...] = Field((), description="With mode rules: the first that holds decides.")
    on_unclear: NodeName = Field(
        "fail", description="Where no choice can be read: fail, end, a target, or human: a person chooses."
    )


class Router(Node):
    """Chooses which of its targets come next, one or several, by asking a model or by rules; `end` chooses none.

    It forwards its last message to those it chose. A model answers with a structured choice among the targets' names.
    """

    Config = RouterConfig

    @property
    def waits(self) -> bool:
        return bool(self.config.mode == "model" or self.config.on_unclear == HUMAN)

    def wire(self, inbox: Sequence[MessageData], state: dict[str, Any]) -> Emitted:
        return self._ruled(inbox) or self._unclear(inbox, NO_RULE)

    def _ruled(self, inbox: Sequence[MessageData]) -> Emitted | None:
        """Where the first rule that holds leads; None where none does."""
        last = inbox[-1] if inbox else self.message("")
        tested = Judged(last.text, last.data, last.structured, last.status)
        for rule in self.config.rules:
            if read_condition(rule.when).test(tested):
                return self._emit(inbox, rule.to)
        return None

    async def run(self, inbox: Sequence[MessageData], context: Context) -> Emitted:
        if self.config.mode == "rules":
            return self._ruled(inbox) or await self._asked(inbox, NO_RULE, context)
        choices = [*self.targets, END]
        listed = ", ".join(f'"{choice}"' for choice in choices)
        addition = (
            f'\n\nWhat comes next? Choose one or several of {listed}; "{END}" alone means that nothing does. '
            'Reply as JSON: {"targets": […]}'
        )
        schema: dict[str, Json] = {
            "type": "object",
            "properties": {"targets": {"type": "array", "items": {"enum": choices}, "minItems": 1}},
            "required": ["targets"],
        }
        try:
            chosen, _ = await ask_for_json(
                context,
                self.config.model,
                opening(context, self.config, addition),
                self.config.params,
                schema,
                repairs=2,
            )
        except NodeFailed as error:
            if self.config.on_unclear == HUMAN:
                return await self._asked(inbox, str(error), context)
            return self._unclear(inbox, str(error))
        return self._emit(inbox, chosen["targets"])

    async def _asked(self, inbox: Sequence[MessageData], why: str, context: Context) -> Emitted:
        """A person chooses."""
        text = f"What comes next? Router {self.node!r} could not choose: {why}"
        reply = await context.ask_person(Question(text, "router", (*self.targets, END), free=False))
        return self._emit(inbox, [reply.choice] if reply.choice else [])

    def given(self, text: str, inbox: Sequence[MessageData]) -> Emitted:
        chosen, choices = text.replace(",", " ").split(), [*self.targets, END]
        unknown = [name for name in chosen if name not in choices]
        if unknown or not chosen:
            what = f"{unknown[0]!r} is no target of router {self.node!r}." if unknown else "No target is named."
            raise NodeFailed(f"{what} Name one or several of {', '.join(choices)}.", code="unclear_choice")
        return self._emit(inbox, chosen)

    def _emit(self, inbox: Sequence[MessageData], chosen: Sequence[str]) -> Emitted:
        targets = tuple(target for target in self.targets if target in chosen)
        last = inbox[-1].by(self.node) if inbox else self.message("")
        return Emitted((last,), targets)

    def _unclear(self, inbox: Sequence[MessageData], why: str) -> Emitted:
        if self.config.on_unclear == "fail":
            raise NodeFailed(f"Router {self.node!r} could not choose: {why}", code="unclear_choice")
        return self._emit(inbox, [self.config.on_unclear])

    @classmethod
    def writes_files(cls, config: Any) -> bool:
        return bool(config.on_unclear == HUMAN)  # those that come with a person's answer

    @classmethod
    def asks_model(cls, config: Mapping[str, Any]) -> bool:
        return bool(config.get("mode", "model") == "model")

    @classmethod
    def problems(cls, config: Any, around: Surroundings) -> Iterator[Problem]:
        if config.mode == "model":
            yield from role_problems(config, around)
            if config.rules:
                yield Problem("error", "rules_unused", "/rules", 'Rules belong to "mode": "rules".')
        elif not config.rules:
            yield Problem("error", "no_rules", "/rules", f"Router {around.node!r} goes by rules and has none.")
        if len(around.targets) < 2:
            message = f"Router {around.node!r} has fewer than two ways out, so there is nothing to choose."
            yield Problem("error", "router_without_choice", "", message, "Draw edges to at least two targets.")
        allowed = [*around.targets, END]
        for index, rule in enumerate(config.rules):
            yield from condition_problems(rule.when, f"/rules/{index}/when")
            for place, target in enumerate(rule.to):
                if target not in allowed:
                    yield _no_way(f"/rules/{index}/to/{place}", target, allowed)
        if config.on_unclear not in ("fail", HUMAN, *allowed):
            yield _no_way("/on_unclear", config.on_unclear, ["fail", HUMAN, *allowed])

    @classmethod
    def resolve(cls, config: Any, around: Surroundings) -> Any:
        return role_resolved(config, around) if config.mode == "model" else config

    @classmethod
    def prompts(cls, config: Any) -> Mapping[str, str]:
        if config.mode == "rules":
            return {}
        return {field: text for field in ("system", "prompt") if (text := getattr(config, field))}


def _no_way(path: str, target: str, allowed: list[str]) -> Problem:
    message = f"No trigger edge leads to {target!r}.{nearest(target, allowed)}"
    return Problem("error", "unknown_target", path, message, f"The choices are {', '.join(allowed)}.")
