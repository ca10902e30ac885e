"""The tokens go to Slack only, and the door is opened only with both."""

import sys
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from chat.sources.slack.client import is_slack_address
from chat.sources.slack.extra import CannotOpen, make_door


@pytest.mark.parametrize(
    ("address", "is_slacks"),
    [
        ("https://files.slack.com/files-pri/T1-F1/download/a.txt", True),
        ("wss://wss-primary.slack.com/link/?ticket=x", True),
        ("https://slack.com/api/", True),
        ("http://files.slack.com/a.txt", False),
        ("ws://wss-primary.slack.com/link/", False),
        ("https://files.slack.com.example.org/a.txt", False),
        ("https://notslack.com/a.txt", False),
        ("https://slack.com@example.org/a.txt", False),
        ("https://127.0.0.1/a.txt", False),
        ("file:///etc/passwd", False),
        ("https://[slack.com/a.txt", False),
        ("https://slack.com:x/a.txt", False),
        ("", False),
    ],
)
def test_what_is_at_slack_is_told_from_what_is_not(
    address: str, is_slacks: bool, settings: Any
) -> None:
    settings.SLACK_API_URL = "https://slack.com/api/"
    assert is_slack_address(address) == is_slacks


def test_a_stand_in_is_reached_at_its_own_address_only(settings: Any) -> None:
    settings.SLACK_API_URL = "http://127.0.0.1:8123/api/"
    assert is_slack_address("ws://127.0.0.1:8123/socket")
    assert not is_slack_address("ws://127.0.0.1:8124/socket")
    assert not is_slack_address("https://files.slack.com/a.txt")


def test_tokens_are_not_sent_to_another_api(settings: Any) -> None:
    settings.SLACK_API_URL = "https://slack.example.org/api/"
    with pytest.raises(CannotOpen, match="SLACK_API_URL"):
        make_door()


def test_without_its_packages_the_door_says_how_to_get_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "slack_bolt", None)
    with pytest.raises(CannotOpen, match=r"requirements/slack\.txt"):
        make_door()


@pytest.mark.parametrize("scaled", [True, False])
def test_a_process_for_slack_alone_says_what_it_needs(settings: Any, scaled: bool) -> None:
    settings.SLACK, settings.SCALED = not scaled, scaled
    with pytest.raises(CommandError, match="SLACK_BOT_TOKEN" if scaled else "REDIS_URL"):
        call_command("slack", stdout=StringIO())
