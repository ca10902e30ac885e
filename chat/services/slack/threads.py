"""Threads of Slack and conversations become one, and two again."""

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext

from accounts.models import User
from chat.errors import RefusalCode, Refused
from chat.models import Conversation, Message, SlackEvent, SlackMessage, SlackThread
from chat.services.library.conversations import create_conversation, load_conversation
from chat.services.turns import branches, queue
from chat.services.turns.queue import AlreadySent
from chat.services.turns.requests import AnswerStart
from chat.services.turns.turns import NewMessage


@dataclass(frozen=True, slots=True)
class Place:
    """A thread of Slack. Without a `ts` it is not begun yet. `asked_ts`: of the message by which it
    is linked; `channel_name`: "" for a direct conversation with the bot."""

    team: str
    channel: str
    channel_name: str
    ts: str = ""
    asked_ts: str = ""


def open_linked(
    user: User, place: Place, asked_by: str, event: SlackEvent | None = None
) -> SlackThread:
    """A new conversation of the user's, linked with a thread. `asked_by`: the user's id in Slack;
    `event` asked for it: it knows the thread from now on."""
    with transaction.atomic():
        return _link(create_conversation(user), place, asked_by, event)


def link_thread(
    user: User,
    conversation_id: UUID,
    place: Place,
    asked_by: str,
    event: SlackEvent | None = None,
) -> SlackThread:
    """Link a conversation of the user's; what was written until now is not posted. Refused where
    either has a link already; Conversation.DoesNotExist."""
    with transaction.atomic():
        load_conversation(user, conversation_id)
        conversation = Conversation.objects.select_for_update().get(pk=conversation_id)
        if conversation.temporary:
            raise Refused(
                RefusalCode.NOT_LINKABLE,
                gettext("A temporary chat cannot be linked. Start a lasting one."),
            )
        if SlackThread.objects.filter(conversation=conversation).exists():
            raise Refused(
                RefusalCode.NOT_LINKABLE,
                gettext("This chat is linked with a thread already. Unlink it first, in Everlong."),
            )
        here = SlackThread.objects.filter(team=place.team, channel=place.channel, ts=place.ts)
        if place.ts and here.exists():
            raise Refused(
                RefusalCode.NOT_LINKABLE, gettext("This thread is linked with another chat.")
            )
        return _link(conversation, place, asked_by, event)


def _link(
    conversation: Conversation, place: Place, asked_by: str, event: SlackEvent | None
) -> SlackThread:
    thread = SlackThread.objects.create(
        conversation=conversation,
        team=place.team,
        channel=place.channel,
        channel_name=place.channel_name[:100],
        ts=place.ts,
        asked_by=asked_by,
        from_ts=place.asked_ts,
        seen_ts=place.asked_ts,
        through=conversation.next_number - 1,
        compactions=conversation.compactions_completed,
    )
    if event:
        SlackEvent.objects.filter(pk=event.pk).update(thread=thread)
    return thread


def unlink(conversation: Conversation) -> bool:
    """From now on the two go their own ways; whether there was a link."""
    return bool(SlackThread.objects.filter(conversation=conversation).delete()[0])


def unlink_all(conversation_ids: Collection[UUID]) -> None:
    """The same for conversations that get another owner, in the caller's transaction."""
    SlackThread.objects.filter(conversation__in=conversation_ids).delete()


def note_told(thread: SlackThread, person: str) -> bool:
    """Somebody who is not the owner wrote in a thread; whether they are to be told so: once."""
    with transaction.atomic():
        row = SlackThread.objects.select_for_update().get(pk=thread.pk)
        if person in row.told:
            return False
        SlackThread.objects.filter(pk=row.pk).update(told=[*row.told, person])
    return True


# --- What the owner writes there ------------------------------------------------------------------


def take_message(thread: SlackThread, ts: str, new: NewMessage) -> None:
    """Put what the owner wrote into the queue, once. Raises as `queue.queue_prompt`."""
    assert new.client_id
    # First, so that the message is never taken for one that the thread does not have.
    SlackMessage.objects.get_or_create(thread=thread, ts=ts, defaults={"client_id": new.client_id})
    queue_once(thread, new)


def queue_once(thread: SlackThread, new: NewMessage) -> None:
    """Put a prompt into the queue that the thread itself does not have: that of a command."""
    with suppress(AlreadySent):
        queue.queue_prompt(thread.conversation.owner_id, thread.conversation_id, new)


def edit_queued(known: SlackMessage, text: str) -> bool:
    """Change what waits in the queue; False where it does not wait there any more."""
    conversation = known.thread.conversation
    edit = partial(queue.edit_queued, conversation.owner, conversation.pk, text=text)
    return _change_queued(known, edit)


def edit_sent(known: SlackMessage, text: str, *, holder: str, zone: str) -> AnswerStart | None:
    """Send another version of what was sent, as `branches.edit_message`; None where there is
    nothing to change."""
    conversation = known.thread.conversation
    message = find_sent(known)
    if message is None or _typed(message) == text.strip():
        return None
    opening = branches.edit_message(
        conversation.owner,
        conversation.pk,
        message.pk,
        text,
        holder=holder,
        zone=zone,
        source=Message.Source.SLACK,
    )
    siblings = Message.objects.filter(conversation=conversation, parent=message.parent_id)
    SlackMessage.objects.filter(pk=known.pk).update(message=siblings.latest("number"))
    return opening


def delete_taken(known: SlackMessage) -> bool:
    """Delete what the owner deleted there, as `branches.delete_message`, or take it out of the
    queue. Whether a summary rests on it. Refused while something is answered."""
    conversation = known.thread.conversation
    remove = partial(queue.remove_queued, conversation.owner, conversation.pk)
    if _change_queued(known, remove):
        return False
    message = find_sent(known)
    if message is None:
        return False
    return branches.delete_message(conversation.owner, conversation.pk, message.pk)


def find_sent(known: SlackMessage) -> Message | None:
    """The newest version of what was written there; None where it waits, or is gone."""
    if known.message_id:
        return known.message
    rows = Message.objects.filter(conversation=known.thread.conversation_id)
    return rows.filter(client_id=known.client_id).first()


def _change_queued(known: SlackMessage, change: Callable[[int], None]) -> bool:
    """Change what waits in the queue; False where it does not, or has just gone out."""
    waiting = known.thread.conversation.queued_prompts.filter(client_id=known.client_id)
    queued_id = waiting.values_list("pk", flat=True).first()
    if queued_id is None:
        return False
    try:
        change(queued_id)
    except Refused as refusal:
        if refusal.code != RefusalCode.NOT_QUEUED:
            raise
        return False
    return True


def _typed(message: Message) -> str:
    return "\n\n".join(each["text"] for each in message.blocks if each["type"] == "text")
