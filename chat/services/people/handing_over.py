"""Giving somebody's projects and conversations to somebody else, as when a person leaves.

What is remembered of the person stays theirs; who paid stays with the calls. Links to what is
handed over end, those with threads of Slack too, and a file that another conversation uses goes
along.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import F

from accounts import audit
from accounts.audit import Act
from accounts.models import User
from chat.errors import Refused
from chat.models import (
    Attachment,
    Conversation,
    Memory,
    MemoryProposal,
    Project,
    QueuedPrompt,
    ScheduledPrompt,
)
from chat.protocol import from_rows
from chat.protocol.broadcast import conversation_group, emit, emit_access_check, user_group
from chat.protocol.events import ConversationDeleted, ProjectsChanged
from chat.services.library import search_index, shares
from chat.services.library.conversations import refuse_if_busy
from chat.services.slack import threads
from chat.services.summary import compactions
from chat.services.turns import queue

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class HandedOver:
    """How many went, and how many stayed because something was being answered there."""

    projects: int
    conversations: int
    busy: int


def hand_over(
    projects: Collection[Project],
    conversations: Collection[UUID],
    receiver: User,
    *,
    by: User | None,
) -> HandedOver:
    """Give projects, with their conversations, and single conversations to `receiver`, who has the
    project of a single one no longer. `by` is an administrator. What is busy, temporary, deleted or
    the receiver's already stays.

    Each project, and each single conversation, goes in a transaction of its own: one that is cut
    off can be asked for again.
    """
    sent = [_hand_over_project(project, receiver, by) for project in projects]
    single = [_hand_over_single(pk, receiver, by) for pk in conversations]
    counts = [each for each in (*sent, *single) if each is not None]
    handed = HandedOver(
        projects=sum(each is not None for each in sent),
        conversations=sum(counts),
        busy=len(sent) + len(single) - len(counts),
    )
    log.info(
        "handed over",
        by=by and by.pk,
        receiver=receiver.pk,
        projects=handed.projects,
        conversations=handed.conversations,
        busy=handed.busy,
    )
    return handed


def _hand_over_single(pk: UUID, receiver: User, by: User | None) -> int | None:
    """How many conversations have gone; None where it is busy."""
    with transaction.atomic():
        rows = Conversation.objects.select_for_update(of=("self",)).select_related("owner")
        row = rows.filter(pk=pk, deleted_at=None, temporary=False).exclude(owner=receiver).first()
        if row is None:
            return 0
        if _is_busy([row]):
            return None
        Conversation.objects.filter(pk=pk).update(project=None, project_parts={})
        _give([row], row.owner, receiver, by)
        return 1


def _hand_over_project(project: Project, receiver: User, by: User | None) -> int | None:
    """The same of a project with all its conversations."""
    with transaction.atomic():
        locked = Project.objects.select_for_update(of=("self",)).select_related("owner")
        found = locked.filter(pk=project.pk).exclude(owner=receiver).first()
        if found is None:
            return 0
        rows = list(found.conversations.order_by("pk").select_for_update())
        going = [row for row in rows if not (row.deleted_at or row.temporary)]
        if _is_busy(going):
            return None
        left = Conversation.objects.filter(pk__in={row.pk for row in rows} - {r.pk for r in going})
        left.update(project=None, project_parts={})
        owner = found.owner
        Project.objects.filter(pk=found.pk).update(owner=receiver)
        found.files.update(owner=receiver)
        Memory.everything.filter(project=found).update(owner=receiver)
        MemoryProposal.objects.filter(project=found).delete()
        _record(found, owner, receiver, by)
        for person in (owner, receiver):
            emit(user_group(person.pk), ProjectsChanged())
        _give(going, owner, receiver, by)
        return len(going)


def _is_busy(rows: Sequence[Conversation]) -> bool:
    """Whether a turn runs in one of some conversations, which are locked: no other begins."""
    try:
        for row in rows:
            refuse_if_busy(row)
    except Refused:
        return True
    return False


def _give(rows: Sequence[Conversation], owner: User, receiver: User, by: User | None) -> None:
    """Make locked conversations the receiver's, with all that holds its owner."""
    ids = [row.pk for row in rows]
    Conversation.objects.filter(pk__in=ids).update(
        owner=receiver,
        pinned=False,
        memory_text="",
        record_agreed_at=None,
        meter_valid_from=F("next_number"),
    )
    # In their author's name, and for their money.
    queue.delete_queued(QueuedPrompt.objects.filter(conversation__in=ids))
    ScheduledPrompt.objects.filter(conversation__in=ids).delete()
    Attachment.objects.filter(messages__conversation__in=ids).update(owner=receiver)
    MemoryProposal.objects.filter(conversation__in=ids).delete()
    # Of facts about the person, which stay: where they were said is closed to them.
    said = Memory.everything.filter(conversation__in=ids, owner=owner)
    said.update(conversation=None, message_number=None)
    shares.revoke_all(ids)
    threads.unlink_all(ids)
    for row in rows:
        compactions.discard_preparations(row)  # a worker writes them for the owner before
        _ask_again(row)
        search_index.give_entries(row.pk, owner.pk, receiver.pk)
        _record(row, owner, receiver, by)
        gone = ConversationDeleted(str(row.pk))
        emit(user_group(owner.pk), gone)
        emit_access_check(conversation_group(row.pk))
        row.refresh_from_db()
        emit(user_group(receiver.pk), from_rows.conversation_updated(row))


def _record(row: Project | Conversation, owner: User, receiver: User, by: User | None) -> None:
    """The audit says to whom."""
    words = f"to account {receiver.pk}"
    audit.record(by, Act.HAND_OVER, target=row, owner=owner, reason=words, changed=["owner"])


def _ask_again(row: Conversation) -> None:
    """That a tool server may act without asking was its owner's word, not the receiver's."""
    if "mcp_allowed" in row.tool_settings:
        kept = {name: value for name, value in row.tool_settings.items() if name != "mcp_allowed"}
        Conversation.objects.filter(pk=row.pk).update(tool_settings=kept)
