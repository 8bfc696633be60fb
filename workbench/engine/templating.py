"""Prompts: a small, bounded part of Jinja2. Rendered once; what came from models, tools or data is never rendered again.

Beyond Jinja's immutable sandbox, loops are counted, texts are measured as they grow, and only harmless filters and
methods exist, so that no prompt can run or grow without end.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, NamedTuple

from jinja2 import ChainableUndefined, StrictUndefined, Template, TemplateSyntaxError, UndefinedError, nodes
from jinja2.exceptions import SecurityError
from jinja2.exceptions import TemplateError as JinjaError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from workbench.engine.errors import TemplateError

MAX_CHARACTERS = 1_000_000
MAX_STEPS = 100_000
MAX_BITS = 4_096
MAX_SECONDS = 5.0
MAX_TEMPLATE = 200_000

ROOTS: dict[str, tuple[str, ...] | None] = {
    "instance": ("problem", "id", "metadata"),
    "inbox": None,
    "nodes": None,
    "vars": None,
    "visit": (),
    "run": ("id", "repetition"),
}
"""The names that exist in a prompt, and what each holds (None: that depends)."""
NODE_ATTRIBUTES = ("output", "json", "status", "visits")
MESSAGE_ATTRIBUTES = ("text", "source", "json", "status")

FILTERS = (
    "abs capitalize count d default dictsort first float int items join last length list lower map max min reject "
    "rejectattr replace reverse round select selectattr sort string title tojson trim truncate unique upper "
    "wordcount"
).split()
METHODS = frozenset(
    (
        "capitalize count endswith find get index items keys lower lstrip removeprefix removesuffix rstrip split "
        "splitlines startswith strip title upper values"
    ).split()
)
FORBIDDEN: tuple[tuple[type[nodes.Node], str], ...] = (
    (nodes.Macro, "macro"),
    (nodes.CallBlock, "call"),
    (nodes.Include, "include"),
    (nodes.Import, "import"),
    (nodes.FromImport, "import"),
    (nodes.Extends, "extends"),
    (nodes.Block, "block"),
    (nodes.FilterBlock, "filter"),
    (nodes.Pow, "**"),
)


class Missing(ChainableUndefined, StrictUndefined):
    """A name without a value: it may be asked `is defined`, at any depth, but not be used."""

    @property
    def _undefined_message(self) -> str:
        return f"{self._undefined_name!r} has no value here"


class InboxMessage(NamedTuple):
    """A message as prompts see it."""

    text: str
    source: str = ""
    json: Any = None
    status: str = "succeeded"

    def __str__(self) -> str:
        return self.text


class Inbox(Sequence[InboxMessage]):
    """A node's inbox as prompts see it: as text its messages with a blank line between, also a list."""

    def __init__(self, messages: Iterable[InboxMessage] = ()) -> None:
        self._messages = tuple(messages)

    def __str__(self) -> str:
        return "\n\n".join(message.text for message in self._messages)

    def __len__(self) -> int:
        return len(self._messages)

    def __getitem__(self, index: Any) -> Any:
        return self._messages[index]


class Budget:
    """What one rendering may still spend."""

    def __init__(self) -> None:
        self.steps, self.ends = MAX_STEPS, time.thread_time() + MAX_SECONDS

    def spend(self) -> None:
        self.steps -= 1
        if self.steps < 0 or time.thread_time() > self.ends:
            raise TemplateError("The prompt loops for too long.")


_budget: ContextVar[Budget] = ContextVar("budget")


def _bounded(items: Any) -> Iterator[Any]:
    for item in items:
        _budget.get().spend()
        yield item


def _measured(value: Any) -> Any:
    if isinstance(value, str | list | tuple) and len(value) > MAX_CHARACTERS:
        raise TemplateError(f"The prompt grows over {MAX_CHARACTERS:,} characters.")
    return value


def _concat(*parts: Any) -> str:
    return str(_measured("".join(str(part) for part in parts)))


def _join(value: Iterable[Any], d: str = "", attribute: Any = None) -> str:
    parts, size = [], 0
    for item in _bounded(value):
        part = str(item if attribute is None else getattr(item, str(attribute), ""))
        size += len(part) + len(d)
        _measured(part)
        if size > MAX_CHARACTERS:
            _measured("x" * (MAX_CHARACTERS + 1))
        parts.append(part)
    return d.join(parts)


def _replace(text: Any, old: str, new: str) -> str:
    text = str(text)
    found = text.count(old) if old else len(text) + 1
    if len(text) + found * (len(new) - len(old)) > MAX_CHARACTERS:
        _measured("x" * (MAX_CHARACTERS + 1))
    return str(text).replace(old, new)


def _to_text(value: Any) -> Any:
    """JSON values print as JSON, not as Python."""
    if isinstance(value, bool) or value is None or isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return _measured(value)


class _Environment(ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset(["+", "*", "%"])

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "*":
            for text, times in ((left, right), (right, left)):
                if (
                    isinstance(text, str | list | tuple)
                    and isinstance(times, int)
                    and len(text) * times > MAX_CHARACTERS
                ):
                    _measured("x" * (MAX_CHARACTERS + 1))
        if isinstance(left, int) and isinstance(right, int) and left.bit_length() + right.bit_length() > MAX_BITS:
            raise TemplateError("The prompt computes with numbers that are too large.")
        if operator == "%" and isinstance(left, str):
            raise TemplateError('"%" with a text is not available in prompts; write {{ … }} where the value belongs.')
        return _measured(super().call_binop(context, operator, left, right))

    def is_safe_callable(self, obj: Any) -> bool:
        return getattr(obj, "__name__", "") in METHODS or obj is self.globals["range"]


def _environment() -> _Environment:
    environment = _Environment(undefined=Missing, autoescape=False, finalize=_to_text, keep_trailing_newline=True)
    environment.globals = {"range": environment.globals["range"]}
    kept = {name: environment.filters[name] for name in FILTERS}
    guards: dict[str, Callable[..., Any]] = {
        "_bounded": _bounded,
        "_concat": _concat,
        "join": _join,
        "replace": _replace,
    }
    environment.filters = {**kept, **guards}
    return environment


_ENVIRONMENT = _environment()


def _parse(text: str) -> nodes.Template:
    if len(text) > MAX_TEMPLATE:
        raise TemplateError(f"The prompt is longer than {MAX_TEMPLATE:,} characters.")
    try:
        tree = _ENVIRONMENT.parse(text)
    except TemplateSyntaxError as error:
        raise TemplateError(f"The prompt can't be read: {error.message} (line {error.lineno}).") from error
    except RecursionError as error:
        raise TemplateError("The prompt is nested too deep.") from error
    for kind, word in FORBIDDEN:
        found = tree.find(kind)
        if found is not None:
            raise TemplateError(f'"{word}" is not available in prompts (line {found.lineno}).')
    _known_filters(tree)
    return tree


def _known_filters(tree: nodes.Template) -> None:
    for found in tree.find_all((nodes.Filter, nodes.Test)):
        known = FILTERS if isinstance(found, nodes.Filter) else _ENVIRONMENT.tests
        name = getattr(found, "name", "")
        if name not in known:
            word = "filter" if isinstance(found, nodes.Filter) else "test"
            raise TemplateError(f"There is no {word} {name!r} in prompts (line {found.lineno}).")


@lru_cache(maxsize=2048)
def _compiled(text: str) -> Template:
    tree = _parse(text)
    for loop in tree.find_all(nodes.For):
        loop.iter = nodes.Filter(loop.iter, "_bounded", [], [], None, None, lineno=loop.lineno)
    for parent in tree.find_all(nodes.Node):
        for field, value in list(parent.iter_fields()):
            if isinstance(value, nodes.Concat):
                setattr(parent, field, _guarded(value))
            elif isinstance(value, list):
                value[:] = [_guarded(item) if isinstance(item, nodes.Concat) else item for item in value]
    try:
        code = _ENVIRONMENT.compile(tree)
    except (SyntaxError, RecursionError, TemplateSyntaxError) as error:
        raise TemplateError("The prompt is nested too deep.") from error
    return Template.from_code(_ENVIRONMENT, code, dict(_ENVIRONMENT.globals), None)


def _guarded(concat: nodes.Concat) -> nodes.Filter:
    first, *rest = concat.nodes
    return nodes.Filter(first, "_concat", rest, [], None, None, lineno=concat.lineno)


def render(text: str, names: Mapping[str, Any]) -> str:
    """The prompt as text. Raises `TemplateError`: unreadable, a name without a value, too long, or for ever."""
    if "{{" not in text and "{%" not in text and "{#" not in text:
        return text
    template = _compiled(text)
    token = _budget.set(Budget())
    parts, size = [], 0
    try:
        for part in template.generate(**names):
            size += len(part)
            if size > MAX_CHARACTERS:
                raise TemplateError(f"The prompt grows over {MAX_CHARACTERS:,} characters.")
            parts.append(part)
    except UndefinedError as error:
        raise TemplateError(f"The prompt can't be rendered: {error.message}.") from error
    except SecurityError as error:
        raise TemplateError(f"The prompt asks for something that is not allowed: {error.message}") from error
    except TemplateError:
        raise
    except (JinjaError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError) as error:
        raise TemplateError(f"The prompt can't be rendered: {error}.") from error
    finally:
        _budget.reset(token)
    return "".join(parts)


class Reference(NamedTuple):
    """A name used in a prompt: `path` such as ("nodes", "writer", "output"). `defined`: it is used only where it has
    a value (`is defined`, `default`); `later`: only from the second visit on (`visit > 1`)."""

    path: tuple[str, ...]
    line: int
    defined: bool
    later: bool


@lru_cache(maxsize=4096)
def references(text: str) -> Sequence[Reference]:
    """The names a prompt uses. Raises `TemplateError` for one that can't be read. An editor asks again at every change."""
    found: list[Reference] = []
    _Walk(found).visit(_parse(text), frozenset(), False, frozenset())
    return tuple(found)


class _Walk:
    """Goes through a prompt's tree knowing which names are local and what the conditions around guarantee."""

    def __init__(self, found: list[Reference]) -> None:
        self.found = found

    def visit(self, node: nodes.Node, defined: frozenset[tuple[str, ...]], later: bool, local: frozenset[str]) -> None:
        path = _path(node)
        if path is not None:
            if path[0] not in local:
                self.found.append(Reference(path, node.lineno, _covers(defined, path), later))
            return
        if isinstance(node, nodes.If | nodes.CondExpr):
            self._condition(node, defined, later, local)
        elif isinstance(node, nodes.Test) and node.name in ("defined", "undefined"):
            path = _path(node.node)
            self.visit(node.node, defined | ({path} if path else frozenset()), later, local)
        elif isinstance(node, nodes.Filter) and node.name in ("default", "d") and node.node is not None:
            path = _path(node.node)
            self.visit(node.node, defined | ({path} if path else frozenset()), later, local)
            for part in [*node.args, *node.kwargs]:
                self.visit(part, defined, later, local)
        elif isinstance(node, nodes.And):
            more_defined, more_later = _guarantees(node.left)
            self.visit(node.left, defined, later, local)
            self.visit(node.right, defined | more_defined, later or more_later, local)
        elif isinstance(node, nodes.For):
            self.visit(node.iter, defined, later, local)
            inner = local | _targets(node.target) | {"loop"}
            for part in [*node.body, *([node.test] if node.test else [])]:
                self.visit(part, defined, later, inner)
            for part in node.else_:
                self.visit(part, defined, later, local)
        else:
            self._children(node, defined, later, local)

    def _children(
        self, node: nodes.Node, defined: frozenset[tuple[str, ...]], later: bool, local: frozenset[str]
    ) -> None:
        for child in node.iter_child_nodes():
            if isinstance(child, nodes.Assign):
                self.visit(child.node, defined, later, local)
                local = local | _targets(child.target)
            elif isinstance(child, nodes.AssignBlock):
                self._children(child, defined, later, local)
                local = local | _targets(child.target)
            elif isinstance(child, nodes.With):
                for value in child.values:
                    self.visit(value, defined, later, local)
                inner = local.union(*(_targets(target) for target in child.targets)) if child.targets else local
                for part in child.body:
                    self.visit(part, defined, later, inner)
            else:
                self.visit(child, defined, later, local)

    def _condition(self, node: Any, defined: frozenset[tuple[str, ...]], later: bool, local: frozenset[str]) -> None:
        more_defined, more_later = _guarantees(node.test)
        self.visit(node.test, defined, later, local)
        if isinstance(node, nodes.CondExpr):
            self.visit(node.expr1, defined | more_defined, later or more_later, local)
            if node.expr2 is not None:
                self.visit(node.expr2, defined, later, local)
            return
        self._children(nodes.Output(node.body), defined | more_defined, later or more_later, local)
        for branch in node.elif_:
            self.visit(branch, defined, later, local)
        self._children(nodes.Output(node.else_), defined, later, local)


def _path(node: nodes.Node) -> tuple[str, ...] | None:
    """`nodes.a["b"]` as ("nodes", "a", "b"); a computed step ends it."""
    steps: list[str] = []
    while True:
        if isinstance(node, nodes.Getattr):
            steps.append(node.attr)
            node = node.node
        elif isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
            steps.append(str(node.arg.value))
            node = node.node
        elif isinstance(node, nodes.Name) and node.ctx == "load":
            return (node.name, *reversed(steps))
        else:
            return None


def _covers(defined: frozenset[tuple[str, ...]], path: tuple[str, ...]) -> bool:
    """`nodes.a.json.x is defined` speaks for `nodes.a`, and `nodes.a is defined` for what lies below it."""
    return any(path[:2] == known[:2] for known in defined)


def _targets(node: nodes.Node) -> frozenset[str]:
    return frozenset(name.name for name in [node, *node.find_all(nodes.Name)] if isinstance(name, nodes.Name))


def _guarantees(test: nodes.Node) -> tuple[frozenset[tuple[str, ...]], bool]:
    """What holds where a condition is true: the paths that are defined, and whether it is a later visit."""
    if isinstance(test, nodes.And):
        left, right = _guarantees(test.left), _guarantees(test.right)
        return left[0] | right[0], left[1] or right[1]
    if isinstance(test, nodes.Test) and test.name == "defined":
        path = _path(test.node)
        return (frozenset([path]) if path else frozenset()), False
    if isinstance(test, nodes.Compare) and _path(test.expr) == ("visit",) and len(test.ops) == 1:
        operand = test.ops[0]
        value = operand.expr.value if isinstance(operand.expr, nodes.Const) else None
        if isinstance(value, int):
            return frozenset(), (operand.op, value) in {("gt", value), ("gteq", value)} and value >= (
                1 if operand.op == "gt" else 2
            )
    return frozenset(), False
