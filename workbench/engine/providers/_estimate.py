"""How many tokens a text has, roughly: for providers that do not count, and to notice counts that can't be true."""

from __future__ import annotations

from workbench.engine.providers import ModelRequest

CHARACTERS_PER_TOKEN = 4


def estimated_tokens(text: str) -> int:
    """Four characters a token, rounded up. Within a factor of two for European languages, hardly better."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def estimated_input_tokens(request: ModelRequest) -> int:
    """The same over every message of a request."""
    return sum(estimated_tokens(message.content) for message in request.messages)
