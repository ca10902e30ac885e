"""The line above every page: who sees it, when, and until they put it away."""

import re
from datetime import date, timedelta

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from chat.models import Announcement
from chat.protocol.broadcast import EVERYBODY
from chat.queries import announcements
from chat.services.site.announcements import delete_announcement, save_announcement
from spending.spans import begin_of
from tests.chat.factories import make_user
from tests.chat.listening import Listener
from tests.chat.sockets import Chat

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.on_both]

TEXT = "Down on <Sunday> from 8:00"
SHOWN = "Down on &lt;Sunday&gt; from 8:00"
HOUR = timedelta(hours=1)
OF_THE_LIST = {"HX-Request": "true", "HX-Trigger": "sidebar-list"}


@pytest.fixture
def browser(client: Client, user: User) -> Client:
    client.force_login(user)
    return client


def announce(text: str = TEXT, **values: object) -> Announcement:
    row = Announcement(text=text, **values)
    save_announcement(row)
    return row


def html(response: HttpResponse) -> str:
    assert response.status_code == 200
    return response.content.decode()


def key_of(page: str) -> str:
    found = re.search(r'name="announcement" value="(\w+)"', page)
    assert found
    return found[1]


def dismiss(browser: Client, page: str, **values: str) -> HttpResponse:
    return browser.post(
        reverse("announcement_dismiss"), {"announcement": key_of(page), "next": "/usage/"} | values
    )


@pytest.mark.parametrize("address", ["/", "/projects/", "/usage/", "/account/password/change/"])
def test_it_stands_above_every_page(browser: Client, address: str) -> None:
    assert SHOWN not in html(browser.get(address))
    announce()
    page = html(browser.get(address))
    assert SHOWN in page
    assert page.index('role="status"') < page.index(SHOWN) < page.index("<main")


def test_it_stands_above_the_administration(client: Client) -> None:
    client.force_login(make_user(admin=True))
    announce()
    assert SHOWN in html(client.get("/admin/"))


def test_who_is_not_signed_in_sees_none(client: Client) -> None:
    announce()
    assert "Sunday" not in html(client.get("/account/login/"))


def test_it_is_shown_from_its_beginning_to_its_end(browser: Client) -> None:
    now = timezone.now()
    row = announce(begins=now - HOUR, ends=now + HOUR)
    assert SHOWN in html(browser.get("/"))
    for begins, ends in (now + HOUR, None), (None, now - HOUR), (now - 2 * HOUR, now - HOUR):
        row.begins, row.ends = begins, ends
        save_announcement(row)
        assert SHOWN not in html(browser.get("/"))


def test_what_is_kept_begins_and_ends_in_time(
    browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = timezone.now()
    announce(begins=now + HOUR, ends=now + 2 * HOUR)
    assert SHOWN not in html(browser.get("/"))
    monkeypatch.setattr(timezone, "now", lambda: now + 1.5 * HOUR)
    assert announcements.find_current() is not None
    monkeypatch.setattr(timezone, "now", lambda: now + 2.5 * HOUR)
    assert announcements.find_current() is None


def test_the_newest_of_several_is_shown(browser: Client) -> None:
    announce("The first one")
    newest = announce("The second one")
    page = html(browser.get("/"))
    assert "The second one" in page
    assert "The first one" not in page
    delete_announcement(newest)
    assert "The first one" in html(browser.get("/"))


def test_a_page_takes_no_statement_for_it_while_it_is_kept(browser: Client) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as captured:
            announcements.find_current()
        return len(captured)

    announcements._kept.forget()
    assert [count(), count(), count()] == [1, 0, 0]
    announce()
    assert [count(), count()] == [1, 0]


def test_dismissed_it_stays_away_in_this_browser(browser: Client, user: User) -> None:
    announce()
    response = dismiss(browser, html(browser.get("/usage/")))
    assert (response.status_code, response["Location"]) == (302, "/usage/")
    assert SHOWN not in html(browser.get("/"))
    other = Client()
    other.force_login(user)
    assert SHOWN in html(other.get("/"))


def test_dismissed_it_comes_back_when_it_says_something_else(browser: Client) -> None:
    row = announce()
    dismiss(browser, html(browser.get("/")))
    row.ends = timezone.now() + HOUR
    save_announcement(row)
    assert SHOWN not in html(browser.get("/"))
    row.level = "warning"
    save_announcement(row)
    page = html(browser.get("/"))
    assert SHOWN in page
    assert "Please note:" in page


def test_the_script_of_the_page_gets_nothing_to_put_in_its_place(browser: Client) -> None:
    announce()
    key = key_of(html(browser.get("/")))
    response = browser.post(
        reverse("announcement_dismiss"), {"announcement": key}, headers={"HX-Request": "true"}
    )
    assert (response.status_code, response.content) == (200, b"")
    cookie = response.cookies[settings.ANNOUNCEMENT_COOKIE_NAME]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"


@pytest.mark.parametrize(
    "page", ["https://evil.example/", "//evil.example/", "javascript:alert(1)"]
)
def test_dismissing_leads_to_no_other_site(browser: Client, page: str) -> None:
    announce()
    assert dismiss(browser, html(browser.get("/")), next=page)["Location"] == "/"


def test_a_list_that_is_fetched_again_brings_a_changed_line(browser: Client) -> None:
    def fetch(key: str = "") -> str:
        return html(browser.get("/sidebar/", {"announcement": key}, headers=OF_THE_LIST))

    assert "hx-swap-oob" not in fetch()
    announce()
    page = fetch()
    assert 'hx-swap-oob="innerHTML:#announcement"' in page
    assert SHOWN in page
    assert "hx-swap-oob" not in fetch(key_of(page))
    save_announcement(Announcement(text="Up again"))
    assert "Up again" in fetch(key_of(page))
    # What searches the list says nothing of the line that the page shows.
    assert "hx-swap-oob" not in html(browser.get("/sidebar/?q=x", headers={"HX-Request": "true"}))


def test_everybody_is_told_of_a_change_after_its_commit(user: User) -> None:
    listener = Listener(EVERYBODY)
    try:
        row = announce()
        delete_announcement(row)
        assert listener.types() == ["announcement.changed"] * 2
    finally:
        listener.close()


async def test_the_sockets_of_all_conversations_hear_of_it(chat: Chat) -> None:
    tab = await chat.open()
    await sync_to_async(announce)()
    await tab.next("announcement.changed")


def test_an_administrator_edits_and_deletes_it(client: Client, user: User) -> None:
    client.force_login(make_user(admin=True))
    values = {"text": TEXT, "level": "info", "begins": "2026-01-01T12:00"}
    assert client.post("/admin/chat/announcement/add/", values).status_code == 302
    row = Announcement.objects.get()
    assert row.begins == begin_of(date(2026, 1, 1)) + 12 * HOUR
    assert SHOWN in html(client.get("/"))
    page = reverse("admin:chat_announcement_change", args=[row.pk])
    assert 'value="2026-01-01T12:00"' in html(client.get(page))
    client.post(page, values | {"text": "Up again"})
    assert "Up again" in html(client.get("/"))
    client.post(reverse("admin:chat_announcement_delete", args=[row.pk]), {"post": "yes"})
    assert "Up again" not in html(client.get("/"))


def test_one_that_ends_before_it_begins_is_refused(client: Client, user: User) -> None:
    client.force_login(make_user(admin=True))
    times = {"begins": "2026-11-26T12:00", "ends": "2026-11-26T11:00"}
    values = {"text": TEXT, "level": "info"} | times
    page = html(client.post("/admin/chat/announcement/add/", values))
    assert "It ends before it begins." in page


def test_an_operator_does_not_edit_it(client: Client, user: User) -> None:
    client.force_login(make_user(staff=True))
    assert client.get("/admin/chat/announcement/add/").status_code == 403
