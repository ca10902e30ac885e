"""What belongs together on the shown branch: an exchange, and a tool call with its result."""

from collections.abc import Sequence

from chat.engine.recent_messages import read_original
from chat.models import Message

CHUNK = 20  # messages that are read at once


def load_exchange(message: Message) -> list[Message]:
    """The messages from the user's that a shown message belongs to, with the whole answer and its
    rounds of tools, to before the next one. The first of a conversation may be an answer."""
    branch = Message.objects.filter(conversation=message.conversation_id, active=True)
    before = branch.filter(position__lte=message.position).order_by("-position")
    rows: list[Message] = []
    for row in before.iterator(chunk_size=CHUNK):
        if rows and _begins_exchange(rows[0], row):
            break
        rows.insert(0, row)
    after = branch.filter(position__gt=message.position).order_by("position")
    for row in after.iterator(chunk_size=CHUNK):
        if _begins_exchange(row, rows[-1]):
            break
        rows.append(row)
    return rows


def _begins_exchange(row: Message, before: Message) -> bool:
    """A prompt that came with results belongs to the calls before it, and one that was said while
    an answer was being written belongs to that."""
    message = read_original(row)
    same_turn = row.turn_id is not None and row.turn_id == before.turn_id
    return message.is_prompt and not (message.holds_tool_results or same_turn)


def select_paired(exchange: Sequence[Message], message: Message) -> list[Message]:
    """Those of an exchange that cannot be sent without one of it: it holds their tools' results, or
    they hold its."""
    calls = {row.pk: _list_call_ids(row) for row in exchange}
    chosen, ids = {message.pk}, calls[message.pk]
    while more := [pk for pk, own in calls.items() if pk not in chosen and ids & own]:
        chosen.update(more)
        ids = ids.union(*(calls[pk] for pk in more))
    return [row for row in exchange if row.pk in chosen]


def _list_call_ids(row: Message) -> set[str]:
    """The ids of the tool calls that a message makes or answers."""
    blocks = [block for block in row.blocks if isinstance(block, dict)]
    made = {block.get("id") for block in blocks if str(block.get("type")).endswith("tool_use")}
    answered = {block.get("tool_use_id") for block in blocks}
    return {each for each in made | answered if each}
