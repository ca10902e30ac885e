"""The door to Slack needs packages that not every site has."""

from typing import TYPE_CHECKING

from chat.live.runner import runner

if TYPE_CHECKING:
    from chat.sources.slack.door import SlackDoor


class MissingExtra(Exception):
    """The packages are not installed; `str` says how to get them."""


def make_door() -> "SlackDoor":
    """The door, not opened yet. Raises MissingExtra."""
    try:
        from chat.sources.slack.door import SlackDoor
    except ModuleNotFoundError as error:
        if error.name not in ("aiohttp", "slack_bolt", "slack_sdk"):
            raise
        raise MissingExtra(
            "SLACK_BOT_TOKEN is set, but the packages for Slack are not installed. Run "
            "`.venv/bin/pip install -r requirements/slack.txt` (or `pip install everlong[slack]`), "
            "or unset SLACK_BOT_TOKEN and SLACK_APP_TOKEN."
        ) from error
    return SlackDoor(runner.holder)
