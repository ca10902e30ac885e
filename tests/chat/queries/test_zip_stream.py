"""A zip that is sent while it is written."""

import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from io import BytesIO
from zipfile import ZipFile

from chat.queries.zip_stream import ZipStream

PARTS = [os.urandom(100_000).hex() for _ in range(3)]  # which no compression makes small


async def list_parts() -> AsyncIterator[str]:
    for part in PARTS:
        yield part


async def write_two() -> AsyncGenerator[bytes]:
    with ZipStream() as archive:
        archive.add_json("about.json", {"parts": len(PARTS)})
        async for data in archive.write("text.md", list_parts()):
            yield data
    yield archive.take()


async def test_all_entries_are_read_back() -> None:
    whole = b"".join([data async for data in write_two()])
    with ZipFile(BytesIO(whole)) as archive:
        assert archive.read("about.json") == b'{\n "parts": 3\n}'
        assert archive.read("text.md").decode() == "".join(PARTS)


async def test_it_comes_in_parts_and_who_stops_reading_gets_no_error() -> None:
    async with aclosing(write_two()) as chunks:
        first = await anext(chunks)
    assert 0 < len(first) < len("".join(PARTS)) / 2
