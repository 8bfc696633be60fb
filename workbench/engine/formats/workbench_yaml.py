from __future__ import annotations

import re

from workbench.engine.errors import Problem
from workbench.engine.formats import Format, Imported
from workbench.engine.formats._yaml import read_yaml

_FORMAT = re.compile(r"""^["']?format["']?\s*:\s*["']?workbench\.topology/""", re.MULTILINE)


class WorkbenchYaml(Format):
    """The own format, `workbench.topology/1`, written as YAML."""

    def recognises(self, filename: str, text: str) -> bool:
        return not text.lstrip("\ufeff \t\r\n").startswith("{") and _FORMAT.search(text) is not None

    def read(self, text: str) -> Imported:
        data, problems = read_yaml(text)
        if data is not None and not isinstance(data, dict):
            return Imported(None, [], [Problem("error", "not_an_object", "", "A topology is an object with keys.")])
        return Imported(data, [], problems)
