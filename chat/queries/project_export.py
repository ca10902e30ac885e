"""A project as a zip, written while it is read: as much memory as one page of messages or one file,
whatever it holds."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID
from zipfile import ZIP_DEFLATED, ZipFile

from django.utils.text import slugify

from chat.db.threads import in_db
from chat.models import Attachment, Conversation, Project
from chat.queries.export import export_json, export_markdown


class _Chunks:
    """What a zip writes to where nothing can be sought: kept until it is taken."""

    def __init__(self) -> None:
        self._written: list[bytes] = []

    def write(self, data: bytes, /) -> int:
        self._written.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """There is nothing to give back."""

    def take(self) -> bytes:
        taken, self._written = b"".join(self._written), []
        return taken


async def export_zip(project: Project) -> AsyncIterator[bytes]:
    """`project.json`, `files/`, and in `conversations/` each one as Markdown and as JSON, archived
    ones too."""
    chunks = _Chunks()
    with ZipFile(chunks, "w", ZIP_DEFLATED) as archive:
        about, files, ids = await in_db(_read, project)
        archive.writestr(
            "project.json", json.dumps(about, ensure_ascii=False, indent=1, default=str)
        )
        for number, file in enumerate(files, 1):
            data = await asyncio.to_thread(_read_file, file)
            if data is None:
                continue
            # To compress takes a while: not on the event loop.
            name = f"files/{number:02} {_clean(file.name)}"
            await asyncio.to_thread(archive.writestr, name, data)
            yield chunks.take()
        for number, pk in enumerate(ids, 1):
            conversation = await in_db(Conversation.objects.filter(pk=pk).first)
            if conversation is None:  # deleted meanwhile
                continue
            stem = f"conversations/{number:04} {slugify(str(conversation))[:60]}".strip()
            for suffix, export in (("md", export_markdown), ("json", export_json)):
                with archive.open(f"{stem}.{suffix}", "w") as entry:
                    async for text in export(conversation):
                        await asyncio.to_thread(entry.write, text.encode("utf-8", "replace"))
                        if data := chunks.take():
                            yield data
    yield chunks.take()


def _read(project: Project) -> tuple[dict[str, Any], list[Attachment], list[UUID]]:
    files = list(project.files.order_by("created_at", "pk"))
    rows = Conversation.objects.of(project.owner_id).filter(project=project, temporary=False)
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
    return about, files, list(rows.order_by("created_at").values_list("pk", flat=True))


def _read_file(file: Attachment) -> bytes | None:
    """A file as it was uploaded; None where it is gone."""
    try:
        with (file.original or file.file).open() as opened:
            return bytes(opened.read())
    except FileNotFoundError:
        return None


def _clean(name: str) -> str:
    """A file's name without what a zip would take for a folder."""
    return name.replace("/", "_").replace("\\", "_")
