"""A conversation in Everlong's own format, read page by page: as much memory as one page or one
version of a summary, whatever its length. `docs/export_format.md` has the format."""

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from django.db.models import F, QuerySet

from agent.attachments import find_reference
from chat.db.threads import in_db
from chat.importers.everlong_records import (
    FORMAT,
    VERSION,
    ConversationRecord,
    MessageRecord,
    Record,
    ToolSettings,
    TurnRecord,
    VersionRecord,
)
from chat.models import Attachment, Compaction, Conversation, Message, Turn
from chat.queries.readable_files import is_id
from chat.queries.zip_stream import clean_name, encode_value

PAGE = 200  # rows that are in memory at once
FILE_CHUNK = 192 * 1024  # bytes of a file that are read at once; base64 takes them by three

BY = "field_"  # begins the names of fields in statements, where they would clash with columns

Row = dict[str, Any]
Rows = QuerySet[Any, Row]


async def export_json(conversation: Conversation) -> AsyncIterator[str]:
    """All of a conversation as one JSON file, with the bytes of its files in it."""
    async for text in write_document(conversation):
        yield text


async def write_document(
    conversation: Conversation, files: dict[str, Attachment] | None = None
) -> AsyncIterator[str]:
    """All of a conversation. `files`: of an archive, which gets the bytes by itself: the document
    names their paths there, and they are added by id. Then it names its project too."""
    head = describe_conversation(conversation, in_archive=files is not None)
    yield "{\n" + ",\n".join(f" {_dump(key)}: {_dump(value)}" for key, value in head.items())
    wanted: dict[str, None] = {}  # the ids of files, in order
    for name, rows in (
        ("turns", read_pages(_list_turns(conversation))),
        ("messages", read_pages(_list_messages(conversation), "number")),
        ("versions", read_pages(_list_versions(conversation), size=1)),
    ):
        yield f',\n "{name}": ['
        comma = ""
        async for row in rows:
            wanted |= dict.fromkeys(find_file_ids([row.get("blocks"), row.get("calls")]))
            yield f"{comma}\n  {_dump_row(row)}"
            comma = ","
        yield "\n ]"
    yield ',\n "files": ['
    comma = ""
    for file in await in_db(_find_files, conversation.owner_id, list(wanted)):
        yield f"{comma}\n  "
        if files is None:
            async for text in _write_file(file):
                yield text
        else:
            files[str(file.pk)] = file
            yield _dump_row(describe_file(file) | {"path": name_file(file)})
        comma = ","
    yield "\n ]\n}\n"


def describe_conversation(conversation: Conversation, *, in_archive: bool) -> dict[str, Any]:
    """The fields of a document before its lists. Alone, it is of no project."""
    columns: dict[str, Any] = {
        name: getattr(conversation, name)
        for name in ConversationRecord.model_fields
        if name not in ("compaction", "project")
    }
    columns["compaction"] = conversation.compaction_id
    columns["project"] = conversation.project_id if in_archive else None
    columns["tool_settings"] = {
        name: value
        for name, value in conversation.tool_settings.items()
        if name in ToolSettings.model_fields
    }
    return make_header("conversation") | columns


def make_header(kind: str) -> dict[str, Any]:
    """What each file of an export begins with that an import reads."""
    return {"format": FORMAT, "version": VERSION, "kind": kind}


def describe_file(file: Attachment) -> dict[str, Any]:
    """A file without its bytes."""
    media_type = file.original_type or file.media_type
    return {"id": str(file.pk), "name": file.name, "media_type": media_type}


def name_file(file: Attachment) -> str:
    """Where an archive has the bytes of a message's file."""
    return f"files/{file.pk} {clean_name(file.name)}"


def find_file_ids(value: Any) -> Iterator[str]:
    """The ids of the files that any JSON refers to."""
    if isinstance(value, dict):
        if source := find_reference(value):
            yield str(source.get("id"))
        for each in value.values():
            yield from find_file_ids(each)
    elif isinstance(value, list):
        for each in value:
            yield from find_file_ids(each)


def _find_files(owner_id: int, ids: Sequence[str]) -> list[Attachment]:
    """Those of the owner's that there are, in this order."""
    known = Attachment.objects.filter(owner=owner_id, pk__in=[each for each in ids if is_id(each)])
    by_id = {str(file.pk): file for file in known}
    return [by_id[pk] for pk in ids if pk in by_id]


def _list_turns(conversation: Conversation) -> Rows:
    return _as_fields(Turn.objects, conversation, TurnRecord)


def _list_messages(conversation: Conversation) -> Rows:
    columns = {"parent": "parent__number", "shown": "active"}
    return _as_fields(Message.objects, conversation, MessageRecord, **columns)


def _list_versions(conversation: Conversation) -> Rows:
    """All but one that is being written."""
    rows = Compaction.objects.exclude(status=Compaction.Status.RUNNING)
    columns = {"first": "first__number", "through": "through__number"}
    return _as_fields(rows, conversation, VersionRecord, **columns)


def _as_fields(rows: Any, conversation: Conversation, record: type[Record], **columns: str) -> Rows:
    """The fields of a record in order, of a conversation's rows; `columns` have another name."""
    # A slow reader may ask for the next page after the conversation was handed to somebody else.
    owned = rows.filter(conversation=conversation, conversation__owner=conversation.owner_id)
    names = {name: columns.get(name, name) for name in record.model_fields}
    found: Rows = owned.values(**{f"{BY}{name}": F(column) for name, column in names.items()})
    return found


async def read_pages(rows: Rows, key: str = "id", size: int | None = None) -> AsyncIterator[Row]:
    """Rows that have a number by the name of `key`, in its order, so many in memory at once."""
    last = -1
    size = size or PAGE
    while found := await in_db(list, rows.filter(**{f"{key}__gt": last}).order_by(key)[:size]):
        for row in found:
            yield {name.removeprefix(BY): value for name, value in row.items()}
        last = found[-1][key if key in found[-1] else f"{BY}{key}"]


async def read_messages(conversation: Conversation, **only: bool) -> AsyncIterator[Message]:
    """A conversation's messages in the order of their numbers, each with its parent."""
    number = 0
    while rows := await in_db(_read_page, conversation, number, only):
        for row in rows:
            yield row
        number = rows[-1].number


def _read_page(conversation: Conversation, number: int, only: dict[str, bool]) -> list[Message]:
    owned = conversation.messages.filter(conversation__owner=conversation.owner_id)
    rows = owned.filter(number__gt=number, **only).select_related("parent")
    return list(rows.order_by("number")[:PAGE])


async def _write_file(file: Attachment) -> AsyncIterator[str]:
    """A file with its bytes, as far as they are still there."""
    about = _dump_row(describe_file(file))
    try:
        opened = await asyncio.to_thread((file.original or file.file).open)
    except FileNotFoundError:
        yield about
        return
    with opened:
        yield f'{about[:-1]}, "data": "'
        while data := await asyncio.to_thread(opened.read, FILE_CHUNK):
            yield b64encode(data).decode()
    yield '"}'


def _dump_row(row: Row) -> str:
    return "{" + ", ".join(f"{_dump(key)}: {_dump(value)}" for key, value in row.items()) + "}"


def _dump(value: Any) -> str:
    # PostgreSQL gives the keys of a JSON column back in an order of its own.
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=encode_value)
