"""Files that users send along: stored when they are chosen, bound to a message when it is sent."""

import time
from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path, PurePath
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from accounts.models import User
from agent.messages import Block, sanitise_text
from chat.errors import RefusalCode, Refused
from chat.models import Attachment, Project
from chat.services.library import file_types

MOST_PER_MESSAGE = 20
MOST_UNSENT = 60  # of one user
UNSENT_KEPT = timedelta(days=1)


def store_unsent(user: User, name: str, data: bytes) -> Attachment:
    """Keep a file of the user's that is about to be sent. Refused where it cannot be sent."""
    unsent = Attachment.objects.filter(owner=user, messages=None, project=None, queued_prompts=None)
    if unsent.count() >= MOST_UNSENT:
        raise Refused(
            RefusalCode.TOO_MANY_FILES,
            ngettext(
                "{count} file waits to be sent. Remove it, or send it.",
                "{count} files wait to be sent. Remove some, or send them.",
                MOST_UNSENT,
            ).format(count=MOST_UNSENT),
        )
    name = clean_name(name)
    return store_checked(user, name, data, file_types.inspect_file(name, data, owner_id=user.pk))


def clean_name(name: str) -> str:
    """A file's name as it is kept."""
    return sanitise_text(PurePath(name).name).strip()[:200] or "file"


def store_checked(
    user: User,
    name: str,
    data: bytes,
    found: file_types.CheckedFile,
    project: Project | None = None,
) -> Attachment:
    """Store a file, of a `project` or to be sent, as it was `found` to be."""
    attachment = Attachment(
        owner=user,
        project=project,
        kind=found.kind,
        name=name,
        media_type=found.media_type,
        size=len(found.data),
        width=found.width,
        height=found.height,
        tokens=found.tokens,
        original_type=found.original_type,
        original_size=len(data) if found.original_type else 0,
    )
    # The path holds nothing from the user. After a rollback the file stays, but nobody can find it.
    attachment.file.save(attachment.pk.hex, ContentFile(found.data), save=False)
    if found.original_type:
        attachment.original.save(f"{attachment.pk.hex}-original", ContentFile(data), save=False)
    attachment.save()
    return attachment


def load_for_sending(user: User, ids: Sequence[str]) -> list[Attachment]:
    """The user's own files with these ids, in this order; Refused where one is not there."""
    if len(ids) > MOST_PER_MESSAGE:
        raise Refused(
            RefusalCode.TOO_MANY_FILES,
            ngettext(
                "At most {count} file can go with one message.",
                "At most {count} files can go with one message.",
                MOST_PER_MESSAGE,
            ).format(count=MOST_PER_MESSAGE),
        )
    if not ids:
        return []
    try:
        wanted = list(dict.fromkeys(UUID(each) for each in ids))
        found = Attachment.objects.in_bulk(wanted)
    except (ValueError, ValidationError):
        found, wanted = {}, [UUID(int=0)]
    known = (found[pk] for pk in wanted if pk in found)
    own = [each for each in known if each.owner_id == user.pk and not each.project_id]
    if len(own) < len(wanted):
        raise Refused(
            RefusalCode.FILE_GONE,
            gettext("A file no longer exists. Remove it, and attach it again."),
        )
    return own


def make_reference(attachment: Attachment) -> Block:
    """The reference that a message stores; see `agent.attachments`. `original_bytes`: of the file
    whose text is sent in its place; `encoding`: how it was read."""
    size = attachment.original_size
    original = {"original_bytes": size} if attachment.original_type else {}
    encoding = {"encoding": attachment.encoding} if attachment.encoding else {}
    return {
        "type": "image" if attachment.kind == Attachment.Kind.IMAGE else "document",
        "title": attachment.name,
        "source": {
            "type": "attachment",
            "id": str(attachment.pk),
            "media_type": attachment.media_type,
            "bytes": attachment.size,
            "tokens": attachment.tokens,
            **original,
            **encoding,
        },
    }


def discard_unused(attachments: QuerySet[Attachment]) -> int:
    """Delete those that no message, queued prompt or project holds; their files go when this is
    committed."""
    unused = list(attachments.filter(messages=None, project=None, queued_prompts=None))
    with transaction.atomic():
        Attachment.objects.filter(pk__in=[each.pk for each in unused]).delete()
        delete_files(unused)
    return len(unused)


def delete_files(attachments: Iterable[Attachment]) -> None:
    """Delete the files of rows that are deleted in this transaction, when it is committed."""
    files = [file for each in attachments for file in (each.file, each.original) if file]
    for file in files:
        # A file that cannot be deleted must not make the deletion seem to have failed.
        transaction.on_commit(partial(file.storage.delete, file.name), robust=True)


def delete_orphans() -> int:
    """Delete stored files that are older than a day and belong to no row: those of a process that
    was killed when it had just deleted their rows, or had not stored them yet. How many."""
    root = Path(default_storage.path(""))
    latest = time.time() - UNSENT_KEPT.total_seconds()
    deleted = 0
    for path in root.glob("attachments/*/*/*"):
        if not path.is_file() or path.stat().st_mtime > latest:
            continue
        name = path.relative_to(root).as_posix()
        if not Attachment.objects.filter(Q(file=name) | Q(original=name)).exists():
            default_storage.delete(name)
            deleted += 1
    return deleted


def delete_unsent() -> int:
    """Delete files that were chosen a day ago and never sent."""
    return discard_unused(Attachment.objects.filter(created_at__lt=timezone.now() - UNSENT_KEPT))
