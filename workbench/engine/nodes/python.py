from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from typing import Any

from pydantic import Field

from workbench.engine.context import Context
from workbench.engine.errors import NodeFailed, ToolError
from workbench.engine.events import MessageData
from workbench.engine.nodes import Emitted, Node, NodeConfig
from workbench.engine.sandboxes import Chosen, Finished, Limits, choose_sandbox
from workbench.engine.spec import Text

FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^`]*)$")
LIMITS = Limits()
SHOWN_ERRORS = 2_000
START = (
    "import linecache as l,sys;"
    "r=sys.stdin.buffer;s=r.read(int(r.readline())).decode();"
    "l.cache['code.py']=len(s),None,s.splitlines(True),'code.py';"
    "exec(compile(s,'code.py','exec'),sys.modules['__main__'].__dict__)"
)
"""Reads the code before the rest of standard input: an argument could not be as long, a file would lie in the workspace."""


class PythonConfig(NodeConfig):
    code: Text | None = Field(
        None, description="What to run; left out, the code in the last message.", json_schema_extra={"x-input": "code"}
    )
    timeout_s: float = Field(60, gt=0, le=3600, description="Seconds it may take.")


class Python(Node):
    """Runs Python code in the sandbox, in the run's workspace; what it prints is its output.

    The code is its own (it then reads the inbox from standard input), or the first fenced block of the last message,
    or that whole message. An exit code other than 0 is a failure.
    """

    Config = PythonConfig

    async def run(self, inbox: Sequence[MessageData], context: Context) -> Emitted:
        own = self.config.code
        code = own if own is not None else code_of(inbox[-1].text if inbox else "")
        if not code.strip():
            raise NodeFailed(f"Node {self.node!r} was given no code to run.", code="no_code")
        given = "\n\n".join(message.text for message in inbox) if own is not None else ""
        chosen = await asyncio.to_thread(choose_sandbox, os.environ)

        async def work() -> str:
            return await self._output(
                chosen, code.encode("utf-8", "replace"), given.encode("utf-8", "replace"), context
            )

        return Emitted((self.message(await context.use_tool("python", {"code": code}, work)),))

    async def _output(self, chosen: Chosen, code: bytes, given: bytes, context: Context) -> str:
        sandbox = chosen.sandbox
        quota = context.quota
        async with context.folder(writes=True) as folder:
            finished = await sandbox.run(
                [sandbox.python(), "-c", START],
                folder,
                stdin=b"%d\n%b%b" % (len(code), code, given),
                timeout_s=self.config.timeout_s,
                limits=LIMITS._replace(workspace_bytes=quota.bytes, workspace_files=quota.files),
            )
            self._check(finished)
        if finished.truncated:
            text = f"The code of node {self.node!r} printed too much: the first {LIMITS.output_bytes:,} bytes are kept."
            await context.note(text, "output_cut")
        return _text(finished.stdout)

    @classmethod
    def writes_files(cls, config: Any) -> bool:
        return True

    def _check(self, finished: Finished) -> None:
        if finished.timed_out:
            message = f"The code of node {self.node!r} did not end within {self.config.timeout_s:g} s (timeout_s)."
            raise ToolError(message, code="timeout")
        if finished.exceeded:
            raise ToolError(f"The code of node {self.node!r} was ended. {finished.exceeded}", code="sandbox_limit")
        if finished.exit_code != 0:
            said = _text(finished.stderr).strip()[-SHOWN_ERRORS:]
            message = f"The code of node {self.node!r} failed with exit code {finished.exit_code}"
            raise ToolError(f"{message}: {said}" if said else f"{message}.", code="exit_code")


def code_of(text: str) -> str:
    """The first fenced block of a text, or all of it where it has none. A block that is never closed goes to the end."""
    fence, block = "", list[str]()
    for line in text.splitlines(keepends=True):
        found = FENCE.match(line.rstrip())
        if fence and found and found[1].startswith(fence) and not found[2].strip():
            break
        if fence:
            block.append(line)
        elif found:
            fence = found[1]
    return "".join(block) if fence else text


def _text(data: bytes) -> str:
    """Text that a journal and a page can hold: without NUL, which databases refuse."""
    return data.decode("utf-8", "replace").replace("\0", "\ufffd")
