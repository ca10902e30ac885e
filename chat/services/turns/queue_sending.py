"""Queued prompts become messages: each once, in the transaction that deletes its row."""

from django.db import transaction

from chat.db.rows import read_row
from chat.errors import Refused
from chat.models import Conversation, Message, QueuedPrompt, Turn
from chat.protocol.pasted import convert_to_units
from chat.queries.queue import list_steering
from chat.services.summary import summaries
from chat.services.summary.summaries import CompactionTurn
from chat.services.turns import requests
from chat.services.turns.queue import list_file_ids, note_problem, tell_queue
from chat.services.turns.requests import AnswerStart
from chat.services.turns.turns import NewMessage, Prompt, find_head, lock_turn, store_prompt


def begin_queued(queued: QueuedPrompt, *, holder: str) -> AnswerStart | CompactionTurn | None:
    """Send a queued prompt, with its conversation and that one's owner, and begin its turn; None
    where it is not there any more as it was read. Raises as `requests.send_message` and
    `summaries.open_compaction_turn`: then it stays in the queue."""
    owner, conversation_id = queued.conversation.owner, queued.conversation_id
    prompt = None if queued.command else prepare_queued(queued)
    with transaction.atomic():
        # Whoever changes a queue holds its conversation.
        if read_row(Conversation, lock=True, pk=conversation_id, owner=owner.pk) is None:
            return None
        if not take_unchanged(queued):
            return None
        tell_queue(conversation_id)
        if prompt is None:
            return summaries.open_compaction_turn(
                owner, conversation_id, focus=queued.text, holder=holder
            )
        return requests.send_prompt(
            owner,
            conversation_id,
            prompt,
            expected_head=None,
            holder=holder,
            model=queued.model,
        )


def put_in_between(turn_id: int) -> None:
    """Between two rounds of tools of a turn, store what its user wants to be told at once: the next
    request ends with it, after the results. Raises TurnEnded."""
    conversation_id = Turn.objects.values_list("conversation", flat=True).filter(pk=turn_id).first()
    ready: list[tuple[QueuedPrompt, Prompt]] = []
    for queued in list_steering(conversation_id) if conversation_id else []:
        try:
            ready.append((queued, prepare_queued(queued)))
        except Refused as refusal:
            note_problem(queued, refusal)
            break
    if not ready:
        return
    with transaction.atomic():
        turn = lock_turn(turn_id)
        conversation = read_row(Conversation, lock=True, pk=turn.conversation_id)
        assert conversation is not None
        head = find_head(conversation)
        # As in `send_prompt`: a program may have sent with the same id what it had queued.
        ids = [queued.client_id for queued, _ in ready]
        known = Message.objects.filter(conversation=conversation, client_id__in=ids)
        sent = set(known.values_list("client_id", flat=True))
        for queued, prompt in ready:
            if take_unchanged(queued) and queued.client_id not in sent:
                head = store_prompt(prompt, conversation, head, turn)
        tell_queue(conversation.pk)


def prepare_queued(queued: QueuedPrompt) -> Prompt:
    """A queued prompt, ready to be stored. Refused where it cannot be sent any more. Counts tokens:
    not inside a transaction."""
    pasted = queued.pasted
    new = NewMessage(
        queued.text,
        list_file_ids(queued),
        None if pasted is None else convert_to_units(queued.text, [(a, b) for a, b in pasted]),
        queued.client_id,
        queued.time_zone,
        Message.Source(queued.source),
    )
    return requests.prepare_prompt(queued.conversation.owner, new)


def take_unchanged(queued: QueuedPrompt) -> bool:
    """Take a prompt out of the queue, if it is there as it was read. The caller's transaction holds
    the conversation."""
    row = QueuedPrompt.objects.filter(pk=queued.pk, problem__isnull=True).first()
    if row is None or (row.text, row.pasted) != (queued.text, queued.pasted):
        return False
    row.delete()
    return True
