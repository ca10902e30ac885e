"""What changes which messages a conversation shows and sends: edit, answer again, switch, delete.

Content never changes: an edit or a new answer is a sibling of what it replaces. Of the active
branch only what differs is rewritten, and only summaries of messages on it count.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext

from accounts.models import User
from agent.authorship.quoted import Range
from chat.engine.recent_messages import read_original
from chat.engine.state import load_state
from chat.errors import RefusalCode, Refused
from chat.models import Attachment, Compaction, Conversation, Message
from chat.protocol import from_rows
from chat.protocol.broadcast import conversation_group, emit, emit_later
from chat.protocol.events import BranchChanged, Event, MessageDeleted
from chat.queries import tree
from chat.services.library import attachments, shares, traces
from chat.services.library.conversations import (
    load_conversation,
    lock_message,
    refuse_if_busy,
    refuse_if_hidden,
    refuse_if_left_out,
)
from chat.services.summary import compactions, gaps
from chat.services.turns import requests, turns
from chat.services.turns.message_changes import change_history
from chat.services.turns.times import tell_time_again


def edit_message(
    user: User,
    conversation_id: UUID,
    message_id: int,
    text: str,
    pasted: Sequence[Range] | None = None,
    *,
    holder: str,
    zone: str = "",
    source: Message.Source = Message.Source.WEB,
) -> requests.AnswerStart:
    """Send another version of one's own message, with its attachments; what followed the old one
    stays with it. `pasted`: see `chat.protocol.pasted`; `zone`, `source`: see `turns.NewMessage`.

    Raises Refused (busy, empty, too long, not a message of the user's) and DoesNotExist.
    """
    old = load_conversation(user, conversation_id).messages.get(pk=message_id)
    kept = [block for block in old.blocks if block["type"] != "text"]
    files = list(old.attachments.all())
    prompt = turns.make_prompt(text, pasted, kept, files, zone=zone, source=source)
    with transaction.atomic():
        conversation, old = lock_message(user, conversation_id, message_id)
        if not read_original(old).is_prompt:
            raise Refused(
                RefusalCode.NOT_EDITABLE, gettext("Only messages that you wrote can be edited.")
            )
        _show_branch(conversation, old.parent)
        _choose_summary(conversation, before=old.position)
        return _begin_answer(conversation, holder, prompt=prompt, after=old.parent)


def regenerate(
    user: User,
    conversation_id: UUID,
    message_id: int,
    *,
    holder: str,
    model: str = "",
    zone: str = "",
) -> requests.AnswerStart:
    """Answer again what an answer answers; the old one and what followed it stay as a branch.
    `model` answers this once, "": the conversation's own."""
    with transaction.atomic():
        conversation, answer = lock_message(user, conversation_id, message_id)
        prompt = _prompt_of(answer)
        _show_branch(conversation, prompt)
        _choose_summary(conversation, before=prompt.position)
        conversation.refresh_from_db()
        tell_time_again(conversation, prompt, zone or settings.TIME_ZONE)
        other = model if model != conversation.model else ""
        return _begin_answer(conversation, holder, model=other)


def _begin_answer(conversation: Conversation, holder: str, **turn: Any) -> requests.AnswerStart:
    """The beginning of an answer on the branch that is shown now."""
    conversation.refresh_from_db()
    opening = requests.open_answer_turn(conversation, holder, **turn)
    _emit(conversation, from_rows.context_usage(opening.state))
    return opening


def send_as_branch(
    user: User,
    conversation_id: UUID,
    new: turns.NewMessage,
    *,
    expected_head: int | None,
    holder: str,
) -> requests.AnswerStart | None:
    """`requests.send_message` after the message that the sender saw as the last one (its number,
    0: none), though the conversation has gone on from there: its continuation stays as a branch."""
    prompt = requests.prepare_prompt(user, new)
    with transaction.atomic():
        conversation = Conversation.objects.select_for_update().of(user).get(pk=conversation_id)
        refuse_if_busy(conversation)
        head = expected_head or 0
        tip = conversation.messages.filter(number=head).first()
        if head and tip is None:
            raise Refused(
                RefusalCode.HEAD_CHANGED, gettext("The message that this one follows was deleted.")
            )
        _show_branch(conversation, tip)
        _choose_summary(conversation)
        return requests.send_prompt(
            user, conversation_id, prompt, expected_head=head, holder=holder
        )


def switch_branch(user: User, conversation_id: UUID, message_id: int) -> None:
    """Show the branch through a message, to where it was written on last."""
    with transaction.atomic():
        conversation, message = lock_message(user, conversation_id, message_id)
        _show_branch(conversation, tree.find_newest_leaf(message))
        _choose_summary(conversation)
        _tell_usage(conversation)


def delete_message(user: User, conversation_id: UUID, message_id: int) -> bool:
    """Delete a message of the shown branch for good, with the results of its tool calls. What
    followed it now follows the message before it, and chapters of summaries that rest on it lose
    their text (`chat.services.summary.gaps`). If it was the last message, its nearest sibling is
    shown: nothing else would lead there. Whether the summary rested on it."""
    with transaction.atomic():
        conversation, message = lock_message(user, conversation_id, message_id)
        refuse_if_hidden(message)
        traces.forget_later([conversation.pk])
        gone = _with_results(message)
        last = not conversation.messages.filter(
            active=True, position__gt=gone[-1].position
        ).exists()
        sibling = tree.find_nearest_sibling(message) if last else None
        rested = False
        for doomed in reversed(gone):
            rested |= gaps.take_out_of_summaries(conversation, doomed)
            _emit(conversation, MessageDeleted(doomed.pk))
            _remove(doomed)
        change_history(conversation)
        current = compactions.restate_current(conversation)
        if rested and current:
            compactions.tell_change(current)
        if sibling:
            _show_branch(conversation, tree.find_newest_leaf(sibling))
            _choose_summary(conversation)
        _tell_usage(conversation)
    return rested


def _prompt_of(answer: Message) -> Message:
    """The user's message that an answer, perhaps after rounds of tools, goes back to."""
    row = answer
    while row.parent is not None:
        row = row.parent
        if read_original(row).is_prompt:
            refuse_if_left_out(row)
            return row
    raise Refused(
        RefusalCode.NOTHING_TO_ANSWER, gettext("There is no message of yours before this answer.")
    )


def _with_results(message: Message) -> list[Message]:
    """A message with those that only hold the results of its calls."""
    if not any(block.get("type") == "tool_use" for block in message.blocks):
        return [message]
    results = [
        row
        for row in message.children.all()
        if row.role == Message.Role.USER and not read_original(row).is_prompt
    ]
    return [message, *results]


def _show_branch(conversation: Conversation, tip: Message | None) -> None:
    """Make the way from the first message to `tip` the active branch; None: no message at all."""
    way = tree.load_path_to_active(tip) if tip else []
    position = way[-1].position if way and way[-1].active else -1
    rows = Message.objects.filter(conversation=conversation)
    rows.filter(active=True, position__gt=position).update(active=False)
    rows.filter(pk__in=[row.pk for row in way if not row.active]).update(active=True)
    change_history(conversation)
    _emit(conversation, BranchChanged(position))


def _choose_summary(conversation: Conversation, *, before: int | None = None) -> None:
    """After the branch changed: the newest summary of messages on it counts, and usage that was
    reported before does not. `before` is the position of what is to be answered, which no summary
    may hold.
    """
    compactions.discard_preparations(conversation)
    versions = conversation.compactions.filter(
        status=Compaction.Status.COMPLETED, reverted=False, through__active=True
    ).exclude(summary="")
    if before is not None:
        versions = versions.filter(through__position__lt=before)
    current = versions.select_related("through").order_by("-pk").first()
    if conversation.compaction_id != (current.pk if current else None):
        compactions.make_current(conversation, current)
    Conversation.objects.filter(pk=conversation.pk).update(meter_valid_from=F("next_number"))


def _remove(message: Message) -> None:
    """Take a message out of the tree: its children become its parent's."""
    message.children.update(parent=message.parent)
    shares.end_before(message)
    files = list(message.attachments.values_list("pk", flat=True))
    message.delete()
    attachments.discard_unused(Attachment.objects.filter(pk__in=files))


def _emit(conversation: Conversation, event: Event) -> None:
    emit(conversation_group(conversation.pk), event)


def _tell_usage(conversation: Conversation) -> None:
    """How full the context is now."""
    emit_later(
        conversation_group(conversation.pk),
        lambda: from_rows.context_usage(load_state(conversation.pk)),
    )
