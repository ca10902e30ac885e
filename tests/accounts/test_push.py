"""Browsers that are told by push: who is, how long, and at which services."""

from typing import Any

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.test import Client

from accounts import push
from accounts.models import PushSubscription, User
from tests.chat.factories import make_user
from tests.support.push_service import PushBrowser, PushService

pytestmark = pytest.mark.django_db

ELSEWHERE = PushService("https://fcm.googleapis.com")


@pytest.fixture
def ada() -> User:
    return make_user("ada")


@pytest.fixture
def browser(client: Client, ada: User) -> Client:
    client.force_login(ada)
    return client


def subscribe(client: Client, user: User, name: str = "a") -> PushSubscription:
    key = client.session.session_key
    assert key
    return push.subscribe(user, key, PushBrowser(ELSEWHERE, name).subscription)


class TestWho:
    def test_a_browser_is_told_that_asked(self, browser: Client, ada: User) -> None:
        assert not push.is_told(ada.pk)
        stored = subscribe(browser, ada)
        assert push.is_told(ada.pk)
        assert push.load_told(ada.pk) == [stored]
        assert not push.is_told(make_user("grace").pk)

    def test_a_browser_is_of_who_asked_last(self, browser: Client, ada: User) -> None:
        subscribe(browser, ada)
        grace = make_user("grace")
        browser.force_login(grace)
        subscribe(browser, grace)
        assert push.load_told(ada.pk) == []
        assert len(push.load_told(grace.pk)) == 1

    def test_there_is_a_limit_that_the_same_browser_does_not_count_against(
        self, browser: Client, ada: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(push, "MOST_BROWSERS", 2)
        subscribe(browser, ada, "a")
        subscribe(browser, ada, "b")
        subscribe(browser, ada, "b")
        with pytest.raises(push.TooManyBrowsers):
            subscribe(browser, ada, "c")

    def test_only_ones_own_is_ended(self, browser: Client, ada: User) -> None:
        stored = subscribe(browser, ada)
        assert not push.unsubscribe(make_user("grace").pk, stored.pk)
        assert push.unsubscribe(ada.pk, stored.pk)
        assert not push.is_told(ada.pk)


class TestHowLong:
    def test_signing_out_ends_it_in_that_browser(self, browser: Client, ada: User) -> None:
        other = Client()
        other.force_login(ada)
        kept = subscribe(other, ada, "b")
        subscribe(browser, ada, "a")
        browser.logout()
        assert [*PushSubscription.objects.all()] == [kept]

    def test_disabling_a_person_ends_it(self, browser: Client, ada: User) -> None:
        subscribe(browser, ada)
        ada.is_active = False
        ada.save()
        assert not PushSubscription.objects.exists()

    def test_a_new_password_ends_it(self, browser: Client, ada: User) -> None:
        subscribe(browser, ada)
        ada.set_password("another one of mine")
        ada.save()
        assert push.load_told(ada.pk) == []
        assert not PushSubscription.objects.exists()

    def test_an_expired_session_ends_it(self, browser: Client, ada: User) -> None:
        subscribe(browser, ada)
        Session.objects.update(expire_date="2020-01-01T00:00:00Z")
        assert push.load_told(ada.pk) == []

    def test_another_session_of_the_same_browser_does_not_end_it(
        self, browser: Client, ada: User
    ) -> None:
        subscribe(browser, ada)
        SessionStore().delete("unknown")
        assert len(push.load_told(ada.pk)) == 1


class TestServices:
    @pytest.mark.parametrize(
        "endpoint",
        [
            "https://fcm.googleapis.com/fcm/send/abc:def",
            "https://updates.push.services.mozilla.com/wpush/v2/abc",
            "https://wns2-par02p.notify.windows.com/w/?token=abc",
            "https://web.push.apple.com/abc",
            "https://fcm.googleapis.com:443/abc",
        ],
    )
    def test_those_of_browsers_are_asked(self, endpoint: str) -> None:
        assert push.is_push_service(endpoint)

    @pytest.mark.parametrize(
        "endpoint",
        [
            "",
            "http://fcm.googleapis.com/abc",
            "https://fcm.googleapis.com:8443/abc",
            "https://user@fcm.googleapis.com/abc",
            "https://fcm.googleapis.com.example.org/abc",
            "https://evilfcm.googleapis.com/abc",
            "https://push.apple.com.example.org/",
            "https://127.0.0.1/abc",
            "https://[::1]/abc",
            "https://169.254.169.254/latest/meta-data",
            "https://localhost/abc",
            "https://example.org@127.0.0.1/",
            "https://[broken",
            "https://fcm.googleapis.com:port/",
            "file:///etc/passwd",
        ],
    )
    def test_no_other_address_is_asked(self, endpoint: str, browser: Client, ada: User) -> None:
        given = PushBrowser(ELSEWHERE).subscription | {"endpoint": endpoint}
        with pytest.raises(push.Unusable):
            push.subscribe(ada, "key", given)

    @pytest.mark.parametrize(
        "wrong",
        [
            {"p256dh": ""},
            {"p256dh": "AAAA"},
            {"p256dh": "é"},
            {"p256dh": "BA" + "A" * 85},  # no point of the curve
            {"endpoint": "https://fcm.googleapis.com/\x00"},
            {"endpoint": "https://fcm.googleapis.com\t/a"},
            {"endpoint": "https://elsewhere.example\\.push.apple.com/a"},
            {"auth": "A" * 90},
            {"endpoint": f"https://fcm.googleapis.com/{'a' * 1000}"},
        ],
    )
    def test_what_no_browser_gives_is_refused(self, wrong: dict[str, str], ada: User) -> None:
        given: dict[str, Any] = PushBrowser(ELSEWHERE).subscription | wrong
        with pytest.raises(push.Unusable):
            push.subscribe(ada, "key", given)

    def test_keys_are_stored_as_they_are_meant(self, ada: User) -> None:
        given = PushBrowser(ELSEWHERE).subscription
        given |= {"endpoint": "https://fcm.googleapis.com/a"}
        long = {name: f"{given[name]}{'!' * 299}\x00" for name in ("p256dh", "auth")}
        stored = push.subscribe(ada, "key", given | long)
        assert (stored.p256dh, stored.auth) == (given["p256dh"], given["auth"])


class TestTheKey:
    def test_it_is_made_once_and_kept(self, settings: Any, tmp_path: Any) -> None:
        settings.DATA_DIR = tmp_path
        settings.VAPID_PRIVATE_KEY = ""
        for forget in (push.load_key.cache_clear, push.public_key.cache_clear):
            forget()
        try:
            first = push.public_key()
            for forget in (push.load_key.cache_clear, push.public_key.cache_clear):
                forget()
            assert push.public_key() == first
            kept = tmp_path / "vapid_key"
            assert kept.stat().st_mode & 0o777 == 0o600
            assert [*tmp_path.iterdir()] == [kept]
        finally:
            for forget in (push.load_key.cache_clear, push.public_key.cache_clear):
                forget()

    def test_several_processes_need_one_that_they_share(self, settings: Any) -> None:
        settings.SCALED, settings.VAPID_PRIVATE_KEY = True, ""
        assert not push.is_offered()
        settings.VAPID_PRIVATE_KEY = "A" * 43
        assert push.is_offered()
