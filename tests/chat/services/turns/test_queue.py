"""The queue's rows: who may change them, what stops them, and what takes them along."""

from functools import partial
from typing import Any
from uuid import uuid4

import pytest

from accounts.models import User
from chat.errors import RefusalCode, Refused
from chat.models import Attachment, Conversation, Message, QueuedPrompt
from chat.queries.queue import find_next, list_waiting
from chat.services.library import attachments, conversations
from chat.services.people.handing_over import hand_over
from chat.services.turns import queue, sweep
from chat.services.turns.queue_sending import begin_queued
from chat.services.turns.turns import NewMessage
from tests.chat.factories import make_conversation, make_turn, make_user
from tests.chat.listening import race

pytestmark = pytest.mark.on_both


def add(conversation: Conversation, text: str, **fields: Any) -> QueuedPrompt:
    send_now = fields.pop("send_now", False)
    new = NewMessage(text, client_id=uuid4().hex, **fields)
    return queue.queue_prompt(conversation.owner_id, conversation.pk, new, send_now=send_now)


def list_texts(conversation: Conversation) -> list[str]:
    rows = conversation.queued_prompts.order_by("position")
    return list(rows.values_list("text", flat=True))


@pytest.fixture
def two(conversation: Conversation) -> tuple[QueuedPrompt, QueuedPrompt]:
    return add(conversation, "first"), add(conversation, "second")


def refuse(row: QueuedPrompt, code: RefusalCode) -> None:
    queue.note_problem(row, Refused(code, "Words."))


def test_a_problem_stops_those_after_it_until_it_is_edited(
    conversation: Conversation, two: tuple[QueuedPrompt, QueuedPrompt]
) -> None:
    assert find_next(conversation.pk) == two[0]
    refuse(two[0], RefusalCode.BUDGET_USED)
    assert (find_next(conversation.pk), list_waiting()) == (None, {})
    queue.edit_queued(conversation.owner, conversation.pk, two[0].pk, "shorter")
    assert find_next(conversation.pk) == two[0]
    assert list_waiting() == {conversation.pk: True}


def test_what_is_set_aside_stops_nobody(
    conversation: Conversation, two: tuple[QueuedPrompt, QueuedPrompt]
) -> None:
    refuse(two[0], RefusalCode.NOTHING_TO_COMPACT)
    assert find_next(conversation.pk) == two[1]
    queue.pause_queue(conversation.pk, queue.STOPPED)
    assert find_next(conversation.pk) is None
    third = add(conversation, "third")
    assert find_next(conversation.pk) == third
    queue.resume_queue(conversation.owner, conversation.pk)
    assert find_next(conversation.pk) == two[0]


def test_what_is_to_be_sent_now_is_the_next_one(
    conversation: Conversation, two: tuple[QueuedPrompt, QueuedPrompt]
) -> None:
    queue.send_queued_now(conversation.owner, conversation.pk, two[1].pk)
    assert find_next(conversation.pk) == two[1]


def test_nothing_goes_out_while_a_turn_runs(
    conversation: Conversation, two: tuple[QueuedPrompt, QueuedPrompt]
) -> None:
    make_turn(conversation)
    assert find_next(conversation.pk) is None
    assert list_waiting() == {conversation.pk: False}


def test_nothing_goes_out_for_a_person_who_is_disabled(
    conversation: Conversation, two: tuple[QueuedPrompt, QueuedPrompt]
) -> None:
    User.objects.update(is_active=False)
    assert (find_next(conversation.pk), list_waiting()) == (None, {})
    with pytest.raises(User.DoesNotExist):
        add(conversation, "third")


def test_in_the_bin_it_waits_and_is_paused_when_the_chat_is_restored(
    conversation: Conversation, two: tuple[QueuedPrompt, QueuedPrompt]
) -> None:
    conversations.discard_conversations(conversation.owner, [conversation.pk])
    assert list_waiting() == {}
    with pytest.raises(Conversation.DoesNotExist):
        add(conversation, "third")
    conversations.restore_conversations(conversation.owner, [conversation.pk])
    assert list_waiting() == {}
    queue.resume_queue(conversation.owner, conversation.pk)
    assert list_waiting() == {conversation.pk: True}


def test_it_is_not_handed_over_and_its_files_go(conversation: Conversation) -> None:
    file = attachments.store_unsent(conversation.owner, "plan.txt", b"A plan")
    add(conversation, "private", files=[str(file.pk)])
    hand_over([], [conversation.pk], make_user("bob"), by=None)
    assert not QueuedPrompt.objects.exists()
    assert not Attachment.objects.exists()


def test_files_wait_with_it_for_longer_than_unsent_ones_and_go_with_it(
    conversation: Conversation,
) -> None:
    owner = conversation.owner
    files = [attachments.store_unsent(owner, f"{n}.txt", b"A plan") for n in "cab"]
    row = add(conversation, "", files=[str(each.pk) for each in files])
    Attachment.objects.update(created_at="2020-01-01T00:00Z")
    assert attachments.delete_unsent() == 0
    queue.edit_queued(owner, conversation.pk, row.pk, "Read them")
    next_one = find_next(conversation.pk)
    assert next_one
    begun = begin_queued(next_one, holder="test")
    assert begun
    message = Message.objects.get(client_id=row.client_id)
    assert [block.get("title") for block in message.blocks] == ["c.txt", "a.txt", "b.txt", None]
    assert message.attachments.count() == 3
    sweep.interrupt_all_of("test")
    queue.remove_queued(
        owner,
        conversation.pk,
        add(conversation, "", files=[str(attachments.store_unsent(owner, "d.txt", b"D").pk)]).pk,
    )
    assert Attachment.objects.count() == 3


def test_a_deleted_chat_takes_its_queue_and_the_files_of_that_along(
    conversation: Conversation,
) -> None:
    file = attachments.store_unsent(conversation.owner, "plan.txt", b"A plan")
    add(conversation, "With a plan", files=[str(file.pk)])
    conversations.delete_conversation(conversation)
    assert not QueuedPrompt.objects.exists()
    assert not Attachment.objects.exists()


def test_others_neither_see_nor_change_it(
    conversation: Conversation, two: tuple[QueuedPrompt, QueuedPrompt]
) -> None:
    stranger = make_user("bob")
    own = make_conversation(owner=stranger)
    for conversation_id in (conversation.pk, own.pk):
        with pytest.raises((Refused, Conversation.DoesNotExist)):
            queue.load_queued(stranger, conversation_id, two[0].pk)
        with pytest.raises((Refused, Conversation.DoesNotExist)):
            queue.remove_queued(stranger, conversation_id, two[0].pk)
        with pytest.raises((Refused, Conversation.DoesNotExist)):
            queue.edit_queued(stranger, conversation_id, two[0].pk, "Mine")
    with pytest.raises(Conversation.DoesNotExist):
        queue.resume_queue(stranger, conversation.pk)
    assert list_texts(conversation) == ["first", "second"]


def test_fifty_wait_in_a_chat_and_no_more(conversation: Conversation) -> None:
    for number in range(queue.MOST_QUEUED):
        add(conversation, str(number))
    with pytest.raises(Refused) as refused:
        add(conversation, "one more")
    assert refused.value.code == RefusalCode.QUEUE_FULL
    assert list_texts(conversation) == [str(number) for number in range(queue.MOST_QUEUED)]


def test_of_two_processes_one_sends_it_and_an_edit_in_that_moment_wins_or_is_refused(
    conversation: Conversation,
) -> None:
    for number in range(5):
        add(conversation, f"before {number}")
        row = find_next(conversation.pk)
        assert row
        edit = partial(queue.edit_queued, conversation.owner, conversation.pk, row.pk, "after")
        send = partial(begin_queued, row, holder="test")
        *begun, edited = race(send, send, edit)
        started = [each for each in begun if not isinstance(each, Exception) and each]
        said = Message.objects.filter(client_id=row.client_id).values_list("text", flat=True)
        if started:
            assert (len(started), list(said)) == (1, [f"before {number}"])
            assert isinstance(edited, Refused)
            assert not list_texts(conversation)
        else:
            assert (edited, list(said)) == (None, [])
            assert list_texts(conversation) == ["after"]
            queue.remove_queued(conversation.owner, conversation.pk, row.pk)
        sweep.interrupt_all_of("test")


def test_the_turn_of_a_process_that_died_pauses_the_queue(
    conversation: Conversation, two: tuple[QueuedPrompt, QueuedPrompt]
) -> None:
    assert begin_queued(two[0], holder="test")
    sweep.interrupt_all_of("test")
    (left,) = conversation.queued_prompts.all()
    assert left.problem == {"code": "paused", "message": queue.FAILED}
    assert Message.objects.filter(client_id=two[0].client_id).exists()
