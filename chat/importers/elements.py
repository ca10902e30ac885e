"""The elements of an archive's JSON files, whatever is wrong with some of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from django.utils.translation import gettext_noop

from chat.importers.archive import Archive, Member
from chat.importers.errors import BrokenArchive
from chat.importers.json_bounds import DEPTH, Unreadable
from chat.importers.records import Skipped

Element = Mapping[str, Any]
ENDINGS = (".json", ".jsonl", ".ndjson")
LOOKED_AT = 25  # elements of each file: the first ones may be broken

NOT_AN_OBJECT = gettext_noop("not an object")


def list_json(archive: Archive) -> list[Member]:
    """The files that may hold conversations: of a zip those whose names say JSON, and whatever was
    given by itself."""
    return [
        member
        for member in archive.members
        if member.name == member.source or member.name.lower().endswith(ENDINGS)
    ]


def look(archive: Archive, member: Member) -> Iterator[Element]:
    """The first objects in a file, as far as it can be read."""
    try:
        for element in islice(archive.elements(member, depth=archive.limits.depth), LOOKED_AT):
            if isinstance(element, Mapping):
                yield element
    except BrokenArchive:
        return  # whoever reads the file reports it


def find_members(archive: Archive, is_mine: Callable[[Element], bool]) -> list[Member]:
    """The files that hold elements of a shape, in the order of their names."""
    found = [
        member
        for member in list_json(archive)
        if any(is_mine(element) for element in look(archive, member))
    ]
    return sorted(found, key=lambda member: (member.source, member.name))


def read_elements(
    archive: Archive, members: Sequence[Member], *, depth: int = DEPTH
) -> Iterator[tuple[str, Element] | Skipped]:
    """Each object of these files, with a name for the report, such as "conversations.json, 3". What
    is no object, or nested deeper than `depth`, is skipped, as is the rest of a file that breaks
    off; then the next file is read."""
    for member in members:
        number = 0
        try:
            for number, element in enumerate(archive.elements(member, depth=depth), 1):
                name = f"{member.label}, {number}"
                if isinstance(element, Mapping):
                    yield name, element
                elif isinstance(element, Unreadable):
                    yield Skipped(name, element.reason)
                else:
                    yield Skipped(name, NOT_AN_OBJECT)
        except BrokenArchive as broken:
            yield Skipped(f"{member.label}, {number + 1}", str(broken))
