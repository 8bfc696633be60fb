"""Every failure a person can do something about, as a tree. The text of each is a sentence for the person at the screen."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Literal, NamedTuple

Severity = Literal["error", "warning"]


class Problem(NamedTuple):
    """One thing wrong with a document: what (`code`, `message`), where (`path`, a JSON Pointer), what to do (`hint`)."""

    severity: Severity
    code: str
    path: str
    message: str
    hint: str = ""


def has_errors(problems: Sequence[Problem]) -> bool:
    """Whether one of the problems is an error; warnings alone stop nothing."""
    return any(problem.severity == "error" for problem in problems)


class WorkbenchError(Exception):
    """An expected failure. `code` is stable and short, for tests, tables and the API; the text is for people."""

    code = "error"


class InvalidDocument(WorkbenchError):
    """A topology, an agent or another document that can't be used, with every problem found in it."""

    code = "invalid"

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        errors = [problem for problem in problems if problem.severity == "error"]
        first = errors[0] if errors else None
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        super().__init__(f"{first.message}{more}" if first else "The document is not valid.")


class PluginError(WorkbenchError):
    """A name that no plug-in has, or a plug-in that breaks its contract."""

    code = "plugin"


class TemplateError(WorkbenchError):
    """A prompt that can't be rendered."""

    code = "template"


class ConditionError(WorkbenchError):
    """A condition that can't be judged."""

    code = "condition"


class NodeFailed(WorkbenchError):
    """A visit that could not do its work."""

    code = "node_failed"

    def __init__(self, message: str, *, code: str = "node_failed") -> None:
        super().__init__(message)
        self.code = code


class ToolError(WorkbenchError):
    """A tool that refused or failed; the agent sees the sentence and may try something else."""

    code = "tool"

    def __init__(self, message: str, *, code: str = "tool") -> None:
        super().__init__(message)
        self.code = code


class ProviderError(WorkbenchError):
    """A model call that failed. `temporary` says whether asking again may help, `retry_after` when (seconds), `busy`
    that the server has too much to do, `partial` what was answered until then, `cost_usd` what it was billed at all the
    same."""

    def __init__(
        self,
        message: str,
        *,
        code: str = "provider",
        temporary: bool = False,
        retry_after: float | None = None,
        busy: bool = False,
        partial: str = "",
        cost_usd: Decimal | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.temporary = temporary
        self.retry_after = retry_after
        self.busy = busy
        self.partial = partial
        self.cost_usd = cost_usd


class LimitReached(WorkbenchError):
    """A limit of the run would be exceeded by what comes next. `limit` is its key in the topology's `limits`."""

    code = "limit_reached"

    def __init__(self, limit: str, message: str) -> None:
        super().__init__(message)
        self.limit = limit


class Stopped(WorkbenchError):
    """A person asked the run to stop."""

    code = "stopped"


class SandboxError(WorkbenchError):
    """There is no safe place here to run code in."""

    code = "sandbox"


class EvaluationError(WorkbenchError):
    """An evaluator that can't judge what it was given: its options, its requirements, or the predictions."""

    code = "evaluation"
