"""The real application, spoken to as a browser does: sockets over ASGI, requests over HTTP.

Answers run in the test's own loop, through the real SDK, against a scripted Messages API server.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.test import AsyncClient

from accounts.models import User
from agent.compaction.skills import CHAPTER_HEADINGS, HEADINGS, INSTRUCTIONS
from chat.db.threads import in_db
from chat.models import Compaction, Conversation, Message, Turn
from config.asgi import application
from demo.api.script import Script
from demo.api.server import DemoServer
from demo.mind.models import ListedModel
from tests.chat.factories import MODEL, make_conversation
from tests.support.patience import PATIENCE

Event = dict[str, Any]

ORIGIN = b"http://testserver"
WINDOW, MAX_OUTPUT = 16_000, 1_024  # tokens; compaction starts at 12,800
MODELS = [ListedModel(id=MODEL, window=WINDOW, max_output=MAX_OUTPUT)]
# Its bullets share words with the long texts, or they would be marked as unverified.
SUMMARY, KEPT_SUMMARY = (  # as the model writes it, and what becomes a chapter
    "\n".join(
        f"## {heading}\n\n"
        + (
            "None.\n"
            if heading == INSTRUCTIONS
            else f"- Lorem ipsum of {heading.lower()} [#1 #2]\n"
        )
        for heading in headings
    )
    for headings in (HEADINGS, CHAPTER_HEADINGS)
)
# No compaction begins in the background, and a failed summary is a failed compaction: the tests
# count requests.
PLAIN = {"prepare_ratio": 0, "idle_ratio": 0, "extract_on_failure": False}


def long_text(number: int) -> str:
    """A message of about 1,430 tokens by Everlong's estimate, 1,250 by the server's count."""
    return f"Message {number}: " + "lorem ipsum " * 415


def units(text: str) -> bytes:
    """Text as UTF-16 code units, in which the protocol counts."""
    return text.encode("utf-16-le", "surrogatepass")


def joined(data: bytes) -> str:
    return data.decode("utf-16-le", "surrogatepass")


@dataclass
class Written:
    """An answer as a page puts it together. Every gap and every overlap is an AssertionError."""

    turn_id: int
    message_id: int | None
    seq: int
    through: int = 0
    html: str = ""
    tail: bytes = b""  # UTF-16 from `through` on
    text: bytes | None = b""  # all of it, where its beginning was seen

    @classmethod
    def of_snapshot(cls, turn: Event) -> "Written":
        return cls(
            turn_id=turn["turn_id"],
            message_id=turn["message_id"],
            seq=turn["seq"],
            through=turn["through"],
            html=turn["html"],
            tail=units(turn["text"]),
            text=units(turn["text"]) if turn["through"] == 0 else None,
        )

    def apply(self, frame: Event) -> None:
        assert frame["seq"] == self.seq + 1, f"frame {self.seq + 1} is missing"
        self.seq = frame["seq"]
        if frame["type"] == "turn.delta":
            assert frame["offset"] == self.through + len(self.tail) // 2, "lost or doubled text"
            self.tail += units(frame["text"])
            if self.text is not None:
                self.text += units(frame["text"])
        else:
            finished = frame["through"] - self.through
            assert 0 < finished <= len(self.tail) // 2
            self.tail = self.tail[2 * finished :]
            self.through = frame["through"]
            self.html += frame["html"]


@dataclass
class Tab:
    """One browser tab on a conversation: its socket, all frames so far, and the live answer."""

    communicator: WebsocketCommunicator
    patience: float = PATIENCE
    frames: list[Event] = field(default_factory=list)
    answer: Written | None = None
    closed_with: int | None = None
    _cursor: int = 0
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _reader: asyncio.Task[None] | None = None

    async def connect(self) -> "Tab":
        """Raises ConnectionRefusedError where the handshake is refused."""
        await self.communicator.send_input({"type": "websocket.connect"})
        answer = await asyncio.wait_for(self.communicator.output_queue.get(), PATIENCE)
        if answer["type"] == "websocket.close":
            await self.close()
            raise ConnectionRefusedError(answer.get("code"))
        assert answer["type"] == "websocket.accept"
        self._reader = asyncio.create_task(self._read())
        return self

    async def _read(self) -> None:
        while self.closed_with is None:
            message = await self.communicator.output_queue.get()
            if message["type"] == "websocket.close":
                self.closed_with = message["code"]
            else:
                self._take(json.loads(message["text"]))
            self._news.set()

    def _take(self, frame: Event) -> None:
        self.frames.append(frame)
        kind, turn = frame["type"], frame.get("turn")
        if kind == "snapshot" and turn and turn["kind"] == "answer":
            self.answer = Written.of_snapshot(turn)
        elif kind in ("turn.delta", "turn.block") and self._knows_turn(frame["turn_id"]):
            self._take_piece(frame)

    def _take_piece(self, frame: Event) -> None:
        known = self.answer
        same_turn = known is not None and known.turn_id == frame["turn_id"]
        if same_turn and frame["seq"] <= known.seq:
            return
        if not same_turn or known.message_id != frame["message_id"]:
            begins = frame["type"] == "turn.delta" and frame["offset"] == 0
            assert begins, "the beginning was lost"
            known = Written(frame["turn_id"], frame["message_id"], frame["seq"] - 1)
        known.apply(frame)
        self.answer = known

    def _knows_turn(self, turn_id: int) -> bool:
        """Not where the first snapshot was taken after the turn's end, and a piece was still on its
        way: the page asks for another snapshot then."""
        known = self.answer is not None and self.answer.turn_id == turn_id
        return known or any(frame["turn_id"] == turn_id for frame in self.all("turn.started"))

    async def until(self, met: Callable[[], Any]) -> Any:
        """Wait for a condition on this tab."""

        async def wait() -> Any:
            while not (result := met()):
                if self._reader is not None and self._reader.done():
                    self._reader.result()  # raises what was wrong with a frame
                self._news.clear()
                await self._news.wait()
            return result

        try:
            return await asyncio.wait_for(wait(), self.patience)
        except TimeoutError:
            seen = [frame["type"] for frame in self.frames]
            raise AssertionError(f"waited in vain; frames: {seen}") from None

    async def next(self, type_: str, /, **fields: Any) -> Event:
        """The next frame of a type with these fields, after the one that was last asked for."""

        def found() -> Event | None:
            for index in range(self._cursor, len(self.frames)):
                frame = self.frames[index]
                if frame["type"] == type_ and fields.items() <= frame.items():
                    self._cursor = index + 1
                    return frame
            return None

        frame: Event = await self.until(found)
        return frame

    def all(self, kind: str) -> list[Event]:
        return [frame for frame in self.frames if frame["type"] == kind]

    @property
    def text(self) -> str:
        """What the live answer reads, from its beginning."""
        assert self.answer is not None
        assert self.answer.text is not None, "this tab came too late to know the beginning"
        return joined(self.answer.text)

    def send_raw(self, data: str | bytes) -> None:
        kind = "text" if isinstance(data, str) else "bytes"
        self.communicator.input_queue.put_nowait({"type": "websocket.receive", kind: data})

    def send(self, kind: str, **fields: Any) -> None:
        self.send_raw(json.dumps({"type": kind, **fields}))

    def say(self, text: str, **fields: Any) -> str:
        """Send a message; its client_id."""
        client_id: str = fields.pop("client_id", None) or uuid4().hex
        self.send("message.send", client_id=client_id, text=text, **fields)
        return client_id

    async def sync(self) -> Event:
        """Ask for a snapshot, after which everything sent before has been handled."""
        self._cursor = len(self.frames)
        self.send("sync")
        return await self.next("snapshot")

    async def close(self) -> None:
        """Leave, and see that the consumer neither hangs nor has failed."""
        self.communicator.input_queue.put_nowait({"type": "websocket.disconnect", "code": 1001})
        await asyncio.wait_for(self.communicator.future, PATIENCE)
        if self._reader is not None:
            if self._reader.done():
                self._reader.result()
            self._reader.cancel()


@dataclass
class Chat:
    """A person with a conversation, the site, and the model's server."""

    user: User
    conversation: Conversation
    model: DemoServer
    cookie: str
    tabs: list[Tab] = field(default_factory=list)

    @property
    def script(self) -> Script:
        return self.model.script

    async def open(
        self,
        conversation: Conversation | None = None,
        *,
        cookie: str | None = None,
        origin: bytes | None = ORIGIN,
        snapshot: bool = True,
    ) -> Tab:
        """A tab on the conversation, which has got its first snapshot."""
        pk = (conversation or self.conversation).pk
        headers = [(b"host", b"testserver")]
        if origin is not None:
            headers.append((b"origin", origin))
        if cookie := self.cookie if cookie is None else cookie:
            headers.append((b"cookie", f"{settings.SESSION_COOKIE_NAME}={cookie}".encode()))
        path = f"/ws/conversations/{pk}/"
        tab = await Tab(WebsocketCommunicator(application, path, headers)).connect()
        self.tabs.append(tab)
        if snapshot:
            await tab.next("snapshot")
        return tab

    @property
    def http(self) -> AsyncClient:
        client = AsyncClient()
        client.cookies[settings.SESSION_COOKIE_NAME] = self.cookie
        return client

    async def start(self, messages: int | list[str], **values: Any) -> Conversation:
        """Go on with a new conversation, which has these messages."""

        def make() -> Conversation:
            values.setdefault("title_edited", True)
            values.setdefault("compaction_settings", PLAIN)
            return make_conversation(owner=self.user, messages=messages, **values)

        self.conversation = await in_db(make)
        return self.conversation

    async def retry(self) -> None:
        response = await self.http.post(f"/c/{self.conversation.pk}/retry/")
        assert response.status_code == 204, response.content

    async def compressed(self) -> dict[str, Any]:
        """All that a compaction changes in the conversation but what it cost, and every message,
        byte by byte."""

        def read() -> dict[str, Any]:
            row = Conversation.objects.filter(pk=self.conversation.pk)
            names = (
                "compaction",
                "compressed_context",
                "compressed_at",
                "compressed_through",
                "compactions_completed",
                "compaction_held",
            )
            messages = Message.objects.filter(conversation=self.conversation)
            return row.values(*names).get() | {
                "messages": list(messages.order_by("number").values("number", "blocks", "active"))
            }

        return await in_db(read)

    async def last(self) -> Message:
        """The conversation's newest message."""
        return await in_db(
            Message.objects.filter(conversation=self.conversation, active=True)
            .order_by("-position")
            .select_related("turn")
            .first
        )  # type: ignore[return-value]

    async def eventually(self, met: Callable[[Message], bool]) -> Message:
        """The newest message, once it meets a condition that no event announces."""
        async with asyncio.timeout(PATIENCE):
            while not met(message := await self.last()):  # noqa: ASYNC110 - no event tells
                await asyncio.sleep(0.05)
        return message

    async def compactions(self) -> list[Compaction]:
        return await in_db(
            lambda: list(
                Compaction.objects.filter(conversation=self.conversation)
                .order_by("pk")
                .select_related("through", "previous")
            )
        )

    async def is_idle(self) -> bool:
        """Whether nothing locks the conversation."""

        def idle() -> bool:
            turns = Turn.objects.filter(status__in=Turn.ACTIVE)
            running = Compaction.objects.filter(status=Compaction.Status.RUNNING)
            return not turns.exists() and not running.exists()

        return await in_db(idle)


def sign_in(user: User) -> str:
    """A session's cookie. `Client.force_login` takes four times as long."""
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.create()
    return str(session.session_key)
