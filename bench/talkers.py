"""The clients whose chats are measured: `python -m bench.talkers KIND PROVIDER_URL`.

A process of its own that takes orders as JSON lines. `web` talks to Everlong over websockets; the
others ask the provider themselves: `sdk` with the SDK's `create(stream=True)`, `socket` with a bare
socket that looks for nothing but the deltas' stamps.
"""

import asyncio
import json
import re
import resource
import sys
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from anthropic import AsyncAnthropic

from bench.report import percentile

MODEL = "claude-sonnet-5-5"
QUESTION = "How does a tree move water from its roots to its leaves, without any pump?"
PATIENCE_S = 60.0
LATE_MS = 500.0
# As the demo server writes them: nanoseconds and a space, in what may be Markdown.
_STAMP = re.compile(r"(\d{10,}) ")


@dataclass(slots=True)
class Heard:
    """One answer as it arrived; times in ns of the machine's monotonic clock."""

    sent: int
    stamps: list[int] = field(default_factory=list)  # when the provider wrote each delta
    received: list[int] = field(default_factory=list)
    complete: bool = False

    def take(self, text: str) -> None:
        """A text that arrived just now, with stamps in it."""
        stamps = list(map(int, _STAMP.findall(text)))
        self.stamps += stamps
        self.received += [time.monotonic_ns()] * len(stamps)

    @property
    def ttft_ms(self) -> float:
        return (self.received[0] - self.sent) / 1e6

    def late_ms(self) -> list[float]:
        """How long after it was written each delta arrived."""
        return [
            (came - wrote) / 1e6 for wrote, came in zip(self.stamps, self.received, strict=True)
        ]

    def slip_ms(self, interval_ms: float) -> list[float]:
        """How late the provider itself wrote each delta."""
        return [
            (wrote - self.stamps[0]) / 1e6 - index * interval_ms
            for index, wrote in enumerate(self.stamps)
        ]

    def in_time(self, deltas: int, interval_ms: float) -> bool:
        """Whole, in order, and at its end within 500 ms of when an ideal provider, asked at the
        moment of the user's send, would end."""
        if not self.complete or len(self.stamps) != deltas or self.stamps != sorted(self.stamps):
            return False
        due = self.sent + (deltas - 1) * interval_ms * 1e6
        return (self.received[-1] - due) / 1e6 <= LATE_MS


class Talker(ABC):
    """One kind of client."""

    def __init__(self, url: str) -> None:
        self.url = url

    async def connect(self, chats: Sequence[Any]) -> None:
        """Open what is needed before the first question: sockets, where the kind has any."""
        return

    async def close(self) -> None:
        """Close what is open."""
        return

    @abstractmethod
    async def chat(self, index: int) -> Heard:
        """One question and its whole answer."""


class Web(Talker):
    """Everlong's pages: a websocket per conversation, connected beforehand. `url` is unused."""

    _session: aiohttp.ClientSession | None = None

    async def connect(self, chats: Sequence[Any]) -> None:
        """`chats`: [websocket URL, origin, cookie] each."""
        await self.close()
        connector = aiohttp.TCPConnector(limit=0)
        self._session = aiohttp.ClientSession(connector=connector)
        self._sockets = []
        for url, origin, cookie in chats:
            # Deflate is offered, as browsers do.
            socket = await self._session.ws_connect(
                url, headers={"Cookie": cookie, "Origin": origin}, compress=15, autoping=True
            )
            first = json.loads(await socket.receive_str())
            assert first["type"] == "snapshot", first
            self._sockets.append(socket)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def chat(self, index: int) -> Heard:
        socket = self._sockets[index]
        frame = {"type": "message.send", "client_id": uuid.uuid4().hex, "text": QUESTION}
        heard = Heard(time.monotonic_ns())
        await socket.send_str(json.dumps(frame))
        length = 0
        while True:
            event = json.loads(await socket.receive_str())
            if event["type"] == "turn.delta":
                assert event["offset"] == length, f"a gap: {event}"
                length += len(event["text"])
                heard.take(event["text"])
            elif event["type"] == "turn.finished":
                heard.complete = event["status"] == "completed"
            elif event["type"] == "context.usage":  # the last event of a turn
                return heard
            elif event["type"] == "error":
                raise RuntimeError(event["message"])


class Asking(Talker):
    """A client of the provider, with a request such as Everlong's for a first message."""

    body: dict[str, Any] = {
        "model": MODEL,
        "max_tokens": 16_000,
        "system": [{"type": "text", "text": "You are a helpful assistant."}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": QUESTION}]}],
    }


class Sdk(Asking):
    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.client = AsyncAnthropic(api_key="bench", base_url=url, max_retries=0)

    async def close(self) -> None:
        await self.client.close()

    async def chat(self, index: int) -> Heard:
        heard = Heard(time.monotonic_ns())
        async for event in await self.client.messages.create(**self.body, stream=True):
            if event.type == "content_block_delta" and event.delta.type == "text_delta":
                heard.take(event.delta.text)
            elif event.type == "message_stop":
                heard.complete = True
        return heard


class SocketTalker(Asking):
    def __init__(self, url: str) -> None:
        super().__init__(url)
        body = json.dumps(self.body | {"stream": True}).encode()
        head = (
            "POST /v1/messages HTTP/1.1\r\nHost: provider\r\nAuthorization: Bearer bench\r\n"
            "anthropic-version: 2026-10-21\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        self.request = head.encode() + body

    async def chat(self, index: int) -> Heard:
        address = urlsplit(self.url)
        heard = Heard(time.monotonic_ns())
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(self.request)
        rest = b""
        while chunk := await reader.read(65536):
            lines, _, rest = (rest + chunk).rpartition(b"\n")
            heard.take(lines.decode("ascii"))
            heard.complete = heard.complete or b"message_stop" in lines
        writer.close()
        await writer.wait_closed()
        return heard


KINDS: dict[str, type[Talker]] = {
    "web": Web,
    "sdk": Sdk,
    "socket": SocketTalker,
}


async def talk(
    talker: Talker, *, chats: int, spread_s: float, deltas: int, interval_ms: float
) -> dict[str, Any]:
    """Hold chats that begin evenly over `spread_s` seconds (0: one after the other), and say what
    became of them."""
    failures: list[str] = []

    async def one(index: int) -> Heard | None:
        await asyncio.sleep(index * spread_s / chats)
        try:
            return await asyncio.wait_for(talker.chat(index), PATIENCE_S)
        except Exception as error:  # noqa: BLE001 a lost chat is a result
            failures.append(repr(error))
            return None

    before = _cpu_ms()
    if spread_s:
        found = await asyncio.gather(*map(one, range(chats)))
    else:
        found = [await one(index) for index in range(chats)]
    cpu = _cpu_ms() - before
    heard = [each for each in found if each is not None and each.received]
    late = [ms for each in heard for ms in each.late_ms()]
    slip = [ms for each in heard for ms in each.slip_ms(interval_ms)]
    return {
        "ttft_ms": [each.ttft_ms for each in heard],
        "in_time": sum(each.in_time(deltas, interval_ms) for each in heard),
        "late_p50": percentile(late, 0.5),
        "late_p95": percentile(late, 0.95),
        "slip_p95": percentile(slip, 0.95),
        "deltas": len(late),
        "cpu_ms": cpu,
        "failures": failures[:3],
    }


def _cpu_ms() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return 1000 * (usage.ru_utime + usage.ru_stime)


async def answer_orders(talker: Talker) -> None:
    """Answer the orders {"connect": [...]} and {"talk": {...}}, a line each."""
    while line := await asyncio.to_thread(sys.stdin.readline):
        order = json.loads(line)
        answer: dict[str, Any] = {}
        if "connect" in order:
            await talker.connect(order["connect"])
        if "talk" in order:
            answer = await talk(talker, **order["talk"])
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    asyncio.run(answer_orders(KINDS[sys.argv[1]](sys.argv[2])))
