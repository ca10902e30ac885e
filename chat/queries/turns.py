"""Reading one turn with what it has written. Writes nothing."""

from uuid import UUID

from agent.messages import plain_text
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
    """What a turn has written, from the message with a number on."""
    rows = Message.objects.filter(turn=turn_id, role=Message.Role.ASSISTANT, number__gte=number)
    return list(rows.only("number", "status", "blocks").order_by("number"))


def read_written(answer: Message) -> str:
    """The text of an answer as it streamed, with the pages that it cites: without its calls of
    tools, which `Message.text` names too."""
    return plain_text(block for block in answer.blocks if block.get("type") == "text")
