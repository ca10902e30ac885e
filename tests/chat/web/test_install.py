"""The site as an app of the device: its manifest, its service worker, what other apps share."""

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.staticfiles import finders
from django.test import Client
from PIL import Image

from tests.chat.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser(client: Client) -> Client:
    client.force_login(make_user("ada"))
    return client


def share(client: Client, **fields: str) -> str:
    return client.get(f"/share-target/?{urlencode(fields)}").content.decode()


class TestTheManifest:
    def test_it_names_the_site_to_whoever_asks(self, client: Client) -> None:
        answer = client.get("/manifest.webmanifest")
        assert answer["Content-Type"] == "application/manifest+json"
        assert "public" in answer["Cache-Control"]
        assert "Set-Cookie" not in answer
        described = answer.json()
        assert (described["id"], described["start_url"], described["scope"]) == ("/", "/", "/")
        assert described["display"] == "standalone"
        assert described["share_target"]["action"] == "/share-target/"

    def test_each_icon_is_as_large_as_it_says(self, client: Client) -> None:
        icons: list[dict[str, Any]] = client.get("/manifest.webmanifest").json()["icons"]
        assert {icon["purpose"] for icon in icons} == {"any", "maskable"}
        drawn = [icon for icon in icons if icon["type"] == "image/png"]
        assert {icon["sizes"] for icon in drawn} == {"192x192", "512x512"}
        for icon in icons:
            found = finders.find(icon["src"].removeprefix("/static/"))
            assert found, icon
            if icon in drawn:
                with Image.open(found) as image:
                    assert icon["sizes"] == f"{image.width}x{image.height}"

    def test_each_page_leads_to_it(self, client: Client) -> None:
        page = client.get("/account/login/").content.decode()
        assert '<link rel="manifest" href="/manifest.webmanifest">' in page
        assert "apple-touch-icon" in page


class TestTheServiceWorker:
    def test_it_stands_above_all_pages(self, client: Client) -> None:
        answer = client.get("/service-worker.js")
        assert answer["Content-Type"].startswith("text/javascript")
        assert answer["Cache-Control"] == "no-cache"
        assert "script-src 'self'" in answer["Content-Security-Policy"]  # of workers too

    def test_it_keeps_nothing(self) -> None:
        found = finders.find("js/service_worker.js")
        assert found
        script = Path(found).read_text()
        assert "caches" not in script
        assert '"fetch"' not in script


class TestSharing:
    def test_what_is_shared_stands_in_the_box_of_a_new_chat(self, browser: Client) -> None:
        page = share(browser, title="Tea", text="Read this", url="https://tea.example/a?b=1&c=2")
        assert ">Tea\n\nRead this\n\nhttps://tea.example/a?b=1&amp;c=2</textarea>" in page
        assert 'data-shared="/"' in page

    def test_an_address_that_the_text_names_is_not_said_twice(self, browser: Client) -> None:
        page = share(browser, text="See https://tea.example", url="https://tea.example")
        assert ">See https://tea.example</textarea>" in page

    @pytest.mark.parametrize("text", ["</textarea><script>alert(1)</script>", "a\0b"])
    def test_a_hostile_text_is_text(self, browser: Client, text: str) -> None:
        page = share(browser, text=text)
        assert "<script>alert" not in page
        assert "\0" not in page

    def test_who_is_not_signed_in_loses_nothing(self, client: Client) -> None:
        answer = client.get("/share-target/?text=Tea")
        assert answer.status_code == 302
        assert "text%3DTea" in answer["Location"]

    def test_nothing_is_sent(self, browser: Client) -> None:
        share(browser, text="Tea")
        assert "/c/" not in browser.get("/sidebar/").content.decode()

    def test_without_anything_it_is_a_new_chat(self, browser: Client) -> None:
        assert "></textarea>" in share(browser)
