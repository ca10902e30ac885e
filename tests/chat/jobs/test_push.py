"""A push for an answer that has ended, as its browser reads it."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from accounts import push
from accounts.models import PushSubscription, User
from chat.jobs.push import push_answer
from chat.models import Conversation
from tests.chat.factories import make_conversation, make_user
from tests.chat.pseudo import LANGUAGE, pseudo_language
from tests.support.push_service import PushBrowser, PushService, run_push_service

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def one_service() -> Iterator[PushService]:
    with run_push_service() as running:
        yield running


@pytest.fixture
def service(one_service: PushService, settings: Any) -> PushService:
    settings.PUSH_SERVICES = [one_service.origin]
    one_service.status, one_service.headers = 201, {}
    one_service.pushed.clear()
    return one_service


@pytest.fixture
def ada() -> User:
    return make_user("ada")


@pytest.fixture
def conversation(ada: User) -> Conversation:
    return make_conversation(ada, messages=["A secret of mine"], title="Tea & cake")


@pytest.fixture
def browser(client: Client, ada: User, service: PushService) -> PushBrowser:
    client.force_login(ada)
    return subscribe(client, ada, service)


def subscribe(client: Client, user: User, service: PushService, name: str = "a") -> PushBrowser:
    browser = PushBrowser(service, name)
    push.subscribe(user, client.session.session_key or "", browser.subscription, language="en")
    return browser


def test_the_browser_reads_the_title_and_nothing_of_what_was_said(
    browser: PushBrowser, service: PushService, conversation: Conversation
) -> None:
    push_answer(conversation.pk, failed=False)
    (pushed,) = service.pushed
    told = browser.read(pushed)
    assert told["title"] == "Tea & cake"
    assert told["body"] == "The answer is ready."
    assert told["url"] == f"/c/{conversation.pk}/"
    assert "secret" not in str(told)
    assert b"Tea" not in pushed.body
    assert pushed.headers["authorization"].startswith("vapid ")
    assert pushed.headers["topic"] == conversation.pk.hex
    assert int(pushed.headers["ttl"]) > 0


def test_a_failed_answer_says_so(
    browser: PushBrowser, service: PushService, conversation: Conversation
) -> None:
    push_answer(conversation.pk, failed=True)
    assert browser.read(service.pushed[0])["body"] == "The answer failed."


def test_a_person_is_told_in_their_language(
    browser: PushBrowser,
    service: PushService,
    conversation: Conversation,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
) -> None:
    settings.LANGUAGES = [("en", "en"), (LANGUAGE, LANGUAGE)]
    User.objects.filter(pk=conversation.owner_id).update(language=LANGUAGE)
    with pseudo_language(monkeypatch):
        push_answer(conversation.pk, failed=False)
    assert browser.read(service.pushed[0])["body"] == "⟦The answer is ready.⟧"


@pytest.mark.parametrize("status", [404, 410, 403])
def test_a_browser_that_the_service_does_not_know_is_told_no_more(
    browser: PushBrowser, service: PushService, conversation: Conversation, status: int
) -> None:
    service.status = status
    push_answer(conversation.pk, failed=False)
    assert not PushSubscription.objects.exists()


@pytest.mark.parametrize("status", [400, 413, 429, 500, 503])
def test_a_service_that_refuses_once_is_asked_again_the_next_time(
    browser: PushBrowser, service: PushService, conversation: Conversation, status: int
) -> None:
    service.status = status
    push_answer(conversation.pk, failed=False)
    service.status = 201
    push_answer(conversation.pk, failed=False)
    assert len(service.pushed) == 2


def test_nobody_is_led_elsewhere(
    browser: PushBrowser, service: PushService, conversation: Conversation
) -> None:
    service.status, service.headers = 307, {"Location": f"{service.origin}/elsewhere"}
    push_answer(conversation.pk, failed=False)
    assert [each.path for each in service.pushed] == ["/push/a"]


def test_one_that_fails_keeps_nothing_from_the_others(
    browser: PushBrowser,
    service: PushService,
    conversation: Conversation,
    client: Client,
    settings: Any,
) -> None:
    dead = PushService("http://127.0.0.1:9")
    settings.PUSH_SERVICES = [service.origin, dead.origin]
    subscribe(client, conversation.owner, dead, "dead")
    push_answer(conversation.pk, failed=False)
    assert [each.path for each in service.pushed] == ["/push/a"]


def test_a_service_that_is_allowed_no_more_is_not_asked(
    browser: PushBrowser, service: PushService, conversation: Conversation, settings: Any
) -> None:
    settings.PUSH_SERVICES = []
    push_answer(conversation.pk, failed=False)
    assert not service.pushed
    assert not PushSubscription.objects.exists()


def test_who_signed_out_is_not_told(
    browser: PushBrowser, service: PushService, conversation: Conversation, client: Client
) -> None:
    client.logout()
    push_answer(conversation.pk, failed=False)
    assert not service.pushed


def test_a_conversation_that_is_gone_is_nobodys(
    browser: PushBrowser, service: PushService, conversation: Conversation
) -> None:
    gone = conversation.pk
    conversation.delete()
    push_answer(gone, failed=False)
    assert not service.pushed
