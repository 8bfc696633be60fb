"""Rules about tools: room for their descriptions, prompts that ask for one that is not allowed, files that several write."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from workbench.engine.documents import pointer
from workbench.engine.errors import Problem
from workbench.engine.providers._estimate import estimated_tokens
from workbench.engine.reachability import Shape
from workbench.engine.tools import TOOLS

NAMED = 5


def writer_problems(shape: Shape, writers: Mapping[str, str], mapped: Collection[str]) -> Iterator[Problem]:
    """Nodes that may change files at the same time: each does so in a folder of its own, and they are joined later.

    `writers`: node → the place of what lets it write; `mapped`: those that run on several units at once."""
    beside = shape.beside(shape.index[name] for name in writers)
    hint = (
        "Each then works in a folder of its own. {}, let only one of them write, or "
        'say how their files are joined: "workspace": {{"merge": "three_way"}}, "first" or "vote".'
    )
    for name, path in writers.items():
        others = [shape.nodes[other] for other in beside.get(shape.index[name], ())]
        if others:
            message = f"Nodes {_listed([name, *others])} may write the same workspace at the same time."
            yield Problem("warning", "parallel_writers", path, message, hint.format("Draw edges between them"))
        elif name in mapped:
            message = f"The units of node {name!r} may write the same workspace at the same time."
            yield Problem("warning", "parallel_writers", path, message, hint.format('Set "max_parallel" to 1'))


def _listed(names: Sequence[str]) -> str:
    shown = [repr(name) for name in names]
    if len(shown) > NAMED + 1:
        shown = [*shown[:NAMED], f"{len(shown) - NAMED} more"]
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def tool_problems(node: str, config: Any, path: str) -> Iterator[Problem]:
    """What is wrong with a resolved agent and its tools."""
    if "tools" not in type(config).model_fields:
        return
    prompts = {field: getattr(config, field) or "" for field in ("system", "prompt")}
    yield from _not_allowed(node, prompts, config.tools, path)
    yield from _no_room(node, prompts.values(), config, path)


def _not_allowed(node: str, prompts: Mapping[str, str], allowed: Collection[str], path: str) -> Iterator[Problem]:
    """A name such as `read_file` in a prompt is the tool's; one that is a plain word may mean anything."""
    for tool in TOOLS.names():
        asking = [field for field, text in prompts.items() if re.search(rf"\b{re.escape(tool)}\b", text)]
        if "_" in tool and tool not in allowed and asking:
            message = f"The {asking[0]} of node {node!r} speaks of the tool {tool!r}, which the node may not use."
            hint = f'Add {tool!r} to its "tools", or take it out of the text.'
            yield Problem("error", "tool_not_allowed", path + pointer("tools"), message, hint)


def _no_room(node: str, prompts: Collection[str], config: Any, path: str) -> Iterator[Problem]:
    window = config.params.num_ctx
    if window is None:
        return
    described = [TOOLS.get(name).schema(name) for name in config.tools]
    texts = [*prompts, *(tool.description + tool.name + json.dumps(tool.parameters) for tool in described)]
    fixed, answer = sum(map(estimated_tokens, texts)), config.params.max_output_tokens or 0
    if fixed + answer > window:
        parts = "prompt and tools" if described else "prompt"
        kept = f" and {answer:,} are kept for the answer (max_output_tokens)" if answer else ""
        message = (
            f"Node {node!r} asks for a window of {window:,} tokens (num_ctx); its {parts} take about {fixed:,}{kept}."
        )
        yield Problem(
            "warning",
            "context_too_small",
            path + pointer("params"),
            message,
            'Raise "num_ctx", allow fewer tools, or shorten the prompt.',
        )
