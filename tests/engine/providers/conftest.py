from __future__ import annotations

import asyncio

import pytest

from tests.fake_models import fake_models  # noqa: F401
from workbench.engine.providers import ChatMessage, ModelRequest, ToolSchema
from workbench.engine.providers._http import Timeouts
from workbench.engine.providers.ollama import OllamaProvider
from workbench.engine.providers.openai_compatible import OpenAICompatibleProvider

LOOK_UP = ToolSchema(
    name="look_up",
    description="Look a word up.",
    parameters={
        "type": "object",
        "properties": {"word": {"anyOf": [{"type": "string"}, {"type": "null"}], "minLength": 1}},
    },
)
PROVIDERS = {"native": OllamaProvider, "v1": OpenAICompatibleProvider}


def make_request(prompt="Hello", **more):
    return ModelRequest(
        **{"model": "tiny:latest", "messages": (ChatMessage(role="user", content=prompt),), **more},
    )


def ask(provider, prompt="Hello", *, on_text=None, **more):
    """One call on an event loop of its own, as short as a script makes it."""

    async def call():
        try:
            return await provider.chat(make_request(prompt, **more), on_text)
        finally:
            await provider.close()

    return asyncio.run(call())


def probe(provider):
    async def call():
        try:
            return await provider.probe()
        finally:
            await provider.close()

    return asyncio.run(call())


@pytest.fixture(params=["native", "v1"])
def dialect(request):
    return request.param


@pytest.fixture
def provider(dialect, fake_models):  # noqa: F811
    """The provider of the dialect, at the fake server, with short time-outs."""
    return PROVIDERS[dialect](fake_models.url, timeouts=Timeouts(connect=1, first_token=5, idle=5))
