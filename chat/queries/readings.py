"""Who has read what of a person's, as that person sees it."""

from typing import Any
from uuid import UUID

from accounts.models import User
from accounts.own_data import list_readings
from chat.models import Conversation, Project

MOST = 100  # of them that a page shows


def list_newest_readings(user: User) -> list[dict[str, Any]]:
    """The newest of `list_readings`, each with the `row` that was read, None where that is gone or
    is a fact. Two statements more, whatever was read."""
    readings = list_readings(user, MOST)
    for kind, rows in (
        ("conversation", Conversation.objects.of(user).only("title")),
        ("project", Project.objects.of(user).only("name")),
    ):
        of_kind = [reading for reading in readings if reading["kind"] == kind]
        found = rows.in_bulk([UUID(reading["id"]) for reading in of_kind])
        for reading in of_kind:
            reading["row"] = found.get(UUID(reading["id"]))
    return readings
