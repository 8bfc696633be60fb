"""A picture as a file of its own: with its colours inside, light and dark, so that it looks the same anywhere."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

APPS = Path(__file__).resolve().parent.parent
_BOTH = re.compile(r"light-dark\(((?:[^(),]|\([^()]*\))*),\s*((?:[^(),]|\([^()]*\))*)\)")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def standalone_svg(svg: str) -> str:
    """The SVG of `topology_svg` with the style sheet in it."""
    end = svg.index(">") + 1
    return f"{svg[:end]}<style>{style()}</style>{svg[end:]}\n"


@lru_cache(maxsize=1)
def style() -> str:
    """The page's own colours and the picture's own rules; many programs don't know `light-dark()` yet."""
    tokens = (APPS / "web/static/web/tokens.css").read_text()
    picture = (APPS / "topologies/static/topologies/picture.css").read_text()
    picture = _COMMENT.sub("", picture.partition("/* Where it stands on a page")[0])
    variables = "".join(re.findall(r"--[a-z0-9-]+:[^;{}]+;", tokens[: tokens.index("}")]))
    light, dark = (_BOTH.sub(side, variables) for side in (r"\1", r"\2"))
    light_rules, dark_rules = (_BOTH.sub(side, picture) for side in (r"\1", r"\2"))
    ground = ".tp{background:var(--surface)}"
    css = f".tp{{{light}}}{light_rules}{ground}@media (prefers-color-scheme:dark){{.tp{{{dark}}}{dark_rules}}}"
    return " ".join(css.split())
