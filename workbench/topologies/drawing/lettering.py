"""Text for pictures: what XML can't hold is left out, and what is too long for its box ends in an ellipsis."""

from __future__ import annotations

import re
import unicodedata
from typing import Any
from xml.sax.saxutils import quoteattr

# What XML 1.0 forbids, half characters, and the marks that turn the direction of all text after them.
_UNSUITED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]")
_NARROW = frozenset("ijl.,:;'|!ftr()[]{}/\\ -·")


def plain(text: Any) -> str:
    """One line of text that may stand in XML."""
    return " ".join(_UNSUITED.sub("", str(text)).split())


def escape(text: Any) -> str:
    """Text as XML content."""
    return plain(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def attribute(text: Any) -> str:
    """Text as a quoted XML attribute."""
    return quoteattr(plain(text))


def width(text: str, size: float) -> float:
    """About how wide a text is in a sans-serif face of a size; rather too wide than too narrow."""
    return sum(_width(character) for character in text) * size


def fitted(text: str, room: float, size: float) -> str:
    """The text, cut with an ellipsis where it would be wider than the room."""
    text = plain(text)
    if len(text) < 2000 and width(text, size) <= room:
        return text
    used, kept = width("…", size), ""
    for character in text[:2000]:
        used += _width(character) * size
        if used > room:
            break
        kept += character
    return kept.rstrip() + "…"


def _width(character: str) -> float:
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Mn", "Me"):
        return 0.0
    if character in _NARROW:
        return 0.36
    if character in "mwMW@%":
        return 0.9
    return 0.7 if character.isupper() else 0.6
