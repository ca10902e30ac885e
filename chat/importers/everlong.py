"""Exports of Everlong itself, of this site or another one: conversations with all that belongs to
them, projects, what is remembered. `docs/export_format.md` has the format.

A document is read from its beginning in passes, one element in memory at a time: a conversation of
100,000 messages takes no more than its largest one.
"""

import binascii
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from typing import Any, BinaryIO, ClassVar, TypeVar

import ijson  # type: ignore[import-untyped]
from django.utils.translation import gettext, gettext_noop
from ijson.common import ObjectBuilder  # type: ignore[import-untyped]
from pydantic import ValidationError

from agent.errors import ErrorCode
from agent.messages import sanitise
from chat.errors import RefusalCode, Refused
from chat.importers.archive import Archive, Member
from chat.importers.elements import list_json
from chat.importers.errors import BrokenArchive
from chat.importers.everlong_checks import check_json
from chat.importers.everlong_records import (
    FORMAT,
    VERSION,
    ConversationRecord,
    FileRecord,
    MemoryRecord,
    MessageRecord,
    PreferencesRecord,
    ProjectRecord,
    Record,
    TurnRecord,
    VersionRecord,
)
from chat.importers.json_bounds import Bounded
from chat.importers.records import Skipped

NAME, LABEL = FORMAT, "Everlong"
# What Everlong 0.1 wrote: no name of a format, and of each message less.
VERSION_0 = {"id", "title", "model", "system_prompt", "created_at", "summary"}
LISTS = ("turns", "messages", "versions", "files")
NEWER = gettext_noop(
    "It is of a newer Everlong, whose exports this one does not read. Have this one updated, and "
    "import it again."
)

AnyRecord = TypeVar("AnyRecord", bound=Record)
Element = Mapping[str, Any]


def is_mine(element: Element) -> bool:
    return element.get("format") == FORMAT or element.keys() >= VERSION_0


def begins(archive: Archive, member: Member) -> bool:
    """Whether a file is one of ours, by the fields before its lists."""
    try:
        return is_mine(read_head(archive, member))
    except BrokenArchive:
        return False


def read(archive: Archive) -> Iterator[Any]:
    """Projects, then conversations, then what is remembered and chosen: each of these may name one
    of those before it."""
    found: dict[str, list[Any]] = {kind: [] for kind in ("skipped", *KINDS, "facts")}
    for member in list_json(archive):
        try:
            head = read_head(archive, member)
        except BrokenArchive as broken:
            found["skipped"].append(Skipped(member.label, str(broken)))
            continue
        if not is_mine(head) or "contents" in head:
            continue  # of another kind, or the table of what an archive holds
        version = head.get("version", 0)
        if type(version) is not int or version > VERSION:
            found["skipped"].append(Skipped(member.label, gettext(NEWER)))
        elif document := KINDS.get(str(head.get("kind", "conversation"))):
            found[document.KIND].append(document(archive, member, head))
            if document is OwnProject:
                found["facts"].append(OwnFacts(archive, member, head))
    for documents in found.values():
        yield from documents


def read_head(archive: Archive, member: Member) -> dict[str, Any]:
    """The fields of a document before its first list; {} where it holds something else. Raises
    BrokenArchive."""
    name, head = next(_read_document(archive, member, ()), ("", {}))
    return head if name == "" else {}


def _read_document(
    archive: Archive, member: Member, wanted: Sequence[str]
) -> Iterator[tuple[str, Any]]:
    """First "" with the fields before the lists, then each element of the lists that are `wanted`,
    with the list's name, in the order of the file."""
    with member.open() as stream:
        source = Bounded(stream, archive.limits, member.label)
        head: dict[str, Any] = {}
        told = False
        # What follows the document, as in a file of lines, is another one, of whatever kind.
        events = iter(ijson.parse(source, use_float=True, multiple_values=True))
        try:
            for prefix, event, value in events:
                if not prefix and event == "start_array":
                    return  # another program's
                if not prefix and event == "end_map":
                    break
                if prefix in LISTS and event == "start_array" and not told:
                    told = True
                    yield "", sanitise(check_json(head))
                name, _, rest = prefix.partition(".")
                if name in LISTS and rest == "item" and event.startswith("start_"):
                    source.begin_element()
                    if name in wanted:
                        yield name, sanitise(check_json(_build(events, prefix, event, value)))
                elif not told and prefix and event != "map_key":
                    head[prefix] = _build(events, prefix, event, value)
            if not told:
                yield "", sanitise(check_json(head))
        except (ijson.JSONError, UnicodeError, ValueError) as error:
            words = gettext("{name} cannot be read: {reason}. Export it again.")
            raise BrokenArchive(words.format(name=member.label, reason=error)) from error


def _build(events: Iterator[tuple[str, str, Any]], prefix: str, event: str, value: Any) -> Any:
    """The value that begins with an event; takes its other events."""
    builder = ObjectBuilder()
    builder.event(event, value)
    if event.startswith("start_"):
        end = event.replace("start", "end")
        for current, event, value in events:
            builder.event(event, value)
            if (current, event) == (prefix, end):
                break
    return builder.value


def check(kind: type[AnyRecord], element: Any, what: str) -> AnyRecord:
    """An element as the record that it has to be; Refused, naming what is wrong with it."""
    try:
        return kind.model_validate(element)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        words = gettext(
            "It is not as Everlong exports it, {what}: {place} {reason}. Export it again, and do "
            "not change the file."
        )
        reason = first["msg"].removeprefix("Value error, ")
        raise Refused(
            RefusalCode.FILE_DAMAGED, words.format(what=what, place=place, reason=reason)
        ) from error


# --- What a document holds ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OwnDocument:
    """A file of our own. `head`: the fields before its lists, not checked yet."""

    archive: Archive
    member: Member
    head: Element

    KIND: ClassVar[str]

    @property
    def origin(self) -> str:
        """Its id there, for a report."""
        return str(self.head.get("id", ""))[:200]

    @property
    def title(self) -> str:
        """Its name, for a report."""
        return str(self.head.get("title") or self.head.get("name") or self.member.label)[:200]

    def _read_lists(self, *names: str) -> Iterator[tuple[str, Any]]:
        """The elements of its lists, each with the list's name. Refused where it breaks off: other
        documents of the archive may be whole."""
        try:
            yield from islice(_read_document(self.archive, self.member, names), 1, None)
        except BrokenArchive as broken:
            raise Refused(RefusalCode.FILE_DAMAGED, str(broken)) from broken

    def open_file(self, file: FileRecord) -> BinaryIO | None:
        """The bytes of a file that it names; None where the archive does not have them."""
        if file.data is not None:
            try:
                return BytesIO(b64decode(file.data, validate=True))
            except binascii.Error:
                return None
        members = (each for each in self.archive.members if each.name == file.path)
        near = (each for each in members if each.source == self.member.source)
        found = next(near, None)
        return found.open() if found else None


class OwnConversation(OwnDocument):
    """A conversation with everything in it."""

    KIND = "conversation"

    def load(self) -> ConversationRecord:
        """Refused where it is not as it has to be; so are all of these."""
        return check(ConversationRecord, self.head, gettext("the conversation"))

    def read_files(self) -> Iterator[FileRecord]:
        for _, element in self._read_lists("files"):
            yield check(FileRecord, element, gettext("a file"))

    def read_history(self) -> Iterator[TurnRecord | MessageRecord | VersionRecord]:
        """Turns, messages in the order of their numbers, versions of the summary."""
        depths: dict[Any, int] = {}
        for name, element in self._read_lists("turns", "messages", "versions"):
            if name == "turns":
                yield check(TurnRecord, element, gettext("a turn"))
            elif name == "messages":
                if "format" not in self.head:
                    yield from _complete(element, depths)
                yield check(MessageRecord, element, _name_message(element))
            else:
                yield check(VersionRecord, element, gettext("a version of the summary"))


class OwnProject(OwnDocument):
    """A project with its files."""

    KIND = "project"

    def load(self) -> ProjectRecord:
        files = [element for _, element in self._read_lists("files")]
        return check(ProjectRecord, {**self.head, "files": files}, gettext("the project"))


class OwnFacts(OwnProject):
    """The facts of a project, which name the conversations where they were said."""


class OwnMemory(OwnDocument):
    """What is remembered of a person, and proposals that wait."""

    KIND = "memory"

    def load(self) -> MemoryRecord:
        return check(MemoryRecord, self.head, gettext("what is remembered"))


class OwnAccount(OwnDocument):
    """Of an account what a person has chosen for all of their pages."""

    KIND = "person"

    def load(self) -> PreferencesRecord:
        return check(PreferencesRecord, self.head.get("settings"), gettext("the settings"))


KINDS: dict[str, type[OwnDocument]] = {
    each.KIND: each for each in (OwnProject, OwnConversation, OwnMemory, OwnAccount)
}


def _name_message(element: Any) -> str:
    number = element.get("number") if isinstance(element, dict) else None
    return gettext("message {number}").format(number=str(number)[:12])


def _complete(message: Any, depths: dict[Any, int]) -> Iterator[TurnRecord]:
    """Fill in what version 0 did not write of a message: its position, and the turn that says how
    an answer ended which did not end well."""
    if not isinstance(message, dict):
        return
    number = message.get("number")
    message["position"] = depths[number] = depths.get(message.get("parent"), -1) + 1
    status = message.get("status")
    if status in ("interrupted", "failed") and type(number) is int:
        message["turn"] = number
        error = {"code": ErrorCode.IMPORTED.value, "message": ""}
        turn = {
            "id": number,
            "kind": "answer",
            "status": "failed" if status == "failed" else "cancelled",
            "error": error if status == "failed" else None,
            "created_at": message.get("created_at"),
            "finished_at": message.get("created_at"),
        }
        yield check(TurnRecord, turn, _name_message(message))
