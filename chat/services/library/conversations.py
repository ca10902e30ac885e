"""Conversations: create, rename, change settings, delete."""

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from accounts.models import User
from agent.messages import sanitise_text
from chat.db.rows import read_values
from chat.engine.model_profiles import find_default_name, is_offered, load_profile
from chat.engine.state import load_state
from chat.errors import RefusalCode, Refused
from chat.models import Attachment, Conversation, Message, Project, Turn
from chat.protocol import from_rows
from chat.protocol.broadcast import conversation_group, emit, emit_later, user_group
from chat.protocol.events import ConversationDeleted
from chat.services.library import attachments, projects, traces
from chat.services.turns import queue

TITLE_LENGTH = 200
TEMPORARY_KEPT = timedelta(days=1)
# The page offers to undo a deletion for 8 s; this leaves the request, on a slow line too, its time.
DELETED_KEPT = timedelta(seconds=30)
_IN_REQUEST = {"model", "system_prompt", "tool_settings", "keep_first_message"}
OPENING_TITLE = 60  # characters of the first message that name a conversation until it has a title


def load_conversation(user: User, conversation_id: UUID) -> Conversation:
    """The user's own conversation; Conversation.DoesNotExist for anybody else's."""
    return Conversation.objects.of(user).get(pk=conversation_id)


def create_conversation(
    user: User,
    model: str = "",
    *,
    temporary: bool = False,
    project: Project | None = None,
    tool_settings: Mapping[str, Any] | None = None,
) -> Conversation:
    """An empty conversation with the given model, or where that is not offered the project's or the
    default one. A temporary one is not listed."""
    wanted = [model, project.model if project else ""]
    offered = (name for name in wanted if is_offered(user.pk, name))
    model = next(offered, "") or find_default_name(user.pk)
    with transaction.atomic():
        conversation = Conversation.objects.create(
            owner=user,
            model=model,
            temporary=temporary,
            project=project,
            tool_settings=dict(tool_settings or {}),
        )
        emit(user_group(user.pk), from_rows.conversation_updated(conversation))
    return conversation


def make_first_title(text: str) -> str:
    """A first title from the first message: its first line, cut at a word."""
    line = " ".join(text.strip().splitlines()[:1])
    if len(line) <= OPENING_TITLE:
        return line
    return line[:OPENING_TITLE].rsplit(" ", 1)[0] + "…"


def rename_conversation(conversation: Conversation, title: str) -> None:
    """Name it by hand: from then on no automatic title replaces it."""
    _set_title(conversation, title, title_edited=True)


def set_suggested_title(conversation_id: UUID, title: str) -> None:
    """Name it by the model, unless the user has."""
    conversation = Conversation.objects.get(pk=conversation_id)
    if not conversation.title_edited:
        _set_title(conversation, title)


def _set_title(conversation: Conversation, title: str, **values: Any) -> None:
    title = " ".join(sanitise_text(title).split())[:TITLE_LENGTH]
    if not title:
        raise Refused(RefusalCode.EMPTY_TITLE, gettext("Write a title."))
    with transaction.atomic():
        Conversation.objects.filter(pk=conversation.pk).update(title=title, **values)
        conversation.title = title
        emit(user_group(conversation.owner_id), from_rows.conversation_updated(conversation))


def set_conversations_pinned(user: User, ids: Collection[UUID], *, pinned: bool) -> int:
    """Keep conversations on top of the sidebar, or no longer; how many the user has of them."""
    return _change_listed(Conversation.objects.of(user).filter(pk__in=ids), pinned=pinned)


def set_conversations_archived(user: User, ids: Collection[UUID], *, archived: bool) -> int:
    """Put conversations away from the sidebar, or back; how many the user has of them."""
    return _change_listed(Conversation.objects.of(user).filter(pk__in=ids), archived=archived)


def restore_conversations(user: User, ids: Collection[UUID]) -> int:
    """Undo `discard_conversations`; how many conversations were still there."""
    discarded = Conversation.objects.filter(owner=user, deleted_at__isnull=False, pk__in=ids)
    return _change_listed(discarded, deleted_at=None)


def _change_listed(rows: QuerySet[Conversation], **values: Any) -> int:
    with transaction.atomic():
        changed = list(rows.order_by("pk").select_for_update())
        Conversation.objects.filter(pk__in=[row.pk for row in changed]).update(**values)
        for row in changed:
            emit(user_group(row.owner_id), from_rows.conversation_updated(row))
    return len(changed)


def discard_conversations(user: User, ids: Collection[UUID]) -> list[UUID]:
    """Delete conversations so that `restore_conversations` can undo it for a while, temporary ones
    at once. Their pages are told so. Returns which of them the user had."""
    with transaction.atomic():
        rows = list(
            Conversation.objects.of(user).filter(pk__in=ids).order_by("pk").select_for_update()
        )
        kept = [row.pk for row in rows if not row.temporary]
        Conversation.objects.filter(pk__in=kept).update(deleted_at=timezone.now())
        for pk in kept:
            queue.pause_queue(pk, queue.RESTORED)
            _tell_deleted(pk, user.pk)
        passing = [row for row in rows if row.temporary]
    for row in passing:
        delete_conversation(row)
    return [row.pk for row in rows]


def find_abandoned() -> list[UUID]:
    """Temporary conversations that nobody has written in for a day, and deleted ones that can no
    longer be restored."""
    return list(_abandoned().values_list("pk", flat=True))


def _abandoned() -> QuerySet[Conversation]:
    now = timezone.now()
    return Conversation.objects.filter(
        Q(temporary=True, updated_at__lt=now - TEMPORARY_KEPT)
        | Q(deleted_at__lt=now - DELETED_KEPT)
    )


def delete_abandoned(conversation_id: UUID) -> int:
    """`delete_conversation`, and how many: it may be gone already, or restored."""
    with transaction.atomic():
        _lock_turns(conversation_id)
        conversation = _abandoned().select_for_update().filter(pk=conversation_id).first()
        if conversation is None:
            return 0
        delete_conversation(conversation)
    return 1


def change_settings(conversation: Conversation, values: Mapping[str, Any]) -> None:
    """Set system prompt, model, tools or compaction settings. A change of the request
    also invalidates the usage that was reported for it. Refused while a turn runs."""
    with transaction.atomic():
        row = Conversation.objects.select_for_update().get(pk=conversation.pk)
        refuse_if_busy(row)
        changed = {name: value for name, value in values.items() if getattr(row, name) != value}
        if _IN_REQUEST & changed.keys():
            changed["meter_valid_from"] = row.next_number
        if changed:
            Conversation.objects.filter(pk=row.pk).update(**changed)
            row.refresh_from_db()
            projects.refresh_parts(row, load_profile(row.model))  # which files fit may have changed
            emit_later(
                conversation_group(row.pk), lambda: from_rows.context_usage(load_state(row.pk))
            )


def delete_conversation(conversation: Conversation) -> None:
    """Delete a conversation with everything in it; a running turn ends without a trace."""
    pk, owner = conversation.pk, conversation.owner_id
    with transaction.atomic():
        _lock_turns(pk)
        sent = Attachment.objects.filter(messages__conversation=conversation)
        queued = Attachment.objects.filter(queued_prompts__conversation=conversation)
        files = list(sent.values_list("pk", flat=True).union(queued.values_list("pk", flat=True)))
        traces.forget_later([pk])
        conversation.delete()
        attachments.discard_unused(Attachment.objects.filter(pk__in=files))
        _tell_deleted(pk, owner)


def _lock_turns(conversation_id: UUID) -> None:
    """Rows are locked in the order in which the end of a turn locks them: turns first."""
    active = Turn.objects.filter(conversation=conversation_id, status__in=Turn.ACTIVE)
    list(active.select_for_update())


def _tell_deleted(conversation_id: UUID, owner_id: int) -> None:
    event = ConversationDeleted(str(conversation_id))
    emit(conversation_group(conversation_id), event)
    emit(user_group(owner_id), event)


def lock_message(
    user: User, conversation_id: UUID, message_id: int
) -> tuple[Conversation, Message]:
    """A user's conversation, locked and idle, and one of its messages."""
    conversation = Conversation.objects.select_for_update().of(user).get(pk=conversation_id)
    message = conversation.messages.select_related("parent").get(pk=message_id)
    refuse_if_busy(conversation)
    return conversation, message


def refuse_if_hidden(message: Message) -> None:
    """Refused (`not_shown`) for a message of another branch than the one that is shown."""
    if not message.active:
        raise Refused(
            RefusalCode.NOT_SHOWN, gettext("The message is on another branch. Switch to it first.")
        )


def refuse_if_left_out(prompt: Message) -> None:
    """Refused (`left_out`) for a message that the context does without: no answer could know it."""
    if prompt.left_out:
        words = gettext("Message #{number}, which this answers, is left out. Put it back first.")
        raise Refused(RefusalCode.LEFT_OUT, words.format(number=prompt.number))


def refuse_if_busy(conversation: Conversation | UUID) -> None:
    """Refused (`conversation_busy`) while a turn or a compaction is active."""
    pk = conversation.pk if isinstance(conversation, Conversation) else conversation
    active = read_values(Turn, ("kind", "status"), conversation=pk, status=Turn.ACTIVE)
    if not active:
        return
    compacting = Turn.Kind.COMPACT in active[0] or Turn.Status.COMPACTING in active[0]
    raise Refused(
        RefusalCode.CONVERSATION_BUSY,
        gettext(
            "The conversation is being compacted. Your text is kept; send it when that is done."
        )
        if compacting
        else gettext("An answer is being written. Your text is kept; send it when that is done."),
        retryable=True,
    )
