"""A person at a site that fails: keeps everything that the site has told them, over all sockets."""

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import aiohttp

from demo.api.recording import RecordedRequest
from tests.chat.sockets import Event, joined
from tests.faults.sites import PATIENCE
from tests.services.browsers import Person, RemoteTab
from tests.support.server import EverlongProcess

RECONNECT_SECONDS = 0.2


@dataclass
class Told:
    """What the site has told about one conversation.

    `acknowledged` are texts that were stored, `seen` the text of each answer by its message's id
    with the (monotonic) times at which so many characters of it were there.
    """

    acknowledged: list[str] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)
    times: dict[int, list[tuple[float, int]]] = field(default_factory=dict)
    started: set[int] = field(default_factory=set)  # compactions
    errors: list[Event] = field(default_factory=list)
    gaps: int = 0
    _sent: dict[str, str] = field(default_factory=dict)  # client id → text

    def sends(self, client_id: str, text: str) -> None:
        self._sent[client_id] = text

    def hears(self, frame: Event) -> None:
        """Note what a frame other than a piece of an answer tells."""
        match frame["type"]:
            case "message.created" if text := self._sent.pop(frame["client_id"] or "", None):
                self.acknowledged.append(text)
            case "CompressionStarted":
                self.started.add(frame["compaction_id"])
            case "snapshot" if frame["compaction"]:
                self.started.add(frame["compaction"]["compaction_id"])
            case "error":
                self.errors.append(frame)

    def reads(self, message_id: int, text: str) -> None:
        if len(text) > len(self.texts.get(message_id, "")):
            self.texts[message_id] = text
            moments = self.times.setdefault(message_id, [])
            moments.append((time.monotonic(), len(text)))

    def read_by(self, message_id: int, moment: float) -> str:
        """What was there of an answer at a moment."""
        lengths = [length for at, length in self.times[message_id] if at <= moment]
        return self.texts[message_id][: max(lengths, default=0)]


@dataclass
class KeepingTab(RemoteTab):
    """A tab that writes down what it is told, and asks for a snapshot where a frame is missing, as
    the page does."""

    conversation: UUID = field(kw_only=True)
    told: Told = field(kw_only=True)
    completed: Counter[int] = field(default_factory=Counter)  # ends of compactions, by id
    _asked: int = 0  # frames that were there when something was last asked for
    compacting: int | None = None  # the compaction that this tab shows as running

    def _take(self, frame: Event) -> None:
        self.told.hears(frame)
        match frame["type"]:
            case "CompressionStarted":
                self.compacting = frame["compaction_id"]
            case "CompressionCompleted":
                self.completed[frame["compaction_id"]] += 1
                self.compacting = None
            case "snapshot":
                self.compacting = frame["compaction"] and frame["compaction"]["compaction_id"]
        try:
            super()._take(frame)
        except AssertionError:
            self.told.gaps += 1
            self.answer = None
            self.send("sync")
            return
        answer = self.answer
        if answer and answer.message_id is not None and answer.text is not None:
            self.told.reads(answer.message_id, joined(answer.text))

    def say(self, text: str, **fields: object) -> str:
        client_id = str(fields.get("client_id") or uuid4().hex)
        self.told.sends(client_id, text)
        return super().say(text, **fields | {"client_id": client_id})

    def send(self, kind: str, **fields: Any) -> None:
        if kind in ("message.send", "compact"):
            self._asked = len(self.frames)
        super().send(kind, **fields)

    async def finished(self, **fields: object) -> Event:
        """The end of the turn that was asked for last: the end of the one before it is drawn after
        it is stored, and may be told only now."""

        def started() -> Event | None:
            since = self.frames[self._asked :]
            return next((frame for frame in since if frame["type"] == "turn.started"), None)

        begun = await self.until(started)
        return await self.next("turn.finished", turn_id=begun["turn_id"], **fields)

    async def reads(self, text: str) -> None:
        """Until the live answer contains a text."""
        await self.until(lambda: self.answer and text in joined(self.answer.text or b""))

    async def vanish(self) -> None:
        """Cut the connection without a word."""
        connection = self.socket._response.connection
        assert connection is not None
        assert connection.transport is not None
        connection.transport.abort()
        await self.until(lambda: self.closed_with)


class Visitor(Person):
    """The site's administrator, with one conversation under observation and maybe others."""

    def __init__(self) -> None:
        super().__init__()
        self.told: dict[UUID, Told] = {}
        self.tabs: list[KeepingTab] = []
        self.retries = 0  # answers that the person asked for again

    async def __aexit__(self, *_: object) -> None:
        for tab in self.tabs:
            await tab.close()
        await super().__aexit__()

    async def begin(self, server: EverlongProcess, text: str) -> UUID:
        conversation = await super().begin(server, text)
        self.told[conversation] = Told(acknowledged=[text])
        return conversation

    async def open(self, server: EverlongProcess, conversation: UUID) -> KeepingTab:
        """A tab on the conversation, which has had its first snapshot. Goes on trying for a while,
        as the page does."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return await self._open(server, conversation)
            except (aiohttp.ClientError, ConnectionError, TimeoutError):
                if time.monotonic() > deadline:
                    raise
            await asyncio.sleep(RECONNECT_SECONDS)

    async def _open(self, server: EverlongProcess, conversation: UUID) -> KeepingTab:
        path = f"/ws/conversations/{conversation}/"
        timeout = aiohttp.ClientWSTimeout(ws_close=2.0)
        socket = await self.http.ws_connect(server.url + path, origin=server.url, timeout=timeout)
        none: Any = None  # there is no ASGI communicator
        told = self.told[conversation]
        tab = KeepingTab(
            none, patience=PATIENCE, socket=socket, conversation=conversation, told=told
        )
        await tab.connect()
        self.tabs.append(tab)
        return tab

    async def retry(self, server: EverlongProcess, conversation: UUID) -> None:
        """Press Retry below an answer that was interrupted."""
        self.retries += 1
        await self.post(server, f"/c/{conversation}/retry/")

    async def opens_within(self, server: EverlongProcess, path: str, seconds: float) -> float:
        """Open a page; the seconds it took. TimeoutError."""
        started = time.monotonic()
        async with asyncio.timeout(seconds):
            await self.get(server, path)
        return time.monotonic() - started


def asked(request: RecordedRequest) -> str:
    """What makes two requests the same question: kind and messages without cache marks."""
    return f"{request.kind} {_plain(request.messages)}"


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items() if k != "cache_control"}
    return [_plain(v) for v in value] if isinstance(value, list) else value
