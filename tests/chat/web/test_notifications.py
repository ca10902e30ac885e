"""The browsers that tell a person when an answer has ended: a section of the settings."""

import pytest
from django.test import Client

from accounts import push
from accounts.models import PushSubscription, User
from tests.chat.factories import make_user
from tests.support.push_service import PushBrowser, PushService

pytestmark = pytest.mark.django_db

SECTION = "/settings/notifications/"
IN_DIALOG = {"HX-Request": "true"}
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0"
ELSEWHERE = PushService("https://updates.push.services.mozilla.com")


@pytest.fixture
def ada() -> User:
    return make_user("ada")


@pytest.fixture
def browser(client: Client, ada: User) -> Client:
    client.force_login(ada)
    return client


def test_the_section_says_that_no_browser_tells(browser: Client) -> None:
    page = browser.get(SECTION).content.decode()
    assert "No browser tells you yet" in page
    assert f'data-key="{push.public_key()}"' in page


@pytest.mark.parametrize("headers", [{}, IN_DIALOG])
def test_a_browser_is_turned_on_and_off(
    browser: Client, ada: User, headers: dict[str, str]
) -> None:
    given = PushBrowser(ELSEWHERE).subscription
    sent = {"User-Agent": FIREFOX, "Accept-Language": "en"} | headers
    answer = browser.post(SECTION, given, headers=sent, follow=True)
    assert "Firefox on Linux" in answer.content.decode()
    (stored,) = push.load_told(ada.pk)
    answer = browser.post(f"{SECTION}{stored.pk}/end/", headers=headers, follow=True)
    assert "No browser tells you yet" in answer.content.decode()
    assert not PushSubscription.objects.exists()


def test_an_address_that_no_push_service_has_is_refused(browser: Client) -> None:
    given = PushBrowser(PushService("https://127.0.0.1")).subscription
    answer = browser.post(SECTION, given)
    assert answer.status_code == 422
    assert "PUSH_SERVICES" in answer.content.decode()


def test_above_the_limit_one_has_to_be_turned_off(
    browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(push, "MOST_BROWSERS", 0)
    answer = browser.post(SECTION, PushBrowser(ELSEWHERE).subscription)
    assert answer.status_code == 422
    assert "Turn one of them off first" in answer.content.decode()


def test_a_site_that_cannot_send_says_so(browser: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push, "is_offered", lambda: False)
    page = browser.get(SECTION).content.decode()
    assert "VAPID_PRIVATE_KEY" in page
    assert "data-push" not in page
