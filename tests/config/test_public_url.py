"""Sites below a path, and several on one host."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.middleware import BelowPath
from config.public_url import OWN, PublicUrl, read_public_url, tell_apart
from tests.chat.addresses import templates
from tests.services.browsers import Person
from tests.support.server import EverlongProcess
from tests.support.services import free_port

SQLITE = {"NAME": "/srv/everlong.sqlite3"}


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("https://Chat.Example.org/", ("https://chat.example.org", "chat.example.org", 443, "/")),
        ("http://10.0.0.5:8000", ("http://10.0.0.5:8000", "10.0.0.5", 8000, "/")),
        ("https://[fd00::1]:443/a/b/", ("https://[fd00::1]", "[fd00::1]", 443, "/a/b/")),
    ],
)
def test_an_address_is_read_as_browsers_name_it(value: str, read: tuple[Any, ...]) -> None:
    assert read_public_url(value) == PublicUrl(*read)


@pytest.mark.parametrize(
    "value",
    [
        *("example.org", "//example.org", "ws://example.org", "https://", "https:/example.org"),
        *("https://example.org/?a", "https://example.org/#", "https://example.org?", "https://a@b"),
        *("https://example.org:1x", "https://example.org:70000", "https://[::1", "https://a b"),
        *("https://example.org/a//b", "https://example.org/../a", "https://example.org/a%20b"),
        "https://example.org/static",
    ],
)
def test_an_address_that_cannot_work_is_refused(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PUBLIC_URL", value)
    with pytest.raises(ImproperlyConfigured, match="PUBLIC_URL is “.*”; it can be "):
        read_public_url(value)


def test_no_path_of_a_site_begins_as_its_own_addresses_do() -> None:
    """Otherwise nobody could tell whether a proxy has taken the path away."""
    own = {route.split("/")[1] for _, route in templates()} - {""}
    assert own | {"healthz", "readyz", "static", "ws"} == OWN


@pytest.mark.parametrize(
    ("asked", "seen"),
    [
        ("/team/chat/c/1/", "/team/chat/c/1/"),
        ("/c/1/", "/team/chat/c/1/"),
        ("/", "/team/chat/"),
        ("/team/chat", "/team/chat"),
        ("/team/chatter", "/team/chat/team/chatter"),
    ],
)
async def test_a_proxy_may_pass_the_path_on_or_take_it_away(asked: str, seen: str) -> None:
    paths = []

    async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
        paths.append(scope["path"])

    await BelowPath(application, "/team/chat/")({"path": asked}, None, None)
    assert paths == [seen]


def test_two_sites_on_one_host_have_different_cookies() -> None:
    public = [f"https://a{rest}" for rest in ("", ":8443", "/x", "/y", "/x/y", "/x_y")]
    names = [
        *(tell_apart(read_public_url(each), SQLITE, 8000) for each in public),
        tell_apart(None, SQLITE, 8000),
        tell_apart(None, SQLITE, 8001),
        tell_apart(None, {"NAME": "/srv/other.sqlite3"}, 8000),
        tell_apart(None, {"HOST": "db", "NAME": "everlong"}, None),
    ]
    assert len(set(names)) == len(names)


async def test_who_signs_in_at_one_site_stays_signed_in_at_another_of_that_host(
    start_everlong: Callable[..., EverlongProcess],
) -> None:
    port = free_port()
    alone = start_everlong()
    below = start_everlong(PORT=str(port), PUBLIC_URL=f"http://127.0.0.1:{port}/chat")
    async with Person() as ada:
        await ada.set_up(alone)
        await ada.set_up(below)
        for site in (alone, below, alone):
            assert 'id="composer-text"' in await ada.get(site, "/")
            assert await ada.begin(site, "Still here?")
