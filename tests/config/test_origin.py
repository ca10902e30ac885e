"""Which pages may open a socket: those of the site as the browser reached it."""

from typing import Any

import pytest
from channels.testing import WebsocketCommunicator

from config.asgi import application

PATH = "/ws/conversations/00000000-0000-0000-0000-000000000000/"


@pytest.fixture(autouse=True)
def site(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["chat.example.com", "localhost", "[::1]"]
    settings.CSRF_TRUSTED_ORIGINS = []
    settings.SECURE_PROXY_SSL_HEADER = None


async def is_let_in(origin: str | None, host: str, *, path: str = PATH, **headers: str) -> bool:
    given = [(b"host", host.encode())]
    if origin is not None:
        given.append((b"origin", origin.encode()))
    given += [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    communicator = WebsocketCommunicator(application, path, given)
    await communicator.send_input({"type": "websocket.connect"})
    answer = await communicator.receive_output(10)
    communicator.stop()
    return bool(answer["type"] == "websocket.accept")


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://localhost:8000", "localhost:8000"),
        ("http://localhost", "localhost"),
        ("http://localhost:80", "localhost"),
        ("HTTP://LocalHost:8000", "localhost:8000"),
        ("http://localhost:8000", "LOCALHOST:8000"),
        ("http://[::1]:8000", "[::1]:8000"),
        ("http://chat.example.com", "chat.example.com"),
    ],
)
@pytest.mark.django_db(transaction=True)
async def test_the_sites_own_pages_are_let_in(origin: str, host: str) -> None:
    assert await is_let_in(origin, host)


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://localhost:3000", "localhost:8000"),  # another program of this machine
        ("http://localhost", "localhost:8000"),
        ("https://localhost:8000", "localhost:8000"),
        ("http://[::1]:8001", "[::1]:8000"),
        ("http://127.0.0.1:8000", "localhost:8000"),
        ("http://chat.example.com.evil.example", "chat.example.com"),
        ("http://evil.example", "evil.example"),  # not one of ALLOWED_HOSTS
        ("http://localhost:99999", "localhost:8000"),
        ("http://localhost:8000/page", "localhost:8000"),
        ("ftp://localhost:8000", "localhost:8000"),
        ("null", "localhost:8000"),
        ("", "localhost:8000"),
        (None, "localhost:8000"),
    ],
)
async def test_other_pages_are_refused(origin: str | None, host: str) -> None:
    assert not await is_let_in(origin, host)


@pytest.mark.django_db(transaction=True)
async def test_a_proxy_that_ends_https_is_believed_where_the_settings_say_so(settings: Any) -> None:
    page, host = "https://chat.example.com", "chat.example.com"
    assert not await is_let_in(page, host, x_forwarded_proto="https")
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    assert await is_let_in(page, host, x_forwarded_proto="https")
    assert not await is_let_in("http://chat.example.com", host, x_forwarded_proto="https")


@pytest.mark.parametrize("trusted", ["https://chat.example.com:8443", "https://*.example.com:8443"])
@pytest.mark.django_db(transaction=True)
async def test_a_trusted_origin_is_let_in_behind_a_proxy_that_changes_the_host(
    settings: Any, trusted: str
) -> None:
    settings.CSRF_TRUSTED_ORIGINS = [trusted]
    assert await is_let_in("https://chat.example.com:8443", "localhost:8000")
    assert not await is_let_in("https://chat.example.com", "localhost:8000")
    assert not await is_let_in("http://chat.example.com:8443", "localhost:8000")
    assert not await is_let_in("https://chat.example.org:8443", "localhost:8000")


@pytest.mark.django_db(transaction=True)
async def test_an_address_that_does_not_exist_is_refused_and_nothing_breaks() -> None:
    assert not await is_let_in("http://localhost", "localhost", path="/ws/elsewhere/")
