"""All that the site has of a person as one zip, written while it is read: as much memory as one
page of messages or one version of a summary, however much there is."""

import json
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.text import slugify

from accounts.models import User
from accounts.own_data import describe_account, list_readings
from chat.db.threads import in_db
from chat.models import (
    Attachment,
    Compaction,
    Conversation,
    Memory,
    MemoryProposal,
    Project,
    SlackThread,
)
from chat.queries.project_export import name_entry, write_conversation, write_project
from chat.queries.zip_stream import ZipStream, as_json, clean_name
from spending.models import ModelCall

# Of the whole; counted up when something in it is moved or changes its meaning.
FORMAT, VERSION = "everlong", 1
CONTENTS = {
    "account.json": "the account, its settings, and the ways in, without secrets",
    "memory.json": "what is remembered of the person, and proposals that wait",
    "readings.json": "who has read something of it in the administration, and why",
    "model_calls.jsonl": "each request to a model that the person pays for; dollars as text",
    "files.json": "the files of messages: name, type, and which messages have them",
    "files/": "these files, each by its id, as they were uploaded",
    "projects/": "each project with its instructions, files and facts",
    "conversations/": "each conversation: .md is the shown branch, .json all branches with the "
    "blocks as the API has them, .details.json the settings and all versions of the summary",
}
PAGE = 200  # rows that are in memory at once

# Of a conversation, beside what its JSON has.
DETAILS = (
    "project_id",
    "title_edited",
    "pinned",
    "archived",
    "temporary",
    "held",
    "updated_at",
    "compaction_id",
    "compressed_at",
    "compaction_enabled",
    "context_budget",
    "keep_first_message",
    "compaction_settings",
    "tool_settings",
    "reply_settings",
    "memory_text",
    "project_parts",
)
VERSION_FIELDS = (
    "id",
    "previous",
    "first__number",
    "through__number",
    "trigger",
    "origin",
    "focus",
    "method",
    "model",
    "status",
    "reverted",
    "chapters",
    "summary",
    "audit",
    "tokens_before",
    "tokens_after",
    "error",
    "created_at",
    "finished_at",
)


async def export_account(user: User) -> AsyncIterator[bytes]:
    """`everlong.json` says what the others are."""
    with ZipStream() as archive:
        about = {
            "format": FORMAT,
            "version": VERSION,
            "kind": "account",
            "exported_at": timezone.now().isoformat(),
            "contents": CONTENTS,
        }
        archive.add_json("everlong.json", about)
        archive.add_json("account.json", await in_db(describe_account, user))
        archive.add_json("memory.json", await in_db(_read_memory, user))
        archive.add_json("readings.json", await in_db(list_readings, user))
        async for data in archive.write("model_calls.jsonl", _list_calls(user)):
            yield data
        async for data in _write_files(archive, user):
            yield data
        projects = Project.objects.of(user).order_by("created_at")
        for number, project in enumerate(await in_db(list, projects), 1):
            folder = f"projects/{number:02} {slugify(project.name)[:60]}".strip() + "/"
            async for data in write_project(archive, project, folder):
                yield data
        rows = Conversation.objects.of(user).order_by("created_at")
        for number, pk in enumerate(await in_db(list, rows.values_list("pk", flat=True)), 1):
            async for data in _write_conversation(archive, number, user, pk):
                yield data
    yield archive.take()


def _read_memory(user: User) -> dict[str, Any]:
    facts = Memory.objects.filter(owner=user, project=None).order_by("pk")
    proposals = MemoryProposal.objects.filter(owner=user).order_by("pk")
    about = ("text", "conversation", "message_number", "created_at")
    return {
        "facts": list(facts.values(*about, "source", "updated_at")),
        "proposals": list(proposals.values(*about, "kind", "project")),
    }


async def _list_calls(user: User) -> AsyncIterator[str]:
    names = [field.attname for field in ModelCall._meta.concrete_fields if field.name != "user"]
    async for row in _by_pages(ModelCall.objects.filter(user=user).values(*names)):
        yield json.dumps(row, default=str) + "\n"


async def _write_files(archive: ZipStream, user: User) -> AsyncIterator[bytes]:
    """The files of messages and those not sent; a project has its own in its folder."""
    files = await in_db(list, Attachment.objects.filter(owner=user, project=None))
    archive.add_json("files.json", await in_db(_describe_files, user, files))
    for file in files:
        async for data in archive.write_file(_name_file(file), file.original or file.file):
            yield data


def _describe_files(user: User, files: Sequence[Attachment]) -> list[dict[str, Any]]:
    messages = defaultdict(list)
    links = Attachment.messages.through.objects.filter(
        attachment__owner=user, attachment__project=None
    )
    columns = ("attachment", "message__conversation", "message__number")
    for pk, conversation, number in links.order_by("pk").values_list(*columns):
        messages[pk].append({"conversation": conversation, "number": number})
    return [
        {
            "id": file.pk,
            "name": file.name,
            "file": _name_file(file),
            "media_type": file.original_type or file.media_type,
            "created_at": file.created_at,
            "messages": messages[file.pk],
        }
        for file in files
    ]


def _name_file(file: Attachment) -> str:
    return f"files/{file.pk} {clean_name(file.name)}"


async def _write_conversation(
    archive: ZipStream, number: int, user: User, pk: UUID
) -> AsyncIterator[bytes]:
    conversation = await in_db(Conversation.objects.of(user).filter(pk=pk).first)
    if conversation is None:  # deleted meanwhile, or handed to somebody else
        return
    stem = name_entry(number, conversation)
    async for data in write_conversation(archive, stem, conversation):
        yield data
    async for data in archive.write(f"{stem}.details.json", _list_details(conversation)):
        yield data


async def _list_details(conversation: Conversation) -> AsyncIterator[str]:
    details = await in_db(_read_details, conversation)
    yield as_json(details)[:-2] + ',\n "summaries": ['
    versions = Compaction.objects.filter(conversation=conversation).values(*VERSION_FIELDS)
    comma = ""
    async for row in _by_pages(versions, page=1):
        yield f"{comma}\n{as_json(row)}"
        comma = ","
    yield "\n ]\n}\n"


def _read_details(conversation: Conversation) -> dict[str, Any]:
    details = {name: getattr(conversation, name) for name in DETAILS}
    shares = conversation.shares.values("id", "through__number", "created_at", "revoked_at")
    threads = SlackThread.objects.filter(conversation=conversation)
    slack = threads.values("team", "channel", "channel_name", "ts", "linked_at").first()
    return details | {"shares": list(shares), "slack": slack}


async def _by_pages(
    rows: QuerySet[Any, dict[str, Any]], page: int = PAGE
) -> AsyncIterator[dict[str, Any]]:
    """Rows with their `id`, which is a number, in its order."""
    last = 0
    while found := await in_db(list, rows.filter(pk__gt=last).order_by("pk")[:page]):
        for row in found:
            yield row
        last = found[-1]["id"]
