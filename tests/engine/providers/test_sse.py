from __future__ import annotations

import asyncio

import pytest

from workbench.engine.providers._sse import event_data

STREAM = (
    b": hello\nevent: message\ndata: one\n\ndata:two\r\nid: 7\r\n\r\n\n\ndata: three\ndata:  lines\n\ndata: [DONE]\n\n"
)
DATA = [b"one", b"two", b"three\n lines", b"[DONE]"]


def read(*chunks: bytes) -> list[bytes]:
    async def come():
        for chunk in chunks:
            yield chunk

    async def gather():
        return [data async for data in event_data(come())]

    return asyncio.run(gather())


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_are_the_same_wherever_the_network_cuts_them(size):
    assert read(*(STREAM[at : at + size] for at in range(0, len(STREAM), size))) == DATA


@pytest.mark.parametrize("end", [b"data: half", b"data: half\n", b"da"])
def test_an_event_that_broke_off_is_none(end):
    assert read(STREAM, end) == DATA


def test_an_answer_without_events_has_none():
    assert read(b"<html>", b"not here</html>\n\n") == []
