"""A stand-in of Slack over loopback: the Web API, files and the socket, as far as Everlong uses
them, with Slack's answers and errors. What it was told is what a workspace would show.

    async with SlackServer() as slack:
        slack.add_person("U1", "ada@example.org")
        channel = slack.add_channel("general")
        await slack.write(channel, "U1", "<@UBOT> hello")
"""

import asyncio
import json
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self
from uuid import uuid4

from aiohttp import WSMsgType, web

from tests.support.patience import PATIENCE

BOT, BOT_ID, TEAM = "UBOT", "BBOT", "T1"
BOT_TOKEN, APP_TOKEN = "xoxb-test", "xapp-test"

Body = dict[str, Any]


@dataclass
class Posted:
    """A message of a channel, by whomever. `versions`: all texts that it has had."""

    channel: str
    ts: str
    user: str
    text: str
    thread_ts: str = ""
    metadata: Body = field(default_factory=dict)
    edited: str = ""
    files: list[Body] = field(default_factory=list)
    versions: list[str] = field(default_factory=list)

    def as_json(self) -> Body:
        body: Body = {"type": "message", "ts": self.ts, "user": self.user, "text": self.text}
        if self.user == BOT:
            body |= {"bot_id": BOT_ID, "metadata": self.metadata}
        if self.thread_ts:
            body["thread_ts"] = self.thread_ts
        if self.edited:
            body["edited"] = {"user": self.user, "ts": self.edited}
        if self.files:
            body |= {"files": self.files, "subtype": "file_share"}
        return body


class SlackServer:
    """One workspace. `faults`: by method what it answers instead, one after the other: an error's
    code, "429", "500", or "lost" (done, but the answer does not arrive)."""

    def __init__(self) -> None:
        self.people: dict[str, Body] = {}
        self.channels: dict[str, Body] = {}
        self.messages: dict[str, Posted] = {}
        self.ephemeral: list[Body] = []
        self.responses: list[Body] = []
        self.calls: list[tuple[str, Body]] = []
        self.faults: dict[str, list[str]] = defaultdict(list)
        self.contents: dict[str, bytes] = {}
        self.asked_files: list[str] = []
        self.acknowledged: list[str] = []
        self.revoked = False
        self.away = False
        self._sockets: list[web.WebSocketResponse] = []
        self._clock = int(time.time() * 1_000_000)
        self._news = asyncio.Condition()
        self._site: web.TCPSite | None = None
        self._runner: web.AppRunner | None = None
        self.port = 0

    # --- Running ---

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_route("*", "/api/{method}", self._answer)
        app.router.add_get("/socket", self._socket)
        app.router.add_get("/files/{name}", self._file)
        app.router.add_post("/respond/{id}", self._respond)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        self._site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await self._site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.drop_sockets()
        assert self._runner
        await self._runner.cleanup()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def api_url(self) -> str:
        return f"{self.origin}/api/"

    async def drop_sockets(self) -> None:
        """The line breaks."""
        for socket in self._sockets:
            await socket.close()
        self._sockets = []

    @property
    def open_sockets(self) -> list[web.WebSocketResponse]:
        return [each for each in self._sockets if not each.closed]

    async def is_connected(self) -> None:
        """Wait until a socket is."""
        await self.until(lambda: self.open_sockets)

    async def until(self, holds: Callable[[], Any]) -> Any:
        """Wait until something holds, looking whenever something happens here; what it returned."""
        async with asyncio.timeout(PATIENCE), self._news:
            while not (found := holds()):
                await self._news.wait()
        return found

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()

    # --- A workspace ---

    def add_person(self, user: str, address: str = "", **about: Any) -> None:
        name = about.pop("name", user.lower())
        profile = {"display_name": name, "email": address} if address else {"display_name": name}
        self.people[user] = {
            "id": user,
            "team_id": TEAM,
            "name": name,
            "tz": "Europe/Berlin",
            "is_email_confirmed": True,
            "profile": profile,
        } | about

    def add_channel(self, name: str, *, direct: bool = False, member: bool = True) -> str:
        channel = f"{'D' if direct else 'C'}{name.upper()}"
        self.channels[channel] = {
            "id": channel,
            "name": name,
            "is_im": direct,
            "is_member": member,
        }
        return channel

    def tick(self) -> str:
        """Slack's time, which goes on with each message."""
        self._clock += 1_000_000
        return f"{self._clock // 1_000_000}.{self._clock % 1_000_000:06}"

    def read_thread(self, channel: str, thread_ts: str) -> list[Posted]:
        return [
            each
            for _, each in sorted(self.messages.items())
            if each.channel == channel and thread_ts in (each.ts, each.thread_ts)
        ]

    def of_bot(self, channel: str) -> list[Posted]:
        return [
            each for each in self.messages.values() if (each.channel, each.user) == (channel, BOT)
        ]

    # --- What people do ---

    async def write(
        self,
        channel: str,
        user: str,
        text: str,
        thread_ts: str = "",
        *,
        files: list[Body] | None = None,
        tell: bool = True,
        twice: bool = False,
    ) -> str:
        """Somebody writes; the `ts`. `tell`: whether the socket hears of it; `twice`: doubled."""
        ts = self.tick()
        self.messages[ts] = Posted(channel, ts, user, text, thread_ts, files=files or [])
        event = self.messages[ts].as_json() | {"channel": channel}
        event["channel_type"] = "im" if self.channels[channel]["is_im"] else "channel"
        if tell:
            for _ in range(2 if twice else 1):
                await self.send_event(event)
            if f"<@{BOT}>" in text:
                await self.send_event(event | {"type": "app_mention"})
        return ts

    async def edit(self, ts: str, text: str, *, tell: bool = True) -> None:
        message = self.messages[ts]
        before = message.as_json()
        message.text, message.edited = text, self.tick()
        if tell:
            await self.send_event(
                {
                    "type": "message",
                    "subtype": "message_changed",
                    "channel": message.channel,
                    "message": message.as_json(),
                    "previous_message": before,
                    "ts": message.edited,
                }
            )

    async def delete(self, ts: str, *, tell: bool = True) -> None:
        message = self.messages.pop(ts)
        if tell:
            await self.send_event(
                {
                    "type": "message",
                    "subtype": "message_deleted",
                    "channel": message.channel,
                    "deleted_ts": ts,
                    "previous_message": message.as_json(),
                    "ts": self.tick(),
                }
            )

    async def command(self, channel: str, user: str, text: str, *, twice: bool = False) -> None:
        trigger = self.tick()
        payload = {
            "command": "/everlong",
            "text": text,
            "user_id": user,
            "team_id": TEAM,
            "channel_id": channel,
            "channel_name": self.channels[channel]["name"],
            "trigger_id": trigger,
            "response_url": f"{self.origin}/respond/{trigger}",
        }
        for _ in range(2 if twice else 1):
            await self._send("slash_commands", payload)

    async def send_event(self, event: Body) -> None:
        body = {"type": "event_callback", "team_id": TEAM, "event_id": uuid4().hex, "event": event}
        await self._send("events_api", body)

    async def _send(self, kind: str, payload: Body) -> None:
        """To one of the sockets, and again to the next one if that closes, until it is
        acknowledged."""
        envelope = uuid4().hex
        frame = json.dumps({"type": kind, "envelope_id": envelope, "payload": payload})
        while envelope not in self.acknowledged:
            await self.is_connected()
            socket = self.open_sockets[0]
            await socket.send_str(frame)
            await self.until(partial(self._is_over, socket, envelope))

    def _is_over(self, socket: web.WebSocketResponse, envelope: str) -> bool:
        return socket.closed or envelope in self.acknowledged

    def add_file(self, name: str, data: bytes, **about: Any) -> Body:
        self.contents[name] = data
        address = f"{self.origin}/files/{name}"
        return {
            "id": name,
            "name": name,
            "size": len(data),
            "url_private_download": address,
        } | about

    # --- What the bot asks ---

    async def _answer(self, request: web.Request) -> web.Response:
        method = request.match_info["method"]
        body = await _read_body(request)
        self.calls.append((method, body))
        fault = self.faults[method].pop(0) if self.faults[method] else ""
        if self.away or fault == "500":
            response = web.Response(status=503, text="unavailable")
        elif fault == "429":
            headers = {"Retry-After": "1"}
            response = web.json_response(
                {"ok": False, "error": "ratelimited"}, status=429, headers=headers
            )
        elif self.revoked or not self._has_token(request, method):
            response = web.json_response({"ok": False, "error": "invalid_auth"})
        elif fault and fault != "lost":
            response = web.json_response({"ok": False, "error": fault})
        else:
            response = web.json_response(self._do(method, body))
        await self._tell()
        if fault == "lost":
            assert request.transport
            request.transport.close()
        return response

    @staticmethod
    def _has_token(request: web.Request, method: str) -> bool:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        return token == (APP_TOKEN if method == "apps.connections.open" else BOT_TOKEN)

    def _do(self, method: str, body: Body) -> Body:
        handler: Callable[[Body], Body] = getattr(self, f"_{method.replace('.', '_')}")
        try:
            return {"ok": True, **handler(body)}
        except _Refused as refusal:
            return {"ok": False, "error": str(refusal)}

    def _auth_test(self, body: Body) -> Body:
        return {"team_id": TEAM, "team": "Acme", "user_id": BOT, "bot_id": BOT_ID}

    def _apps_connections_open(self, body: Body) -> Body:
        return {"url": f"ws://127.0.0.1:{self.port}/socket"}

    def _users_info(self, body: Body) -> Body:
        if body["user"] not in self.people:
            raise _Refused("user_not_found")
        return {"user": self.people[body["user"]]}

    def _conversations_info(self, body: Body) -> Body:
        return {"channel": self._find_channel(body)}

    def _conversations_replies(self, body: Body) -> Body:
        self._find_channel(body)
        found = self.read_thread(body["channel"], body["ts"])
        if not found:
            raise _Refused("thread_not_found")
        newer = [m for m in found if m.ts == body["ts"] or m.ts >= body.get("oldest", "")]
        start = int(body.get("cursor") or 0)
        end = start + int(body.get("limit", 100))
        cursor = str(end) if end < len(newer) else ""
        messages = [each.as_json() for each in newer[start:end]]
        return {"messages": messages, "response_metadata": {"next_cursor": cursor}}

    def _conversations_history(self, body: Body) -> Body:
        self._find_channel(body)
        found = [m for m in self.messages.values() if m.channel == body["channel"]]
        return {"messages": [m.as_json() for m in reversed(found) if not m.thread_ts]}

    def _chat_postMessage(self, body: Body) -> Body:
        self._check_text(body)
        if self._find_channel(body).get("is_member") is False:
            raise _Refused("not_in_channel")
        ts = self.tick()
        metadata = body.get("metadata") or {}
        metadata = json.loads(metadata) if isinstance(metadata, str) else metadata
        posted = Posted(body["channel"], ts, BOT, body["text"], body.get("thread_ts", ""), metadata)
        posted.versions.append(posted.text)
        self.messages[ts] = posted
        return {"channel": posted.channel, "ts": ts, "message": posted.as_json()}

    def _chat_update(self, body: Body) -> Body:
        self._check_text(body)
        posted = self.messages.get(body["ts"])
        if posted is None:
            raise _Refused("message_not_found")
        if posted.user != BOT:
            raise _Refused("cant_update_message")
        posted.text = body["text"]
        posted.versions.append(posted.text)
        return {"channel": posted.channel, "ts": posted.ts, "text": posted.text}

    def _chat_delete(self, body: Body) -> Body:
        if self.messages.pop(body["ts"], None) is None:
            raise _Refused("message_not_found")
        return {"ts": body["ts"]}

    def _chat_postEphemeral(self, body: Body) -> Body:
        self._check_text(body)
        self._find_channel(body)
        self.ephemeral.append(body)
        return {"message_ts": self.tick()}

    def _find_channel(self, body: Body) -> Body:
        if body["channel"] not in self.channels:
            raise _Refused("channel_not_found")
        return self.channels[body["channel"]]

    @staticmethod
    def _check_text(body: Body) -> None:
        if not body.get("text"):
            raise _Refused("no_text")
        if len(body["text"]) > 4_000:
            raise _Refused("msg_too_long")

    # --- Files, answers to commands, the socket ---

    async def _file(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if request.headers.get("Authorization") != f"Bearer {BOT_TOKEN}":
            raise web.HTTPForbidden
        self.asked_files.append(name)
        if name == "elsewhere":
            raise web.HTTPFound(f"{self.origin}/files/secret")
        return web.Response(body=self.contents[name])

    async def _respond(self, request: web.Request) -> web.Response:
        self.responses.append(await request.json())
        await self._tell()
        return web.Response(text="ok")

    async def _socket(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_str(json.dumps({"type": "hello", "num_connections": 1}))
        self._sockets.append(socket)
        await self._tell()
        async for frame in socket:
            if frame.type == WSMsgType.TEXT:
                self.acknowledged.append(json.loads(frame.data)["envelope_id"])
                await self._tell()
        await self._tell()
        return socket


class _Refused(Exception):
    """Slack's error; `str` is its code."""


async def _read_body(request: web.Request) -> Body:
    if request.content_type == "application/json":
        found: Body = await request.json()
        return found
    return {**request.query, **await request.post()}
