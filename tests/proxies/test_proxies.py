"""A site behind the proxies of `examples/`: all that a browser does goes through them."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import aiohttp
import pytest

from demo.api.script import is_title
from demo.api.server import DemoServer
from demo.mind.models import ListedModel
from tests.services.browsers import Person
from tests.support.proxies import Proxy
from tests.support.server import EverlongProcess
from tests.support.services import free_port


@pytest.fixture
def model() -> Iterator[DemoServer]:
    with DemoServer(
        models=[ListedModel(id="test-model", window=16_000, max_output=1_024)]
    ) as server:
        server.script.reply("A title", when=is_title, always=True)
        yield server


@pytest.mark.parametrize(
    ("name", "path", "changed"),
    [
        ("nginx", "", {}),
        ("caddy", "", {}),
        ("nginx", "/chat", {}),
        ("caddy", "/chat", {"handle /chat/*": "handle_path /chat/*"}),  # which takes it away
    ],
)
async def test_the_whole_chat_works_behind_a_proxy(
    name: str,
    path: str,
    changed: dict[str, str],
    tmp_path: Path,
    start_everlong: Callable[..., EverlongProcess],
    supervise: Callable[[Proxy], Proxy],
    model: DemoServer,
) -> None:
    port = free_port()
    public = f"https://127.0.0.1:{port}{path}"
    server = start_everlong(
        PUBLIC_URL=public, ANTHROPIC_BASE_URL=model.base_url, DEFAULT_MODEL="test-model"
    )
    assert f"Create the administrator: {public}/setup/" in server.log
    proxy = supervise(Proxy(name, tmp_path, server.port, port, path, changed)).start()

    async with Person() as ada:
        await ada.post(
            proxy, server.setup_path, username="ada", password1=ada.password, password2=ada.password
        )
        session = next(
            cookie for cookie in ada.http.cookie_jar if cookie.key == server.cookie("session")
        )
        assert session["secure"], "X-Forwarded-Proto was believed"
        assert session["path"] == f"{path}/"

        # All that a page names is there.
        pages = [await ada.get(proxy, each) for each in ("/", "/projects/", "/admin/")]
        named = set(
            re.findall(r'(?:href|src|action|hx-get|data-[a-z-]*url)="(/[^"#]*)', " ".join(pages))
        )
        assert len(named) > 20
        assert not [address for address in named if not address.startswith(f"{path}/")]
        files = [each for each in named if "/static/" in each]
        assert {each.rpartition(".")[2] for each in files} >= {"js", "css", "woff2", "svg"}
        for address in files:
            async with ada.http.get(proxy.url.removesuffix(path) + address) as file:
                assert file.status == 200

        # An answer streams: what is written arrives before it is complete; also on a connection
        # that the proxy has just used for a file.
        gate = model.script.stall("The first half, ", then="and the second.")
        conversation = await ada.begin(proxy, "Tell me")
        assert await ada.upload(proxy, b"A line of notes.\n") == 201
        tab = await ada.open(proxy, conversation)
        await tab.until(lambda: tab.answer and "The first half" in tab.text)
        gate.release()
        finished = await tab.next("turn.finished", status="completed")
        assert "The first half, and the second." in finished["html"]
        await tab.close()

        # Of another site's page, nothing.
        socket = f"{proxy.url}/ws/conversations/{conversation}/"
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await ada.http.ws_connect(socket, origin="https://evil.example")
        assert refused.value.status == 403

        # As large a file as the site takes, and one that is larger.
        assert await ada.upload(proxy, b"A line of notes.\n" * 5_000) == 201
        assert await ada.upload(proxy, b"\0" * 20_000_000) == 422, "refused by the site itself"
        assert await ada.upload(proxy, b"\0" * 21_500_000) == 413

        async with ada.http.get(f"{proxy.url}/healthz") as alive:
            assert await alive.json() == {"status": "ok", "draining": False}
