"""What the model is told of the time: a line before a user's message, stored with it, so that every
later request begins with the same bytes. `agent.clock` words it."""

from collections.abc import Sequence

from django.utils import timezone

from agent.clock import Told, choose_line, is_worth_telling, write_again, write_line
from chat.db.rows import Values
from chat.engine.model_server import get_counter
from chat.engine.recent_messages import load_recent_messages, name_zone
from chat.models import Conversation, Message
from chat.services.turns.message_changes import update_messages


def tell_time(conversation: Conversation, after: Message | None, zone: str, tokens: int) -> Values:
    """The columns of a new prompt of `tokens` without it, which follows the message `after` and
    whose author is in `zone`."""
    now = timezone.now()
    before = _find_told(load_recent_messages(conversation).rows)
    last = after.created_at.timestamp() if after else None
    line = choose_line(before, Told(now.timestamp(), zone), last)
    return {
        "time_zone": zone,
        "time_line": line,
        "time_told": now if line else None,
        "tokens": tokens + get_counter().count(line),
    }


def tell_time_again(conversation: Conversation, prompt: Message, zone: str) -> None:
    """Before a prompt is answered anew: if it is of another hour, its line says both when it was
    said and what time it is now. Not where rounds of tools follow it: their thinking was written
    after the prompt as it is. The caller's transaction holds the conversation."""
    rows = load_recent_messages(conversation).rows
    if rows and rows[-1].pk != prompt.pk:
        return
    now = timezone.now()
    told = Told(now.timestamp(), zone)
    before = _find_told([*rows, prompt])
    own = Told(prompt.created_at.timestamp(), name_zone(prompt))
    if not is_worth_telling(before or own, told):
        return
    line = write_again(prompt.time_line or write_line(own), told)
    count = get_counter().count
    update_messages(
        conversation,
        Message.objects.filter(pk=prompt.pk),
        time_zone=own.zone,
        time_line=line,
        time_told=now,
        tokens=prompt.tokens - count(prompt.time_line) + count(line),
    )


def _find_told(rows: Sequence[Message]) -> Told | None:
    """The last time that a request with these messages tells."""
    for row in reversed(rows):
        if row.time_told and not row.left_out:
            return Told(row.time_told.timestamp(), name_zone(row))
    return None
