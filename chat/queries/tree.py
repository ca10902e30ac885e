"""Reading the tree of a conversation's messages: siblings, and ways through it.

A message's siblings have the same parent. The active branch is an index range of positions; other
branches are found by walking, which costs only what differs from the active branch.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Q

from chat.models import Conversation, Message

_CLIMB = """
    WITH RECURSIVE path(id, parent_id, position, active) AS (
        SELECT id, parent_id, position, active FROM chat_message WHERE id = %s
        UNION ALL
        SELECT m.id, m.parent_id, m.position, m.active
        FROM chat_message m JOIN path ON m.id = path.parent_id WHERE NOT path.active
    )
    SELECT id, parent_id, position, active FROM path ORDER BY position DESC
"""
_NEWEST_LEAF = """
    WITH RECURSIVE below(id, number) AS (
        SELECT id, number FROM chat_message WHERE id = %s
        UNION ALL
        SELECT m.id, m.number FROM chat_message m JOIN below ON m.parent_id = below.id
    )
    SELECT id, number FROM below ORDER BY number DESC LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Variants:
    """A message among its siblings: the `index`-th of `count`, from 1, and its neighbours' ids."""

    index: int
    count: int
    previous: int | None
    next: int | None


def find_nearest_sibling(message: Message) -> Message | None:
    """The variant before a message, or else the one after it."""
    siblings = Message.objects.filter(conversation=message.conversation_id, parent=message.parent)
    before = siblings.filter(number__lt=message.number).order_by("-number")
    return before.first() or siblings.filter(number__gt=message.number).order_by("number").first()


def load_path_to_active(tip: Message) -> list[Message]:
    """From a message up to the nearest one that is active, both included; only the fields of the
    tree are loaded."""
    return list(Message.objects.raw(_CLIMB, [tip.pk]))


def find_newest_leaf(message: Message) -> Message:
    """The end of the branch through a message that was written to last."""
    return Message.objects.raw(_NEWEST_LEAF, [message.pk])[0]


def leads_through(message: Message, tip: Message) -> bool:
    """Whether the way from the first message to `tip` goes through `message`, an active one."""
    joint = find_joint(tip)
    return joint.active and joint.position >= message.position


def find_joint(tip: Message) -> Message:
    """Where the way to `tip` leaves the active branch; its first message, where it never was on
    it."""
    return tip if tip.active else load_path_to_active(tip)[-1]


def find_next_towards(message: Message, tip: Message) -> Message | None:
    """The message after `message`, an active one, on the way to `tip`; None where it is the tip."""
    way = [tip] if tip.active else load_path_to_active(tip)
    if way[-1].pk == message.pk:
        return way[-2] if len(way) > 1 else None
    later = Message.objects.filter(
        conversation=message.conversation_id, active=True, position__gt=message.position
    )
    return later.order_by("position").first()


def find_variants(conversation: Conversation, messages: Sequence[Message]) -> dict[int, Variants]:
    """Those of the messages that have siblings, by id. One query, or none where they end with the
    newest message and nothing was ever branched off."""
    if not messages or messages[-1].number + 1 == conversation.next_number == _linear(messages[-1]):
        return {}
    parents = {message.parent_id for message in messages}
    among = Q(parent__in=parents - {None})
    if None in parents:
        among |= Q(parent=None)
    rows = Message.objects.filter(among, conversation=conversation).order_by("number")
    siblings: dict[int | None, list[int]] = defaultdict(list)
    for pk, parent in rows.values_list("pk", "parent_id"):
        siblings[parent].append(pk)
    return {
        message.pk: _among(siblings[message.parent_id], message.pk)
        for message in messages
        if len(siblings[message.parent_id]) > 1
    }


def find_newest_variant(message: Message) -> Variants | None:
    """A message that was just written, among its siblings. No query where nothing was ever
    branched off before it."""
    if message.number + 1 == _linear(message):
        return None
    return find_variants(message.conversation, [message]).get(message.pk)


def _linear(message: Message) -> int:
    """The number after a message's, if the whole conversation up to it is one line."""
    return message.position + 2


def _among(ids: Iterable[int], pk: int) -> Variants:
    ordered = list(ids)
    index = ordered.index(pk)
    return Variants(
        index + 1,
        len(ordered),
        ordered[index - 1] if index else None,
        ordered[index + 1] if index + 1 < len(ordered) else None,
    )
