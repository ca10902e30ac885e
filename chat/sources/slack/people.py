"""Who somebody of Slack is here: the one whose verified address is theirs."""

import asyncio
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from accounts.models import User
from chat.db.threads import in_db
from chat.queries.slack import find_person
from chat.sources.slack.client import CallRefused, SlackClient

KEPT_SECONDS = 60.0  # what Slack says of a person
MOST_KEPT = 1_000


class Stranger(StrEnum):
    """Why somebody of Slack is nobody here."""

    OUTSIDER = "outsider"  # of another workspace, or a bot
    NO_ADDRESS = "no address"
    UNKNOWN = "unknown"  # no account has the address, as a verified one
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class SlackPerson:
    """Somebody who wrote in Slack. `user`: who it is here; without one, `stranger` says why."""

    id: str
    name: str
    address: str = ""
    zone: str = ""
    user: User | None = None
    stranger: Stranger | None = None


class People:
    """Looks people up; what Slack says is kept for a minute, what we know is asked each time."""

    def __init__(self, client: SlackClient) -> None:
        self._client = client
        self._kept: dict[str, tuple[float, dict[str, Any]]] = {}

    async def find(self, person: str, team: str) -> SlackPerson:
        """Somebody by their id in Slack; `team` is the workspace of the bot. Raises SlackFault."""
        about = await self._ask(person)
        profile = about.get("profile") or {}
        name = profile.get("display_name") or about.get("real_name") or about.get("name") or person
        address = str(profile.get("email") or "")
        known = SlackPerson(person, str(name), address, str(about.get("tz") or ""))
        if stranger := _why_stranger(about, address, team):
            return SlackPerson(person, known.name, address, stranger=stranger)
        user = await in_db(find_person, address)
        if user is None or not user.is_active:
            why = Stranger.DISABLED if user else Stranger.UNKNOWN
            return SlackPerson(person, known.name, address, stranger=why)
        return SlackPerson(person, known.name, address, known.zone, user)

    async def name(self, person: str) -> str:
        """What somebody is called in Slack; their id where that cannot be had."""
        try:
            about = await self._ask(person)
        except CallRefused:
            return person
        profile = about.get("profile") or {}
        return str(profile.get("display_name") or about.get("real_name") or person)

    async def _ask(self, person: str) -> dict[str, Any]:
        now = asyncio.get_running_loop().time()
        if kept := self._kept.get(person):
            if kept[0] > now - KEPT_SECONDS:
                return kept[1]
            del self._kept[person]
        about = (await self._client.call("users.info", user=person)).get("user") or {}
        while len(self._kept) >= MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[person] = (now, about)
        return about


def _why_stranger(about: dict[str, Any], address: str, team: str) -> Stranger | None:
    """By what Slack says alone. In a channel that workspaces share, an address is only as good as
    the other workspace."""
    outside = about.get("is_stranger") or about.get("is_bot") or about.get("deleted")
    if outside or about.get("team_id") != team:
        return Stranger.OUTSIDER
    if not address or about.get("is_email_confirmed") is False:
        return Stranger.NO_ADDRESS
    return None
