from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import Field, ValidationError

from workbench.engine.context import Context
from workbench.engine.documents import pointer
from workbench.engine.errors import PluginError, Problem
from workbench.engine.events import MessageData
from workbench.engine.nodes import Emitted, Node, NodeConfig, Surroundings
from workbench.engine.plugins import nearest
from workbench.engine.spec import Json, ToolName
from workbench.engine.tools import TOOLS


class ToolConfig(NodeConfig):
    tool: ToolName = Field(description="The tool to call.")
    args: dict[str, Json] = Field(
        {}, description="Its arguments; each text in them is a prompt.", json_schema_extra={"x-input": "arguments"}
    )


class ToolNode(Node):
    """Calls one tool, without a model; what the tool says is its output. A tool that refuses or fails makes it fail."""

    Config = ToolConfig

    async def run(self, inbox: Sequence[MessageData], context: Context) -> Emitted:
        arguments = {name: _rendered(value, context) for name, value in self.config.args.items()}
        return Emitted((self.message(await context.use_tool(self.config.tool, arguments)),))

    @classmethod
    def problems(cls, config: Any, around: Surroundings) -> Iterator[Problem]:
        try:
            tool = TOOLS.get(config.tool)
        except PluginError as error:
            yield Problem("error", "unknown_tool", "/tool", str(error), f"The tools are {', '.join(TOOLS.names())}.")
            return
        templates = {tuple(path.split("/")[1:]) for path, text in cls.prompts(config).items() if "{" in text}
        known = list(tool.Arguments.model_fields)
        try:
            tool.Arguments.model_validate(config.args)
        except ValidationError as error:
            for fault in error.errors(include_url=False):
                place = tuple(map(str, fault["loc"]))
                if fault["type"] == "extra_forbidden":
                    message = f"The tool {config.tool!r} has no argument {place[-1]!r}.{nearest(place[-1], known)}"
                elif fault["type"] == "missing":
                    message = f"The tool {config.tool!r} needs the argument {place[-1]!r}."
                elif place in templates:
                    continue  # judged once it is rendered
                else:
                    message = f"The argument {place[-1]!r} does not fit: {fault['msg'][0].lower()}{fault['msg'][1:]}."
                hint = f"Its arguments are {', '.join(known)}." if known else "It takes no arguments."
                yield Problem("error", "bad_argument", pointer("args", *place), message, hint)

    @classmethod
    def writes_files(cls, config: Any) -> bool:
        return TOOLS.get(config.tool).writes

    @classmethod
    def prompts(cls, config: Any) -> Mapping[str, str]:
        return dict(_texts("args", config.args))


def _texts(path: str, value: Json) -> Iterator[tuple[str, str]]:
    """The texts in a value, each with its path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts(f"{path}/{key}", item)


def _rendered(value: Json, context: Context) -> Json:
    if isinstance(value, str):
        return context.render(value)
    if isinstance(value, dict):
        return {key: _rendered(item, context) for key, item in value.items()}
    return [_rendered(item, context) for item in value] if isinstance(value, list) else value
