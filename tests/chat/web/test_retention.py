"""Whose conversation is about to be deleted for its age is told so, in the list and in it."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from chat.models import Conversation
from tests.chat.factories import make_conversation, make_user

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("days", "values", "told"),
    [
        (20, {}, False),
        (24, {}, True),
        (100, {}, True),
        (24, {"pinned": True}, False),
        (24, {"held": True}, False),
    ],
)
def test_an_owner_is_told_some_days_before(
    client: Client, settings: Settings, days: int, values: dict[str, bool], told: bool
) -> None:
    settings.RETENTION_DAYS = 30
    row = make_conversation(make_user(), messages=2)
    moment = timezone.now() - timedelta(days=days)
    Conversation.objects.filter(pk=row.pk).update(updated_at=moment, **values)
    client.force_login(row.owner)
    page = client.get(row.get_absolute_url()).content.decode()
    assert ("Pin it to keep it" in page) == told
    listed = client.get(reverse("sidebar")).content.decode()
    assert ("until <time" in listed) == told


def test_without_a_rule_nobody_is_told(client: Client) -> None:
    row = make_conversation(make_user(), messages=2)
    Conversation.objects.update(updated_at=timezone.now() - timedelta(days=9_999))
    client.force_login(row.owner)
    assert "Pin it to keep it" not in client.get(row.get_absolute_url()).content.decode()
