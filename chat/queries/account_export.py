"""All that the site has of a person as one zip, written while it is read: as much memory as one
page of messages or one version of a summary, however much there is."""

import json
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from typing import Any

from django.utils.text import slugify

from accounts.models import User
from accounts.own_data import describe_account, list_readings
from chat.db.threads import in_db
from chat.importers.everlong_records import ProposalRecord
from chat.models import (
    Attachment,
    Conversation,
    ImportJob,
    ImportOffer,
    Memory,
    MemoryProposal,
    Project,
    QueuedPrompt,
    ScheduledPrompt,
    Share,
    SlackThread,
)
from chat.queries.archive_export import (
    CONVERSATIONS,
    FILES,
    ConversationArchive,
    describe_archive,
    list_facts,
    write_project,
)
from chat.queries.export import make_header, name_file, read_pages
from chat.queries.zip_stream import ZipStream
from spending.models import ModelCall

CONTENTS = {
    "account.json": "the account, its settings, and the ways in, without secrets",
    "memory.json": "what is remembered of the person, and proposals that wait",
    "readings.json": "who has read something of it in the administration, and why",
    "kept.json": "what an import does not take: links by which conversations were shown to others, "
    "those to threads of Slack, which conversations are held from deletion, prompts that come by "
    "themselves, reports of imports, and what these offered",
    "queued.json": "what waits to be sent: an import sends nothing",
    "model_calls.jsonl": "each request to a model that the person pays for; dollars as text: an "
    "import books none",
    "files.json": "the files of messages: name, type, and which messages have them",
    "files/": FILES,
    "projects/": "each project with its instructions, files and facts",
    "conversations/": CONVERSATIONS,
}


async def export_account(user: User) -> AsyncIterator[bytes]:
    """`everlong.json` says what the others are."""
    with ZipStream() as archive:
        archive.add_json("everlong.json", describe_archive("account", CONTENTS))
        account = await in_db(describe_account, user)
        archive.add_json("account.json", make_header("person") | account)
        archive.add_json("memory.json", await in_db(_read_memory, user))
        archive.add_json("readings.json", await in_db(list_readings, user))
        archive.add_json("kept.json", await in_db(_read_kept, user))
        archive.add_json("queued.json", await in_db(_read_queued, user))
        async for data in archive.write("model_calls.jsonl", _list_calls(user)):
            yield data
        writer = ConversationArchive(archive)
        files = await in_db(list, Attachment.objects.filter(owner=user, project=None))
        archive.add_json("files.json", await in_db(_describe_files, user, files))
        for file in files:
            async for data in writer.write_file(file):
                yield data
        projects = Project.objects.of(user).order_by("created_at")
        for number, project in enumerate(await in_db(list, projects), 1):
            folder = f"projects/{number:02} {slugify(project.name)[:60]}".strip() + "/"
            async for data in write_project(archive, project, folder):
                yield data
        rows = Conversation.objects.of(user).select_related("project").order_by("created_at")
        for number, pk in enumerate(await in_db(list, rows.values_list("pk", flat=True)), 1):
            conversation = await in_db(rows.filter(pk=pk).first)
            if conversation is None:  # deleted meanwhile, or handed to somebody else
                continue
            async for data in writer.write(number, conversation):
                yield data
    yield archive.take()


def _read_memory(user: User) -> dict[str, Any]:
    proposals = MemoryProposal.objects.filter(owner=user).order_by("pk")
    return {
        **make_header("memory"),
        "facts": list_facts(Memory.objects.filter(owner=user, project=None)),
        "proposals": list(proposals.values(*ProposalRecord.model_fields)),
    }


def _read_kept(user: User) -> dict[str, Any]:
    rows = Conversation.objects.of(user)
    shares = Share.objects.filter(conversation__in=rows).order_by("created_at")
    about = ("id", "conversation", "through__number", "created_at", "revoked_at")
    held = rows.filter(held=True).order_by("created_at").values_list("pk", flat=True)
    threads = SlackThread.objects.filter(conversation__in=rows).order_by("linked_at")
    slack = threads.values("conversation", "team", "channel", "channel_name", "ts", "linked_at")
    scheduled = ScheduledPrompt.objects.filter(conversation__in=rows).order_by("pk")
    names = ("conversation", "text", "repeat", "first_date", "time", "time_zone", "pause")
    imports = ImportJob.objects.filter(owner=user).order_by("created_at")
    offers = ImportOffer.objects.filter(job__owner=user).order_by("pk")
    return {
        "shares": list(shares.values(*about)),
        "held": list(held),
        "slack": list(slack),
        "scheduled": list(scheduled.values(*names)),
        "imports": list(imports.values("status", "report", "error", "created_at")),
        "offers": list(offers.values("kind", "text", "project", "accepted")),
    }


def _read_queued(user: User) -> list[dict[str, Any]]:
    names = ("id", "conversation", "position", "command", "text", "pasted", "source", "model")
    rows = QueuedPrompt.objects.filter(conversation__owner=user).order_by("conversation", "pk")
    links = QueuedPrompt.attachments.through.objects.filter(queuedprompt__conversation__owner=user)
    files = defaultdict(list)
    for queued, file in links.order_by("pk").values_list("queuedprompt", "attachment"):
        files[queued].append(file)
    return [
        row | {"files": files[row["id"]]}
        for row in rows.values(*names, "send_now", "problem", "created_at")
    ]


async def _list_calls(user: User) -> AsyncIterator[str]:
    names = [field.attname for field in ModelCall._meta.concrete_fields if field.name != "user"]
    async for row in read_pages(ModelCall.objects.filter(user=user).values(*names)):
        yield json.dumps(row, default=str) + "\n"


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
            "file": name_file(file),
            "media_type": file.original_type or file.media_type,
            "created_at": file.created_at,
            "messages": messages[file.pk],
        }
        for file in files
    ]
