"""Server-sent events as chat endpoints send them: the data of each event, in order."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator


async def event_data(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """The data of every complete event; names, ids and comments say nothing here. One that broke off is none."""
    rest, data = b"", list[bytes]()
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            line = line.removesuffix(b"\r")
            if line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))
            elif not line and data:
                yield b"\n".join(data)
                data = []
