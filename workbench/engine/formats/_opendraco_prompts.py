"""OpenDraco's user prompts as templates: `{issue}` and its like become names, any other brace stays text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from workbench.engine.formats._reading import Reading, as_template

FIXED = {"issue": "{{ instance.problem }}", "instance_id": "{{ instance.id }}", "workspace": "."}
_PIECES = re.compile(r"\{\{|\}\}|\{([^{}\n]*)\}")
_WORD = re.compile(r"\w[\w.-]*")


def prompt_template(
    text: str, path: str, name: str, ids: Mapping[str, str], sources: Sequence[str], reading: Reading, *, alone: bool
) -> str:
    """The prompt as a template. `sources`: the nodes before this one, in edge order; `alone`: only they start it."""
    known = [*FIXED, "predecessor", *ids]

    def placeholder(found: str) -> str | None:
        """What stands for `{found}`; None where that is just text."""
        if found == "predecessor":
            return _predecessor(name, ids, sources, reading, alone=alone)
        if found == "workspace":
            reading.note('{workspace} became ".": tools work inside the run\'s workspace.', name)
        if found in FIXED:
            return FIXED[found]
        if found in ids:
            return _output(ids[found])
        if _WORD.fullmatch(found):
            message = f"The prompt of {name!r} names {{{found}}}, which is no node and no field."
            message += reading.nearest(found, known)
            reading.error("unknown_placeholder", path, message, f"Known are {', '.join(known)}.")
        else:
            reading.note("A brace that begins no name stays a brace; OpenDraco would break off there.", name)
        return None

    parts: list[str] = []
    plain, place = "", 0
    for match in _PIECES.finditer(text):
        plain += text[place : match.start()]
        place = match.end()
        if match.group() in ("{{", "}}"):
            plain += match.group()[0]
        elif (template := placeholder(match.group(1))) is None:
            plain += match.group()
        else:
            parts += [as_template(plain), template]
            plain = ""
    return "".join([*parts, as_template(plain + text[place:])])


def _predecessor(name: str, ids: Mapping[str, str], sources: Sequence[str], reading: Reading, *, alone: bool) -> str:
    if not sources:
        reading.note("{predecessor} is empty: no edge leads here.", name)
        return ""
    if alone and len(sources) == 1:
        return "{{ inbox }}"
    reading.note(f"{{predecessor}} means the source of the first edge, {sources[0]!r}, as in OpenDraco.", name)
    return _output(ids[sources[0]])


def _output(node: str) -> str:
    return (
        "{{ nodes." + node + ".output | default('') }}"
        if node.isidentifier()
        else ("{{ nodes['" + node + "'].output | default('') }}")
    )
