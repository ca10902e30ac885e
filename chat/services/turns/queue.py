"""The queue of a conversation: what is to be said next, from whichever door it comes.

Any process may put something there. A web process sends it when the conversation is free
(`chat.live.queue`, by `chat.services.turns.queue_sending`). Nothing here begins a turn.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Max, QuerySet
from django.utils.translation import gettext, gettext_noop

from accounts.models import User
from agent.authorship.quoted import Range
from agent.messages import sanitise_text
from chat.errors import RefusalCode, Refused
from chat.models import Attachment, Conversation, Message, QueuedPrompt
from chat.protocol import from_rows
from chat.protocol.broadcast import conversation_group, emit_later, emit_queue_news
from chat.protocol.frames import MAX_FOCUS
from chat.queries.queue import PAUSED
from chat.services.library import attachments
from chat.services.turns.turns import NewMessage, Prompt, make_prompt

MOST_QUEUED = 50  # in one conversation

STOPPED = gettext_noop("You stopped the answer, so nothing is sent by itself.")
FAILED = gettext_noop("The answer failed, so nothing is sent by itself.")
RESTORED = gettext_noop("The chat was deleted and restored, so nothing is sent by itself.")


class AlreadySent(Exception):
    """A prompt with that `client_id` is a message by now, whose id this has."""

    def __init__(self, message_id: int) -> None:
        super().__init__(message_id)
        self.message_id = message_id


def queue_prompt(
    owner_id: int,
    conversation_id: UUID,
    new: NewMessage,
    *,
    model: str = "",
    send_now: bool = False,
) -> QueuedPrompt:
    """Put a message into the queue of a conversation; from any process. It goes out at once where
    the conversation is free and nothing is before it. `model` answers this alone, "": the
    conversation's. `send_now`: it goes in between two tool rounds of the answer that runs.

    `new.client_id` is needed: for a repeated one the row is returned that is there. Raises
    AlreadySent where that is a message by now, Refused as a send does and where too many wait, and
    DoesNotExist (of User or Conversation) where the owner may not write there.
    """
    assert new.client_id
    owner = User.objects.get(pk=owner_id, is_active=True)
    prompt = _prepare(owner, new.text, new.files, new.pasted)
    with transaction.atomic():
        conversation = _lock(owner, conversation_id)
        if known := _find_known(conversation, new.client_id):
            tell_queue(conversation.pk)
            return known
        return _append(
            conversation,
            prompt.files,
            text=prompt.text,
            pasted=prompt.pasted,
            client_id=new.client_id,
            source=new.source,
            model=model,
            time_zone=new.zone,
            send_now=send_now,
        )


def queue_compaction(
    owner: User, conversation_id: UUID, focus: str, *, client_id: str
) -> QueuedPrompt:
    """Put `/compact` into the queue. Raises as `queue_prompt`."""
    with transaction.atomic():
        conversation = _lock(owner, conversation_id)
        if known := _find_known(conversation, client_id):
            tell_queue(conversation.pk)
            return known
        command = QueuedPrompt.Command.COMPACT
        return _append(conversation, (), command=command, text=focus, client_id=client_id)


def load_queued(owner: User, conversation_id: UUID, queued_id: int) -> QueuedPrompt:
    """A prompt of a queue of the owner's. Refused (`not_queued`) where it has gone out."""
    rows = QueuedPrompt.objects.filter(conversation__in=Conversation.objects.of(owner))
    row = rows.filter(conversation=conversation_id, pk=queued_id).first()
    if row is None:
        raise Refused(
            RefusalCode.NOT_QUEUED,
            gettext("This is no longer in the queue: it has just been sent, or was removed."),
        )
    return row


def list_file_ids(row: QueuedPrompt) -> list[str]:
    """The ids of a prompt's files, in the order in which they were attached."""
    links = QueuedPrompt.attachments.through.objects.filter(queuedprompt=row.pk).order_by("pk")
    return list(map(str, links.values_list("attachment", flat=True)))


def edit_queued(
    owner: User,
    conversation_id: UUID,
    queued_id: int,
    text: str,
    pasted: Sequence[Range] | None = None,
) -> None:
    """Change what a prompt says; its files stay. It may go out again if it had a problem. Refused
    where it has gone out meanwhile (`not_queued`), and as a send is."""
    row = load_queued(owner, conversation_id, queued_id)
    changed: dict[str, Any]
    if row.command:
        changed = {"text": _check_focus(text)}
    else:
        prompt = _prepare(owner, text, list_file_ids(row), pasted)
        changed = {"text": prompt.text, "pasted": prompt.pasted}
    _change(owner, conversation_id, queued_id, problem=None, **changed)


def send_queued_now(owner: User, conversation_id: UUID, queued_id: int) -> None:
    """Let a prompt go in between two tool rounds of the answer that runs, or else be the next one.
    Refused (`not_queued`) where it has gone out."""
    _change(owner, conversation_id, queued_id, problem=None, send_now=True)


def resume_queue(owner: User, conversation_id: UUID) -> None:
    """Try again to send what has a problem, or was set aside."""
    with transaction.atomic():
        conversation = _lock(owner, conversation_id)
        conversation.queued_prompts.update(problem=None)
        tell_queue(conversation.pk)


def remove_queued(owner: User, conversation_id: UUID, queued_id: int) -> None:
    """Take a prompt out of the queue, with files that nothing else holds. Refused (`not_queued`)
    where it has gone out."""
    with transaction.atomic():
        _lock(owner, conversation_id)
        row = load_queued(owner, conversation_id, queued_id)
        delete_queued(QueuedPrompt.objects.filter(pk=row.pk))
        tell_queue(conversation_id)


def delete_queued(rows: QuerySet[QueuedPrompt]) -> None:
    """Delete queued prompts with the files that nothing else holds. In the caller's transaction."""
    files = list(Attachment.objects.filter(queued_prompts__in=rows).values_list("pk", flat=True))
    rows.delete()
    attachments.discard_unused(Attachment.objects.filter(pk__in=files))


def pause_queue(conversation_id: UUID, words: str) -> None:
    """Set aside what waits: none of it goes out before its author says so. `words` say why, marked
    by `gettext_noop`. In the transaction that gives the reason."""
    waiting = QueuedPrompt.objects.filter(conversation=conversation_id, problem__isnull=True)
    if waiting.update(problem={"code": PAUSED, "message": words}):
        tell_queue(conversation_id)


def note_problem(queued: QueuedPrompt, refusal: Refused) -> None:
    """Keep why a prompt could not go out, as it was read: it waits for its author."""
    with transaction.atomic():
        row = QueuedPrompt.objects.filter(pk=queued.pk, text=queued.text)
        row.update(problem={"code": refusal.code, "message": refusal.message})
        tell_queue(queued.conversation_id)


# --- Parts ----------------------------------------------------------------------------------------


def _prepare(
    owner: User, text: str, files: Sequence[str], pasted: Sequence[Range] | None
) -> Prompt:
    """Refused where it could not be sent."""
    attached = attachments.load_for_sending(owner, files)
    others = [attachments.make_reference(each) for each in attached]
    return make_prompt(text, pasted, others, attached)


def _check_focus(text: str) -> str:
    focus = sanitise_text(text).strip()
    if len(focus) > MAX_FOCUS:
        words = gettext("What a summary is to keep can be said in {count:,} characters at most.")
        raise Refused(RefusalCode.MESSAGE_TOO_LONG, words.format(count=MAX_FOCUS))
    return focus


def _lock(owner: User, conversation_id: UUID) -> Conversation:
    """Whoever changes a queue holds its conversation."""
    return Conversation.objects.of(owner).select_for_update().get(pk=conversation_id)


def _find_known(conversation: Conversation, client_id: str) -> QueuedPrompt | None:
    known = conversation.queued_prompts.filter(client_id=client_id).first()
    sent = Message.objects.filter(conversation=conversation, client_id=client_id)
    if known is None and (pk := sent.values_list("pk", flat=True).first()):
        raise AlreadySent(pk)
    return known


def _append(conversation: Conversation, files: Sequence[Attachment], **values: Any) -> QueuedPrompt:
    waiting = conversation.queued_prompts
    if waiting.count() >= MOST_QUEUED:
        raise Refused(
            RefusalCode.QUEUE_FULL,
            gettext(
                "{count} messages wait in this chat already. Your text is kept; send it when some "
                "of them have been answered."
            ).format(count=MOST_QUEUED),
        )
    last = waiting.aggregate(last=Max("position"))["last"] or 0
    row = QueuedPrompt.objects.create(conversation=conversation, position=last + 1, **values)
    link = QueuedPrompt.attachments.through
    link.objects.bulk_create(link(queuedprompt=row, attachment=each) for each in files)
    tell_queue(conversation.pk)
    return row


def _change(owner: User, conversation_id: UUID, queued_id: int, **values: Any) -> None:
    with transaction.atomic():
        _lock(owner, conversation_id)
        row = load_queued(owner, conversation_id, queued_id)
        QueuedPrompt.objects.filter(pk=row.pk).update(**values)
        tell_queue(conversation_id)


def tell_queue(conversation_id: UUID) -> None:
    """When this is committed, let a web process send from the queue, and show it in every tab: the
    list takes a while to be drawn, in which a round of tools may end."""
    emit_queue_news(conversation_id)
    emit_later(
        conversation_group(conversation_id), lambda: from_rows.queue_changed(conversation_id)
    )
