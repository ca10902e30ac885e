"""A person at a site of several processes: real HTTP, real websockets."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, Protocol
from uuid import UUID

import aiohttp

from tests.chat.sockets import PATIENCE, Tab
from tests.support.server import EverlongProcess

PASSWORD = "correct horse battery"


@dataclass
class RemoteTab(Tab):
    """A tab whose socket goes over the network."""

    socket: aiohttp.ClientWebSocketResponse = field(kw_only=True)

    async def connect(self) -> "RemoteTab":
        self._reader = asyncio.create_task(self._read())
        await self.next("snapshot")
        return self

    async def _read(self) -> None:
        async for message in self.socket:
            if message.type == aiohttp.WSMsgType.TEXT:
                self._take(json.loads(message.data))
                self._news.set()
        self.closed_with = self.socket.close_code or 1006
        self._news.set()

    def send_raw(self, data: str | bytes) -> None:
        assert isinstance(data, str)
        self._sending = asyncio.create_task(self.socket.send_str(data))

    async def close(self) -> None:
        await self.socket.close()
        if self._reader is not None:
            await asyncio.wait_for(self._reader, PATIENCE)


class Site(Protocol):
    """A web process, or what stands in front of it."""

    url: str


def find_origin(server: Site) -> str:
    """Its address without a path, as browsers name it."""
    return "/".join(server.url.split("/")[:3])


class Person:
    """The administrator of a new site, signed in at all its processes: cookies know no ports."""

    password = PASSWORD

    def __init__(self) -> None:
        jar = aiohttp.CookieJar(unsafe=True)  # unsafe: of an address that is an IP number
        anyone = aiohttp.TCPConnector(ssl=False)  # the tests' proxies sign for themselves
        self.http = aiohttp.ClientSession(cookie_jar=jar, connector=anyone)

    async def __aenter__(self) -> "Person":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.http.close()

    async def set_up(self, server: EverlongProcess) -> None:
        """Use the one-time link that the server has printed."""
        await self.post(
            server, server.setup_path, username="ada", password1=PASSWORD, password2=PASSWORD
        )

    async def get(self, server: Site, path: str) -> str:
        async with self.http.get(server.url + path) as response:
            assert response.status == 200, await response.text()
            return await response.text()

    async def post(self, server: Site, path: str, **form: str) -> str:
        """Post a form; where it leads to."""
        async with self._posting(server, path, form) as answer:
            assert answer.status in (204, 302), await answer.text()
            return answer.headers.get("location", "")

    async def upload(self, server: Site, data: bytes) -> int:
        """Upload a text file; the status of the answer."""
        file = BytesIO(data)
        file.name = "notes.txt"
        async with self._posting(server, "/attachments/", {"file": file}) as answer:
            return answer.status

    @asynccontextmanager
    async def _posting(
        self, server: Site, path: str, form: Mapping[str, Any]
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        page = await self.get(server, path if path.startswith("/setup/") else "/")
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
        assert token is not None
        fields = {"csrfmiddlewaretoken": token[1], **form}
        several = [
            (name, each)
            for name, value in fields.items()
            for each in (value if isinstance(value, tuple) else [value])
        ]
        async with self.http.post(
            server.url + path,
            data=several,
            headers={"Origin": find_origin(server)},
            allow_redirects=False,
            expect100=True,  # a body that is not wanted is not sent
        ) as answer:
            yield answer

    async def make_token(self, server: Site, *scopes: str) -> str:
        """An access token, as the settings show it."""
        form = {"name": "A program", "scopes": scopes, "days": ""}
        async with self._posting(server, "/settings/tokens/", form) as answer:
            page = await answer.text()
            shown = re.search(r'id="token-new" value="(ev_\w+)"', page)
            assert shown is not None, page
            return shown[1]

    async def begin(self, server: Site, text: str) -> UUID:
        """Start a conversation."""
        return UUID((await self.post(server, "/c/", text=text)).split("/")[-2])

    async def open(self, server: Site, conversation: UUID) -> RemoteTab:
        path = f"/ws/conversations/{conversation}/"
        socket = await self.http.ws_connect(server.url + path, origin=find_origin(server))
        none: Any = None
        return await RemoteTab(none, socket=socket).connect()
