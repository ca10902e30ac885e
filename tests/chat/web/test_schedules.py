"""The dialog of a conversation's scheduled prompts."""

from datetime import timedelta

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from chat.models import Conversation, ScheduledPrompt
from chat.protocol.zone import COOKIE
from tests.chat.factories import make_conversation, make_user

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def talk(user: User) -> Conversation:
    return make_conversation(owner=user, messages=2)


@pytest.fixture
def browser(client: Client, user: User) -> Client:
    client.force_login(user)
    client.cookies[COOKIE] = "Europe/Berlin"
    return client


def url(talk: Conversation, row: ScheduledPrompt | None = None, do: str = "") -> str:
    if row is None:
        return reverse("conversation_schedules", args=[talk.pk])
    return reverse(f"schedule_{do}", args=[talk.pk, row.pk])


def fill(**changed: str) -> dict[str, str]:
    """The form's fields, for tomorrow."""
    day = (timezone.now() + timedelta(days=1)).date().isoformat()
    given = {"text": "What is new?", "repeat": "weekdays", "first_date": day, "time": "09:00"}
    return given | changed


def words(response: HttpResponse, status: int = 200) -> str:
    assert response.status_code == status
    return response.content.decode()


def test_one_is_made_changed_paused_and_deleted(browser: Client, talk: Conversation) -> None:
    assert "by itself" in words(browser.get(url(talk)))
    shown = words(browser.post(url(talk), fill()))
    assert "Monday to Friday, 09:00 (Europe/Berlin)" in shown
    row = ScheduledPrompt.objects.get()
    assert row.next_at
    assert row.next_at.isoformat() in shown

    assert "What is new?" in words(browser.get(url(talk, row, "edit")))
    browser.cookies[COOKIE] = "Asia/Tokyo"
    shown = words(browser.post(url(talk, row, "edit"), fill(repeat="daily", time="10:30")))
    assert "Every day, 10:30 (Europe/Berlin)" in shown, "its own zone"
    assert "Paused" in words(browser.post(url(talk, row, "pause")))
    assert "Paused" not in words(browser.post(url(talk, row, "pause")))
    assert "What is new?" not in words(browser.post(url(talk, row, "delete")))
    assert not ScheduledPrompt.objects.exists()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"text": " "}, "required"),
        ({"time": "nine"}, "valid time"),
        ({"repeat": "hourly"}, "not one of the available choices"),
        ({"repeat": "once", "first_date": "2020-01-01"}, "That time is over."),
        ({"first_date": "0001-01-01"}, "at most ten years away"),
        ({"first_date": "9999-12-31"}, "at most ten years away"),
    ],
)
def test_what_cannot_be_is_said_and_kept(
    browser: Client, talk: Conversation, changed: dict[str, str], said: str
) -> None:
    shown = words(browser.post(url(talk), fill(**changed)), 422)
    assert said in shown
    assert "09:00" in shown or "nine" in shown
    assert not ScheduledPrompt.objects.exists()


def test_why_one_rests_is_said(browser: Client, talk: Conversation) -> None:
    browser.post(url(talk), fill())
    ScheduledPrompt.objects.update(pause="failures", failures=3, problem="The server failed.")
    assert "Rests after 3 failures in a row. The server failed." in words(browser.get(url(talk)))


def test_nobody_elses_is_there(browser: Client, talk: Conversation) -> None:
    other = make_conversation(owner=make_user(), messages=2)
    browser.post(url(talk), fill())
    row = ScheduledPrompt.objects.get()
    assert browser.get(url(other)).status_code == 404
    for do in ("edit", "pause", "delete"):
        assert browser.post(url(other, row, do), fill()).status_code == 404
