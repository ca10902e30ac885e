"""A conversation as a file, read page by page: as much memory as one page, whatever its length."""

import json
from collections.abc import AsyncIterator
from typing import Any

from chat.db.threads import in_db
from chat.models import Conversation, Message

PAGE = 200


async def export_markdown(conversation: Conversation) -> AsyncIterator[str]:
    """The shown branch, to be read."""
    yield f"# {conversation}\n"
    async for row in _rows(conversation, active=True):
        who = "You" if row.role == Message.Role.USER else row.model or "Assistant"
        left_out = ", left out of the context" if row.left_out else ""
        when = f"{row.created_at:%Y-%m-%d %H:%M} UTC{left_out}"
        yield f"\n## #{row.number} {who}, {when}\n\n{row.text}\n"


async def export_json(conversation: Conversation) -> AsyncIterator[str]:
    """Everything, other branches too, with the blocks as the API takes them."""
    about = {
        "id": str(conversation.pk),
        "title": str(conversation),
        "model": conversation.model,
        "system_prompt": conversation.system_prompt,
        "created_at": conversation.created_at,
        "summary": conversation.compressed_context,
    }
    yield json.dumps(about, default=str, ensure_ascii=False, indent=1)[:-2] + ',\n "messages": ['
    comma = ""
    async for row in _rows(conversation):
        yield comma + "\n  " + json.dumps(_message(row), default=str, ensure_ascii=False)
        comma = ","
    yield "\n ]\n}\n"


def _message(row: Message) -> dict[str, Any]:
    return {
        "number": row.number,
        "parent": row.parent.number if row.parent else None,
        "shown": row.active,
        "left_out": row.left_out,
        "role": row.role,
        "blocks": row.blocks,
        "status": row.status,
        "model": row.model,
        "usage": row.usage,
        "created_at": row.created_at,
    }


async def _rows(conversation: Conversation, **only: bool) -> AsyncIterator[Message]:
    number = 0
    while rows := await in_db(_page, conversation, number, only):
        for row in rows:
            yield row
        number = rows[-1].number


def _page(conversation: Conversation, number: int, only: dict[str, bool]) -> list[Message]:
    # A slow reader may ask for the next page after the conversation was handed to somebody else.
    owned = conversation.messages.filter(conversation__owner=conversation.owner_id)
    rows = owned.filter(number__gt=number, **only).select_related("parent")
    return list(rows.order_by("number")[:PAGE])
