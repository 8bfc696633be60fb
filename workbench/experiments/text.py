"""Text that came from models and people, made fit for a column and for a page; nothing is dropped in silence."""

from __future__ import annotations

import re

SURROGATES = re.compile("[\ud800-\udfff]")
CONTROLS = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n\r"} | {127: "\u2421"}


def storable(text: str) -> str:
    """The text as a column can hold it: NUL becomes `␀`, half a surrogate pair `�`. The journal keeps the original."""
    return SURROGATES.sub("\ufffd", text.replace("\0", "\u2400"))


def visible(text: str) -> str:
    """The text as a page shows it: control characters (terminal codes, NUL) as their pictures."""
    return SURROGATES.sub("\ufffd", text).translate(CONTROLS)
