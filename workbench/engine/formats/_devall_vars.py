"""`${NAME}` in DevAll files: filled in from the file's own `vars`, never from the environment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from workbench.engine.documents import pointer
from workbench.engine.formats._reading import Reading

Json = Any

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
MAX_LENGTH = 1_000_000

NEVER_IMPORTED = frozenset({"api_key", "base_url", "embedding", "headers", "env", "memory", "memories", "tooling"})
"""Fields that stay behind anyway: a variable in them stops nothing."""


class Variables:
    """The file's variables, each worked out once; those without a value are told at the end."""

    def __init__(self, values: Mapping[str, Json], reading: Reading) -> None:
        self.values, self.reading = values, reading
        self._known: dict[str, Json] = {}
        self._open: list[str] = []
        self._used: set[str] = set()

    def filled(self, data: Json, path: str = "") -> Json:
        """The data with every variable replaced that has a value."""
        if isinstance(data, dict):
            return {key: self.filled(value, path + pointer(key)) for key, value in data.items()}
        if isinstance(data, list):
            return [self.filled(value, f"{path}/{index}") for index, value in enumerate(data)]
        return self._text(data, path) if isinstance(data, str) and "${" in data else data

    def unused(self) -> list[str]:
        return [name for name in self.values if name not in self._used]

    def _text(self, text: str, path: str) -> Json:
        alone = VARIABLE.fullmatch(text)
        if alone and alone[1] in self.values:
            return self._value(alone[1], path)
        grown = 0

        def replaced(match: re.Match[str]) -> str:
            nonlocal grown
            if match[1] not in self.values:
                self._absent(match[1], path)
                return match[0]
            value = self._value(match[1], path)
            found = value if isinstance(value, str) else str(value)
            grown += len(found)
            return found if grown <= MAX_LENGTH else ""

        result = VARIABLE.sub(replaced, text)
        if grown > MAX_LENGTH:
            self.reading.error("too_large", path, f"The text grows over {MAX_LENGTH:,} characters by its variables.")
        return result

    def _value(self, name: str, path: str) -> Json:
        self._used.add(name)
        if name in self._open:
            self.reading.error("bad_var", path, f"The variable {name!r} is made of itself.")
            return ""
        if name not in self._known:
            self._open.append(name)
            self._known[name] = self.filled(self.values[name], pointer("vars", name))
            self._open.pop()
        return self._known[name]

    def _absent(self, name: str, path: str) -> None:
        steps = set(path.split("/"))
        hint = f'Add {name!r} to the file\'s "vars", or write the text in its place.'
        if steps & NEVER_IMPORTED or re.fullmatch(r".*/nodes/\d+/config/name", path):
            self.reading.note(f"${{{name}}} has no value in the file's vars; the environment is never read for it.")
        else:
            message = f"${{{name}}} is not in the file's vars, and the environment is never read for it."
            self.reading.error("unknown_var", path, message + self.reading.nearest(name, self.values), hint)
