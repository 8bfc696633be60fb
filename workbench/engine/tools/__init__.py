"""What an agent may do. The contract: one `Tool` in a file of its own beside this one. What is not listed is denied."""

from __future__ import annotations

import inspect
from abc import ABC
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from workbench.engine.people import Question
from workbench.engine.plugins import Plugins
from workbench.engine.providers import ToolSchema


class Arguments(BaseModel):
    """A tool's arguments; their descriptions are what the model reads."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Tool(ABC):
    """A tool. Its docstring is the description that the model reads."""

    Arguments: ClassVar[type[Arguments]]
    writes: ClassVar[bool] = True
    """Whether it may change files of the workspace; one that says no is not looked after."""

    def run(self, arguments: Any, workspace: Path) -> str:
        """Do it inside the run's workspace, in a worker thread. Raises `ToolError` with a sentence for the agent."""
        raise NotImplementedError

    def question(self, arguments: Any) -> Question | None:
        """What to ask a person, whose answer is the result; None: `run` does it."""
        return None

    @classmethod
    def asks(cls) -> bool:
        """Whether it is about asking people: files come with their answers, and else it changes none."""
        return cls.question is not Tool.question

    @classmethod
    def schema(cls, name: str) -> ToolSchema:
        """The tool as a model sees it."""
        parameters = cls.Arguments.model_json_schema()
        parameters.pop("title", None)
        parameters.pop("description", None)
        return ToolSchema(name=name, description=inspect.cleandoc(cls.__doc__ or ""), parameters=parameters)


TOOLS = Plugins("workbench.engine.tools", Tool, "tool")
