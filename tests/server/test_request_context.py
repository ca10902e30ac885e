"""What belongs to a request does not stay with its connection, nor go to whoever waited for it."""

import asyncio
from contextvars import ContextVar
from typing import Any

import pytest

from server.daphne import Server, Socket
from server.http import Answering, LimitedRequest
from server.limits import Uploads

secret: ContextVar[str | None] = ContextVar("secret", default=None)


class Protocol:
    """What daphne makes for a request. Its `heard` are what it could see when it was called."""

    def __init__(self) -> None:
        self.heard: list[str | None] = []

    def handle_reply(self, message: dict[str, Any]) -> None:
        self.heard.append(secret.get())


class Connection(Answering, Protocol):
    pass


@pytest.fixture
def seen() -> list[str | None]:
    """What each request could see when it began."""
    return []


@pytest.fixture
def server(seen: list[str | None]) -> Server:
    async def application(scope: Any, receive: Any, send: Any) -> None:
        seen.append(secret.get())
        secret.set(scope["path"])
        await send({"type": "http.response.body"})

    uploads = Uploads({}, 0, {}, 0, {})
    made = Server(application, "127.0.0.1", 0, uploads, lambda: None)
    made.connections = {}
    return made


async def serve(server: Server, connection: Any, path: str) -> None:
    server.connections[connection] = {}
    server.create_application(connection, {"type": "http", "path": path})
    await server.connections[connection]["application_instance"]


async def test_a_request_begins_without_what_another_one_has_set(
    server: Server, seen: list[str | None]
) -> None:
    secret.set("of the request whose end lets this one begin")
    await serve(server, Connection(), "/first/")
    await asyncio.create_task(serve(server, Connection(), "/second/"))
    assert seen == [None, None]


async def test_a_connection_acts_on_an_answer_outside_its_request(server: Server) -> None:
    assert issubclass(LimitedRequest, Answering)
    assert issubclass(Socket, Answering)
    connection = Connection()
    await serve(server, connection, "/first/")
    assert connection.heard == [None], "what it arranges now would be done in the request's name"
