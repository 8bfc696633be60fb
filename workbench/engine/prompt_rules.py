"""Rules about the names in prompts: that they exist, and that they have a value when the prompt is rendered."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from workbench.engine.documents import pointer
from workbench.engine.errors import Problem, TemplateError
from workbench.engine.plugins import nearest
from workbench.engine.reachability import Shape
from workbench.engine.templating import NODE_ATTRIBUTES, ROOTS, Reference, references


def prompt_problems(
    shape: Shape,
    prompts: Mapping[str, Mapping[str, str]],
    paths: Mapping[str, str],
    variables: Collection[str] | None = None,
) -> Iterator[Problem]:
    """What is wrong with the prompts of each node (field → text); `paths` says where each node stands in the document.

    `variables`: the topology's vars; None where they are not known, as for an agent of the catalogue."""
    for name, fields in prompts.items():
        for field, text in fields.items():
            path = paths[name] + pointer(*field.split("/"))
            try:
                used = references(text)
            except TemplateError as error:
                yield Problem("error", "bad_prompt", path, str(error), "Prompts are Jinja2 templates.")
                continue
            seen: set[tuple[str, ...]] = set()
            for reference in used:
                key = (*reference.path[:3], str(reference.defined), str(reference.later))
                if key not in seen:
                    seen.add(key)
                    yield from _name(shape, name, path, reference, variables)


def _name(
    shape: Shape, node: str, path: str, reference: Reference, variables: Collection[str] | None
) -> Iterator[Problem]:
    root, *steps = reference.path
    if root not in ROOTS:
        if root == "range":
            return
        message = f"There is no name {root!r} in prompts (line {reference.line}).{nearest(root, list(ROOTS))}"
        yield Problem("error", "unknown_name", path, message, f"The names are {', '.join(ROOTS)}.")
        return
    known = ROOTS[root]
    if root == "nodes":
        yield from _node(shape, node, path, reference, variables is None)
    elif root == "vars":
        if variables is not None and steps and steps[0] not in variables and not reference.defined:
            message = (
                f"The topology has no var {steps[0]!r} (line {reference.line}).{nearest(steps[0], list(variables))}"
            )
            yield Problem("error", "unknown_name", path, message, 'Add it to "vars".')
    elif known is not None and steps and steps[0] not in known:
        message = f"{root!r} has no {steps[0]!r} (line {reference.line}).{nearest(steps[0], list(known))}"
        hint = f"It has {', '.join(known)}." if known else f"It is a number: write {{{{ {root} }}}}."
        yield Problem("error", "unknown_name", path, message, hint)


def _node(shape: Shape, node: str, path: str, reference: Reference, alone: bool) -> Iterator[Problem]:
    steps = reference.path[1:]
    if not steps or alone:
        return
    other = steps[0]
    where = f"line {reference.line}"
    if other not in shape.index:
        message = f"The prompt names node {other!r}, which does not exist ({where}).{shape.nearest(other)}"
        yield Problem("error", "unknown_name", path, message)
        return
    if len(steps) > 1 and steps[1] not in NODE_ATTRIBUTES:
        message = f"'nodes.{other}' has no {steps[1]!r} ({where}).{nearest(steps[1], list(NODE_ATTRIBUTES))}"
        yield Problem("error", "unknown_name", path, message, f"It has {', '.join(NODE_ATTRIBUTES)}.")
    first, second = shape.index[other], shape.index[node]
    together = shape.component[first] == shape.component[second] and any(second in cycle for cycle in shape.cycles)
    if not together and (first == second or second not in shape.reached([first], data=True)):
        message = (
            f"'nodes.{other}' can never have a value in node {node!r}: nothing leads from there to here ({where})."
        )
        hint = f'Add an edge: {{"from": "{other}", "to": "{node}", "trigger": false}}.'
        yield Problem("error", "never_has_value", path, message, hint)
    elif not reference.defined and not (reference.later and together) and not shape.before[second] >> first & 1:
        message = f"Node {other!r} may not have run when node {node!r} reads 'nodes.{other}' ({where})."
        guard = "{% if visit > 1 %}" if together else f"{{% if nodes.{other} is defined %}}"
        yield Problem(
            "error", "may_have_no_value", path, message, f"Put it inside {guard} … {{% endif %}}, or use default."
        )
