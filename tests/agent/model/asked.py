"""Servers that keep what they were asked, and answer with bytes of the test's own."""

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from agent.model.client import Client
from agent.wire.proxies import NONE, Proxies

Answers = Callable[[bytes], bytes | Iterator[bytes]]


@dataclass
class Asked:
    """A server's address, and the whole head of each request that came to it."""

    url: str = ""
    heads: list[bytes] = field(default_factory=list)


def answer(
    body: bytes = b"", *, status: str = "200 OK", kind: str = "application/json", more: str = ""
) -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n{more}\r\n"
    return head.encode() + body


def list_nothing(head: bytes) -> bytes:
    """The list of a server that has no models."""
    return answer(b'{"data": []}')


@asynccontextmanager
async def asked(
    answers: Answers = list_nothing, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Asked]:
    """A server on this machine."""
    seen = Asked()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            seen.heads.append(head)
            if length := re.search(rb"(?i)content-length: (\d+)", head):
                await reader.readexactly(int(length[1]))
            made = answers(head)
            for piece in [made] if isinstance(made, bytes) else made:
                writer.write(piece)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has gone
        finally:
            writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls) as listening:
        seen.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        yield seen


@asynccontextmanager
async def connected(
    url: str | None, key: str = "test", proxies: Proxies = NONE
) -> AsyncIterator[Client]:
    client = Client(api_key=key, base_url=url, proxies=proxies, retries=0)
    try:
        yield client
    finally:
        await client.close()
