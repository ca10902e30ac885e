"""Archives: a conversation with its files, or a project with all it holds, as a zip that is written
while it is read: as much memory as one page of messages or one version of a summary."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.text import slugify

from chat.db.threads import in_db
from chat.importers.everlong_records import FactRecord
from chat.models import Attachment, Conversation, Memory, Project
from chat.queries.export import describe_file, make_header, name_file, write_document
from chat.queries.readable_export import export_markdown, link_within
from chat.queries.zip_stream import ZipStream, clean_name

FILES = "the files of messages, each by its id, as they were uploaded"
CONVERSATIONS = (
    "each conversation: .json is all of it, for an import; .md is the shown branch and then the "
    "others, to be read"
)
CONVERSATION_CONTENTS = {"conversations/": CONVERSATIONS, "files/": FILES}
PROJECT_CONTENTS = {
    "project.json": "the project with its instructions and facts",
    "files/": f"the files of the project by their numbers, and {FILES}",
    "conversations/": CONVERSATIONS,
}


class ConversationArchive:
    """Writes conversations into a zip, and each file of their messages once."""

    def __init__(self, archive: ZipStream) -> None:
        self._archive = archive
        self._written: set[str] = set()

    async def write(self, number: int, conversation: Conversation) -> AsyncIterator[bytes]:
        """A conversation by its `number` in the archive, and the files that are not there yet."""
        stem = f"conversations/{number:04} {slugify(str(conversation))[:60]}".strip()
        files: dict[str, Attachment] = {}
        document = write_document(conversation, files)
        async for data in self._archive.write(f"{stem}.json", document):
            yield data
        text = export_markdown(conversation, link_within(files, name_file))
        async for data in self._archive.write(f"{stem}.md", text):
            yield data
        for file in files.values():
            async for data in self.write_file(file):
                yield data

    async def write_file(self, file: Attachment) -> AsyncIterator[bytes]:
        """A file of messages, unless it is there already."""
        name = name_file(file)
        if name in self._written:
            return
        self._written.add(name)
        async for data in self._archive.write_file(name, file.original or file.file):
            yield data


async def export_conversation(conversation: Conversation) -> AsyncIterator[bytes]:
    """A conversation, as JSON and as Markdown, with its files."""
    with ZipStream() as archive:
        archive.add_json("everlong.json", describe_archive("conversation", CONVERSATION_CONTENTS))
        async for data in ConversationArchive(archive).write(1, conversation):
            yield data
    yield archive.take()


async def export_zip(project: Project) -> AsyncIterator[bytes]:
    """A project with its conversations, archived ones too."""
    with ZipStream() as archive:
        archive.add_json("everlong.json", describe_archive("project", PROJECT_CONTENTS))
        async for data in write_project(archive, project):
            yield data
        writer = ConversationArchive(archive)
        for number, pk in enumerate(await in_db(_list_conversations, project), 1):
            rows = Conversation.objects.of(project.owner_id).filter(pk=pk)
            conversation = await in_db(rows.select_related("project").first)
            if conversation is None:  # deleted meanwhile, or handed to somebody else
                continue
            async for data in writer.write(number, conversation):
                yield data
    yield archive.take()


def describe_archive(kind: str, contents: dict[str, str]) -> dict[str, Any]:
    """`everlong.json`: what kind of archive it is, and what the others are in it."""
    return {**make_header(kind), "exported_at": timezone.now(), "contents": contents}


async def write_project(
    archive: ZipStream, project: Project, folder: str = ""
) -> AsyncIterator[bytes]:
    """`project.json` and `files/`, in a folder whose name ends with a slash."""
    files = await in_db(list, project.files.order_by("created_at", "pk"))
    named = {
        f"{folder}files/{number:02} {clean_name(file.name)}": file
        for number, file in enumerate(files, 1)
    }
    about = await in_db(describe_project, project)
    described = [describe_file(file) | {"path": name} for name, file in named.items()]
    archive.add_json(f"{folder}project.json", about | {"files": described})
    for name, file in named.items():
        async for data in archive.write_file(name, file.original or file.file):
            yield data


def describe_project(project: Project) -> dict[str, Any]:
    """A project with its facts, without its files."""
    return {
        **make_header("project"),
        "id": project.pk,
        "name": project.name,
        "instructions": project.instructions,
        "model": project.model,
        "context_budget": project.context_budget,
        "archived": project.archived,
        "created_at": project.created_at,
        "facts": list_facts(project.memories.all()),
    }


def list_facts(facts: QuerySet[Memory]) -> list[dict[str, Any]]:
    """What is remembered, oldest first."""
    return list(facts.order_by("pk").values(*FactRecord.model_fields))


def _list_conversations(project: Project) -> list[UUID]:
    rows = Conversation.objects.of(project.owner_id).filter(project=project, temporary=False)
    return list(rows.order_by("created_at").values_list("pk", flat=True))
