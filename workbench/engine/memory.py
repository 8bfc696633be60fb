"""What an agent may read besides its inbox: a blackboard that several write on, and passages found by their words.

Both are made anew at each visit from what came before it in the topology, never from what happened to finish first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from workbench.engine.events import MessageData

MAX_PASSAGE = 1_200
MAX_PASSAGES = 20_000
_WORD = re.compile(r"\w+")

Visits = Sequence[tuple[MessageData, ...]]
"""The messages of each visit of a node, in order."""


class Passage(NamedTuple):
    """A piece of a text, with the name of what it comes from."""

    source: str
    text: str


def board_text(written: Mapping[str, Visits]) -> str:
    """A blackboard as its readers see it. First visits come before second ones; within them, nodes in declared order."""
    longest = max((len(visits) for visits in written.values()), default=0)
    lines = [
        f"{node}: {message.text}"
        for number in range(longest)
        for node, visits in written.items()
        if number < len(visits)
        for message in visits[number]
        if message.status == "succeeded"
    ]
    return "\n\n".join(lines)


def passages(texts: Iterable[tuple[str, str]]) -> list[Passage]:
    """Texts in pieces of whole paragraphs, where a paragraph is not too long itself."""
    found: list[Passage] = []
    for source, text in texts:
        for piece in _pieces(text):
            if len(found) == MAX_PASSAGES:
                return found
            found.append(Passage(source, piece))
    return found


def _pieces(text: str) -> Iterator[str]:
    piece = ""
    for paragraph in re.split(r"\n[ \t]*\n", text):
        if piece and len(piece) + len(paragraph) > MAX_PASSAGE:
            yield piece
            piece = ""
        piece = f"{piece}\n\n{paragraph}" if piece else paragraph
        while len(piece) > MAX_PASSAGE:
            yield piece[:MAX_PASSAGE]
            piece = piece[MAX_PASSAGE:]
    if piece.strip():
        yield piece


def best_passages(found: Sequence[Passage], query: str, top_k: int) -> list[Passage]:
    """The passages that share most with the query (BM25), best first; those that share nothing are left out."""
    corpus = [_words(f"{passage.source} {passage.text}") for passage in found]
    asked = list(dict.fromkeys(_words(query)))
    if not any(corpus) or not asked:
        return []
    import bm25s  # loads SciPy: only where something is searched

    index = bm25s.BM25()
    index.index(corpus, show_progress=False)
    scores = index.get_scores(asked)
    ranked = sorted(range(len(found)), key=lambda place: (-float(scores[place]), place))
    return [found[place] for place in ranked[:top_k] if scores[place] > 0]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
