from __future__ import annotations

import asyncio

from tests.engine.support import asks, planned, topology
from workbench.engine.context import RunInput
from workbench.engine.events import MemoryJournal
from workbench.engine.providers import Providers
from workbench.engine.providers._fake_models import FakeModels, Says
from workbench.engine.providers.ollama import OllamaProvider
from workbench.engine.providers.scripted import Script, ScriptedProvider
from workbench.engine.runtime import run_plan
from workbench.engine.under_way import UnderWay

DOCUMENT = topology({"writer": asks()})


def seen(provider, tmp_path, look) -> list:
    """What `look` makes of the calls under way, until it makes something of them; then the run goes on to its end."""
    under_way, found = UnderWay(), []

    async def run() -> None:
        plan = planned(DOCUMENT)
        going = asyncio.ensure_future(
            run_plan(
                plan,
                RunInput(problem="Go"),
                providers=Providers({}, only=provider),
                journal=MemoryJournal(),
                workspace=tmp_path,
                stop=asyncio.Event(),
                run_id="1",
                under_way=under_way,
            )
        )
        while not found and not going.done():
            await asyncio.sleep(0.01)
            found.extend(it for call in under_way.calls() if (it := look(call)))
        result = await going
        assert result.status == "succeeded", result.reason
        await provider.close()

    asyncio.run(run())
    assert under_way.calls() == []
    return found


def test_a_call_under_way_says_where_it_is_and_what_was_said_so_far(tmp_path):
    provider = ScriptedProvider(Script.model_validate({"default": "one two three four", "latency_s": 0.4}))

    def half(call):
        said = call.heard.said() if call.heard else None
        return (call.node, call.visit, call.kind, call.phase, said.text) if said and said.text else None

    assert seen(provider, tmp_path, half) == [("writer", 1, "model", "answer", "one")]


def test_what_streams_from_a_server_is_heard_before_it_is_whole_and_silence_is_timed(tmp_path):
    with FakeModels() as fake:
        fake.replies.append(Says("<think>Hm</think>Well, yes", cuts=6, wait_between=0.15))
        heard: list = []

        def look(call):
            said = call.heard.said() if call.heard else None
            if said and (said.text or said.reasoning):
                heard.append(said)
            return said if said and said.text and said.quiet > 0.05 else None

        (said,) = seen(OllamaProvider(fake.url), tmp_path, look)

    assert "Well, yes".startswith(said.text)
    assert any(it.reasoning and not it.text for it in heard), "reasoning is heard, and apart"
