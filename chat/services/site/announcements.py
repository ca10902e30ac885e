"""The line that an administrator shows to everybody."""

from chat.models import Announcement
from chat.protocol.broadcast import EVERYBODY, emit
from chat.protocol.events import AnnouncementChanged


def save_announcement(row: Announcement) -> None:
    row.save()
    emit(EVERYBODY, AnnouncementChanged())


def delete_announcement(row: Announcement) -> None:
    row.delete()
    emit(EVERYBODY, AnnouncementChanged())
