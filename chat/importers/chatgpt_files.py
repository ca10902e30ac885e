"""The files of ChatGPT's exports. Their bytes lie beside the conversations, in one generation under
`<id>-<name>`, in the other under `<id>.dat` with the names in JSON files."""

import mimetypes
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from chat.importers.archive import Archive, Member
from chat.importers.elements import read_elements
from chat.importers.records import ImportedFile, Skipped

NAMES = "conversation_asset_file_names.json"
LIBRARY = "library_files.json"
BYTES = ".dat"
# `file-service://file-AbC` and `sediment://file_0a1b#page`, which point to a file by its id.
POINTER = re.compile(r"^[a-z-]+://([\w-]+)")
# An id at the beginning of a name, and the name after it.
LEADING_ID = re.compile(r"^(file[-_][A-Za-z0-9]+)(?:-(.+)|\..*)?$")


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What is known of a file besides its bytes."""

    name: str = ""
    media_type: str = ""


class ExportFiles:
    """Finds files by their ids. `problems`: lists of names that cannot be read, without which files
    are called by their ids."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self.problems: list[Skipped] = []
        self._members: dict[str, Member] = {}
        for member in archive.members:
            for identity in _ids_of(member.base_name):
                self._members.setdefault(identity, member)
        self._facts: dict[str, FileFacts] = {}
        self._made: dict[tuple[str, str], str] = {}
        for element in self._read_list(archive.find(LIBRARY)):
            self._add_library(element)
        for names in self._read_list(archive.find(NAMES)):
            for key, name in names.items():
                if isinstance(name, str):
                    identity = key.removesuffix(BYTES)
                    known = self._facts.get(identity, FileFacts())
                    self._facts[identity] = FileFacts(name, known.media_type)

    def _read_list(self, member: Member | None) -> Iterator[Mapping[str, Any]]:
        found = read_elements(self._archive, [member] if member else [])
        for each in found:
            if isinstance(each, Skipped):
                self.problems.append(replace(each, candidate=False))
            else:
                yield each[1]

    def _add_library(self, element: Mapping[str, Any]) -> None:
        identity, name, kind = (
            value if isinstance(value := element.get(key), str) else ""
            for key in ("file_id", "file_name", "mime_type")
        )
        message = element.get("origination_message_id")
        if not identity:
            return
        self._facts[identity] = FileFacts(name, kind)
        if isinstance(message, str) and name:
            self._made[message, name] = identity

    def find(self, identity: str, facts: FileFacts | None = None) -> ImportedFile | None:
        """A file by its id; None where the export does not hold its bytes."""
        member = self._members.get(identity)
        if member is None:
            return None
        known = self._facts.get(identity, FileFacts())
        name = (facts and facts.name) or known.name or _own_name(member)
        media_type = (facts and facts.media_type) or known.media_type
        media_type = media_type or mimetypes.guess_type(name)[0] or ""
        return ImportedFile(name, member.open, media_type)

    def find_made(self, message: str, name: str) -> ImportedFile | None:
        """A file that a message made and links to by its name alone."""
        identity = self._made.get((message, name))
        return self.find(identity) if identity else None

    def name(self, identity: str, facts: FileFacts | None = None) -> str:
        """What a file is called whose bytes are not there."""
        known = self._facts.get(identity, FileFacts())
        return (facts and facts.name) or known.name or identity


def find_id(pointer: Any) -> str:
    """The id in a pointer; "" where there is none."""
    found = POINTER.match(pointer) if isinstance(pointer, str) else None
    return found[1] if found else ""


def _ids_of(name: str) -> Iterator[str]:
    if name.endswith(BYTES):
        yield name.removesuffix(BYTES)
    if found := LEADING_ID.match(name):
        yield found[1]


def _own_name(member: Member) -> str:
    """A member's name without the id before it."""
    found = LEADING_ID.match(member.base_name)
    return (found and found[2]) or member.base_name
