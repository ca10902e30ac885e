"""The door to Slack needs packages that not every site has."""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from django.conf import settings

from chat.live.runner import runner

if TYPE_CHECKING:
    from chat.sources.slack.door import SlackDoor

PACKAGES = ("aiohttp", "slack_bolt", "slack_sdk")


class CannotOpen(Exception):
    """There can be no connection; `str` says why, and the next step."""


def make_door() -> "SlackDoor":
    """The door, not opened yet. Raises CannotOpen."""
    if not all(map(find_spec, PACKAGES)):
        raise CannotOpen(
            "SLACK_BOT_TOKEN is set, but the packages for Slack are not installed. Run "
            "`.venv/bin/pip install -r requirements/slack.txt` (or `pip install everlong[slack]`), "
            "or unset SLACK_BOT_TOKEN and SLACK_APP_TOKEN."
        )
    from chat.sources.slack.client import is_slack_address
    from chat.sources.slack.door import SlackDoor

    if not is_slack_address(settings.SLACK_API_URL):
        raise CannotOpen(
            "SLACK_API_URL is neither Slack's nor on this machine: the tokens are not sent there. "
            "Unset it."
        )
    return SlackDoor(runner.holder)
