"""The formats that can be imported, and which of them a file is: by the shape of what it holds,
never by its name."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from django.utils.translation import gettext

from chat.importers import (
    chatgpt,
    claude_ai,
    everlong,
    librechat,
    open_webui,
    pi_sessions,
    sharegpt,
)
from chat.importers.archive import Archive, Member
from chat.importers.elements import list_json, look
from chat.importers.errors import BrokenArchive, UnknownFormat
from chat.importers.records import Imported


class Format(Protocol):
    """A module of this room."""

    NAME: str
    """Stored with what was imported: never changed."""
    LABEL: str
    """For people."""

    def is_mine(self, element: Mapping[str, Any], /) -> bool:
        """Whether one element of a file has the format's shape."""

    def read(self, archive: Archive, /) -> Iterator[Imported]:
        """Everything in the archive, one by one; memory for one conversation at a time."""


FORMATS: Sequence[Format] = (
    everlong,
    chatgpt,
    claude_ai,
    open_webui,
    librechat,
    sharegpt,
    pi_sessions,
)


def find_format(archive: Archive) -> Format:
    """The one format of an archive's files. Raises UnknownFormat where there is none or more than
    one, and BrokenArchive where none of them can be read."""
    found = {}
    for member in list_json(archive):
        if one := _find_of(archive, member):
            found[one.NAME] = one
    if len(found) == 1:
        return next(iter(found.values()))
    if found:
        raise UnknownFormat(
            gettext(
                "These files are of different programs ({labels}). Import those of one program at "
                "a time."
            ).format(labels=", ".join(one.LABEL for one in found.values()))
        )
    raise _explain(archive)


def _find_of(archive: Archive, member: Member) -> Format | None:
    """The format of one file: that of its first element that has one. A file of our own is one
    element, however large it is, and says at its beginning what it is."""
    if everlong.begins(archive, member):
        return everlong
    for element in look(archive, member):
        for one in FORMATS:
            if one.is_mine(element):
                return one
    return None


def _explain(archive: Archive) -> UnknownFormat | BrokenArchive:
    """Why there is no format."""
    names = [member.base_name.lower() for member in archive.members]
    if any(name.endswith(".zip") for name in names):
        return UnknownFormat(
            gettext("The zip holds other zips. Unpack it, and give the zips in it all at once.")
        )
    if any(name.startswith("manifest-") for name in names):
        return UnknownFormat(
            gettext(
                "The file is a list of links. Open them while they work, and give the zips that "
                "they lead to, all at once."
            )
        )
    for member in list_json(archive):
        try:
            next(archive.elements(member), None)
        except BrokenArchive as broken:
            return broken
    return UnknownFormat(
        gettext(
            "This is no export that is known here. What can be imported: {labels}. Give the zip "
            "or the JSON file as you got it."
        ).format(labels=", ".join(one.LABEL for one in FORMATS))
    )
