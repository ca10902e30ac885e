"""A zip that is sent while it is written: as much memory as what was not taken yet."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import IO, Any, Self
from zipfile import ZIP_DEFLATED, ZipFile

from django.db.models.fields.files import FieldFile

FILE_CHUNK = 256 * 1024  # bytes of a file that are read at once


class ZipStream:
    """Entries are written one after the other; `take` what has been written after each, and once
    more when the block has ended.

    with ZipStream() as archive:
        archive.add_json("about.json", about)
        async for data in archive.write("text.md", texts):
            yield data
    yield archive.take()
    """

    def __init__(self) -> None:
        self._written = _Written()
        self._zip = ZipFile(self._written, "w", ZIP_DEFLATED)
        self._entry: IO[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # Of whoever stops reading, the generator that writes an entry ends after this block.
        if self._entry is not None:
            self._entry.close()
        self._zip.close()

    def take(self) -> bytes:
        """What was written since the last time."""
        return self._written.take()

    def add_json(self, name: str, value: Any) -> None:
        self._zip.writestr(name, as_json(value))

    async def write(self, name: str, texts: AsyncIterator[str]) -> AsyncIterator[bytes]:
        """An entry of texts that come one by one."""
        with self._begin(name) as entry:
            async for text in texts:
                # To compress takes a while: not on the event loop.
                await asyncio.to_thread(entry.write, text.encode("utf-8", "replace"))
                if data := self.take():
                    yield data

    async def write_file(self, name: str, file: FieldFile) -> AsyncIterator[bytes]:
        """An entry of a stored file's bytes; none where the file is gone."""
        try:
            opened = await asyncio.to_thread(file.open)
        except FileNotFoundError:
            return
        with opened, self._begin(name) as entry:
            while data := await asyncio.to_thread(opened.read, FILE_CHUNK):
                await asyncio.to_thread(entry.write, data)
                if written := self.take():
                    yield written

    def _begin(self, name: str) -> IO[bytes]:
        self._entry = self._zip.open(name, "w")
        return self._entry


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, default=encode_value)


def encode_value(value: Any) -> str:
    """What JSON has no form for: moments as ISO 8601 in UTC, all else as text."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return str(value)


def clean_name(name: str) -> str:
    """A file's name without what a zip would take for a folder."""
    return name.replace("/", "_").replace("\\", "_")


class _Written:
    """What a zip writes to where nothing can be sought."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: bytes, /) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """There is nothing to give back."""

    def take(self) -> bytes:
        taken, self._parts = b"".join(self._parts), []
        return taken
