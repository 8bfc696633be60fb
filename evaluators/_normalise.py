"""The normalisation that `exact_match` and `contains` share."""

from __future__ import annotations

import string
import unicodedata


def normalised(
    text: str, *, nfkc: bool, casefold: bool, strip_punctuation: bool, collapse_whitespace: bool, strip: bool
) -> str:
    """The text after the chosen steps, always in this order, so that one step's result is the next one's input."""
    if nfkc:
        text = unicodedata.normalize("NFKC", text)
    if casefold:
        text = text.casefold()
    if strip_punctuation:
        text = without_outer_punctuation(text)
    if collapse_whitespace:
        text = collapsed(text)
    return text.strip() if strip else text


def without_outer_punctuation(text: str) -> str:
    """The text without punctuation at both ends, and without the white space that stands among it."""
    start, end = 0, len(text)
    while start < end and is_outer(text[start]):
        start += 1
    while end > start and is_outer(text[end - 1]):
        end -= 1
    return text[start:end]


def is_outer(character: str) -> bool:
    """Punctuation in any script, the ASCII marks that Unicode counts as symbols, or white space."""
    return character.isspace() or character in string.punctuation or unicodedata.category(character).startswith("P")


def collapsed(text: str) -> str:
    """Each run of white space as one space, also at the ends."""
    inner = " ".join(text.split())
    if not inner:
        return " " if text else ""
    return (" " if text[0].isspace() else "") + inner + (" " if text[-1].isspace() else "")
