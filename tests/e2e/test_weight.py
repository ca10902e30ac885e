"""What a first visit fetches: few and small things, so that it is quick on a slow line."""

import pytest
from playwright.sync_api import Page

from tests.e2e.conftest import Talk
from tests.shots import ANSWERS
from tests.support.server import EverlongProcess, manage

pytestmark = pytest.mark.e2e

MOST_SCRIPT = 60_000  # bytes on the wire
MOST_IN_ALL = 90_000
MOST_REQUESTS = 12
MAKE_A_FULL_LIST = """
from accounts.models import User
from chat.models import Conversation
Conversation.objects.bulk_create(
    Conversation(owner=User.objects.get(), title=f"Booking number {n}") for n in range(100)
)
"""


def test_a_cold_load_is_light(page: Page, server: EverlongProcess, talk: Talk) -> None:
    manage(server.environment, "shell", "--verbosity", "0", "--command", MAKE_A_FULL_LIST)
    talk(*((f"Question number {number}?", answer) for number, answer in enumerate(ANSWERS, 1)))
    network = page.context.new_cdp_session(page)
    kinds: dict[str, str] = {}
    urls: dict[str, str] = {}
    sizes: dict[str, int] = {}
    network.on("Network.requestWillBeSent", lambda e: kinds.update({e["requestId"]: e["type"]}))
    network.on(
        "Network.requestWillBeSent", lambda e: urls.update({e["requestId"]: e["request"]["url"]})
    )
    network.on(
        "Network.loadingFinished", lambda e: sizes.update({e["requestId"]: e["encodedDataLength"]})
    )
    network.send("Network.enable")
    network.send("Network.setCacheDisabled", {"cacheDisabled": True})
    page.reload(wait_until="networkidle")
    script = sum(size for key, size in sizes.items() if kinds.get(key) == "Script")
    # Not what the page before had asked for, nor the list, if it is told only now of the last turn.
    own = {key: url for key, url in urls.items() if "/sidebar/" not in url}
    fetched = [url for url in own.values() if not url.startswith("data:")]
    assert len(fetched) <= MOST_REQUESTS, fetched
    assert 0 < script <= MOST_SCRIPT
    in_all = sum(size for key, size in sizes.items() if key in own)
    assert in_all <= MOST_IN_ALL, (script, sizes)
