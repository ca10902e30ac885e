"""Reading one turn with what it has written. Writes nothing."""

from uuid import UUID

from chat.models import Conversation, Message, Turn


def find_turn(owner_id: int, conversation_id: UUID, turn_id: int) -> Turn:
    """A turn of the owner's conversation. Turn.DoesNotExist for anybody else's."""
    return Turn.objects.get(
        pk=turn_id, conversation__in=Conversation.objects.of(owner_id).filter(pk=conversation_id)
    )


def load_turn(owner_id: int, conversation_id: UUID, turn_id: int) -> tuple[Turn, list[Message]]:
    """The same, and its messages in order with their parents and files."""
    turn = find_turn(owner_id, conversation_id, turn_id)
    rows = Message.objects.filter(turn=turn).select_related("parent")
    return turn, list(rows.prefetch_related("attachments").order_by("number"))


def load_answers(turn_id: int, number: int) -> list[Message]:
    """What a turn has written, from the message with a number on: their texts, without blocks."""
    rows = Message.objects.filter(turn=turn_id, role=Message.Role.ASSISTANT, number__gte=number)
    return list(rows.only("number", "status", "text").order_by("number"))
