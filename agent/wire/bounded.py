"""What a server sends is bounded before it is unpacked: 2 MB can hold 6 GB.

httpx2 would unpack by itself and without a limit, so its responses get a stream of ours. Servers
are asked for plain bytes; one that packs them anyway is understood as far as gzip goes.
"""

import asyncio
import zlib
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import cast

import httpx2

PLAIN = {"accept-encoding": "identity"}
# Of an error that much is read, whatever follows.
MOST_OF_AN_ERROR = 64_000
PIECE = 65_536  # bytes that are unpacked at once

GZIP = ("gzip", "x-gzip", "deflate")


class TooMuch(httpx2.TransportError):
    """A server sent more than anything that it was asked for can have."""


class Packed(httpx2.DecodingError):
    """A server packed what it sent in a way that is not read here."""


async def bound(response: httpx2.Response, most: int) -> None:
    """Give a response a limit of so many bytes; for the `event_hooks` of a client."""
    codings = [
        each.strip().lower()
        for each in response.headers.get_list("content-encoding", split_commas=True)
    ]
    codings = [each for each in codings if each not in ("", "identity")]
    response.headers.pop("content-encoding", None)  # or httpx2 would unpack it again
    response.stream = _Bounded(response, codings, most)


class _Bounded(httpx2.AsyncByteStream):
    """The bytes of a response, unpacked, up to a limit."""

    def __init__(self, response: httpx2.Response, codings: Sequence[str], most: int) -> None:
        self.inner = cast(httpx2.AsyncByteStream, response.stream)
        self._codings = codings
        self._is_error = not response.is_success
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if not self._is_error:
            async for piece in self._limited(self._most):
                yield piece
            return
        with suppress(TooMuch, Packed):  # its beginning says what it is about
            async for piece in self._limited(MOST_OF_AN_ERROR):
                yield piece

    async def _limited(self, most: int) -> AsyncIterator[bytes]:
        come = 0
        async for piece in self._unpacked(most):
            come += len(piece)
            if come > most:
                yield piece[: most - come]
                raise TooMuch(f"more than {most:,} bytes")
            yield piece

    async def _unpacked(self, most: int) -> AsyncIterator[bytes]:
        """Pieces as they come, or what they hold; what holds nothing has the same limit."""
        if not self._codings:
            async for chunk in self.inner:
                yield chunk
            return
        if len(self._codings) > 1 or self._codings[0] not in GZIP:
            raise Packed(f"Content-Encoding: {', '.join(self._codings)[:100]}")
        unpacker, come = zlib.decompressobj(zlib.MAX_WBITS | 32), 0
        async for chunk in self.inner:
            come += len(chunk)
            if come > most:
                raise TooMuch(f"more than {most:,} bytes")
            piece = b""
            while chunk or len(piece) == PIECE:
                try:
                    piece = unpacker.decompress(chunk, PIECE)
                except zlib.error as error:
                    raise httpx2.DecodingError(str(error)) from error
                chunk = unpacker.unconsumed_tail
                yield piece
                await asyncio.sleep(0)  # a chunk may hold a thousand of them

    async def aclose(self) -> None:
        await self.inner.aclose()
