"""A project as a zip, written while it is read: as much memory as one page of messages, whatever it
holds."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

from django.utils.text import slugify

from chat.db.threads import in_db
from chat.models import Attachment, Conversation, Project
from chat.queries.export import export_json, export_markdown
from chat.queries.zip_stream import ZipStream, clean_name


async def export_zip(project: Project) -> AsyncIterator[bytes]:
    """`project.json`, `files/`, and in `conversations/` each one as Markdown and as JSON, archived
    ones too."""
    with ZipStream() as archive:
        async for data in write_project(archive, project):
            yield data
        for number, pk in enumerate(await in_db(_list_conversations, project), 1):
            rows = Conversation.objects.of(project.owner_id).filter(pk=pk)
            conversation = await in_db(rows.first)
            if conversation is None:  # deleted meanwhile, or handed to somebody else
                continue
            async for data in write_conversation(
                archive, name_entry(number, conversation), conversation
            ):
                yield data
    yield archive.take()


async def write_project(
    archive: ZipStream, project: Project, folder: str = ""
) -> AsyncIterator[bytes]:
    """`project.json` and `files/`, in a folder whose name ends with a slash."""
    about, files = await in_db(_read, project)
    archive.add_json(f"{folder}project.json", about)
    for number, file in enumerate(files, 1):
        name = f"{folder}files/{number:02} {clean_name(file.name)}"
        async for data in archive.write_file(name, file.original or file.file):
            yield data


async def write_conversation(
    archive: ZipStream, stem: str, conversation: Conversation
) -> AsyncIterator[bytes]:
    """A conversation as Markdown and as JSON."""
    for suffix, export in (("md", export_markdown), ("json", export_json)):
        async for data in archive.write(f"{stem}.{suffix}", export(conversation)):
            yield data


def name_entry(number: int, conversation: Conversation) -> str:
    """How the entries of a conversation begin."""
    return f"conversations/{number:04} {slugify(str(conversation))[:60]}".strip()


def _read(project: Project) -> tuple[dict[str, Any], list[Attachment]]:
    files = list(project.files.order_by("created_at", "pk"))
    about = {
        "id": project.pk,
        "name": project.name,
        "instructions": project.instructions,
        "model": project.model,
        "context_budget": project.context_budget,
        "archived": project.archived,
        "created_at": project.created_at,
        "files": [{"name": each.name, "size": each.size} for each in files],
        "memories": list(project.memories.order_by("pk").values_list("text", flat=True)),
    }
    return about, files


def _list_conversations(project: Project) -> list[UUID]:
    rows = Conversation.objects.of(project.owner_id).filter(project=project, temporary=False)
    return list(rows.order_by("created_at").values_list("pk", flat=True))
