"""A browser of Chainlit, as far as a chat needs one: `python -m bench.peers.chainlit_talker URL`
takes the orders of `bench.talkers`. Socket.IO over a websocket, connected beforehand."""

import asyncio
import json
import sys
import time
import uuid
from collections.abc import Sequence
from typing import Any

import aiohttp

from bench.talkers import QUESTION, Heard, Talker, answer_orders

# Engine.IO's packets, and within its messages Socket.IO's.
PING, PONG = "2", "3"
CONNECT, EVENT = "40", "42"


class ChainlitTalker(Talker):
    """A websocket per session; `url` is unused."""

    _session: aiohttp.ClientSession | None = None

    async def connect(self, chats: Sequence[Any]) -> None:
        """`chats`: the server's URL for each."""
        await self.close()
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        self._sockets = [await self._open(self._session, url) for url in chats]

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def _open(self, session: aiohttp.ClientSession, url: str) -> Any:
        address = url.replace("http", "ws", 1) + "/ws/socket.io/?EIO=4&transport=websocket"
        socket = await session.ws_connect(address, headers={"Origin": url}, compress=15)
        assert (await socket.receive_str()).startswith("0"), "no Engine.IO"
        who = {"clientType": "webapp", "sessionId": str(uuid.uuid4()), "userEnv": "{}"}
        await socket.send_str(CONNECT + json.dumps(who))
        assert (await socket.receive_str()).startswith(CONNECT), "no session"
        await socket.send_str(EVENT + json.dumps(["connection_successful"]))
        while (await self._receive(socket))[0] != "clear_call_fn":
            pass
        return socket

    async def chat(self, index: int) -> Heard:
        socket = self._sockets[index]
        message = {
            "id": str(uuid.uuid4()),
            "threadId": "",
            "name": "User",
            "type": "user_message",
            "output": QUESTION,
            "createdAt": "2026-11-23T12:00:00.000Z",
        }
        frame = json.dumps(["client_message", {"message": message, "fileReferences": []}])
        heard = Heard(time.monotonic_ns())
        await socket.send_str(EVENT + frame)
        while True:
            name, data = await self._receive(socket)
            if name == "stream_start":
                heard.take(data["output"])
            elif name == "stream_token":
                heard.take(data["token"])
            elif name == "new_message" and data["isError"]:
                raise RuntimeError(data["output"])
            elif name == "task_end":
                heard.complete = True
                return heard

    @staticmethod
    async def _receive(socket: Any) -> tuple[str, Any]:
        """The next event: its name and its data."""
        while True:
            packet = await socket.receive_str()
            if packet == PING:
                await socket.send_str(PONG)
            elif packet.startswith(EVENT):
                name, *data = json.loads(packet.removeprefix(EVENT))
                return name, data[0] if data else None


if __name__ == "__main__":
    asyncio.run(answer_orders(ChainlitTalker(sys.argv[1])))
