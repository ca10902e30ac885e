"""remember, recall and forget."""

from typing import Any

from agent.errors import ToolError
from chat.db import in_db
from chat.errors import Refused
from chat.models import Memory
from chat.services import memories
from chat.tools.scope import Scope

RECALL_TOKENS = 4_000  # of a result at most, raw


async def remember(scope: Scope, input: dict[str, Any]) -> str:
    try:
        memory, new = await in_db(
            memories.remember, scope.owner_id, str(input["text"]), Memory.Source.AGENT
        )
    except Refused as refusal:
        raise ToolError(refusal.message) from refusal
    return f"{'Remembered' if new else 'Known already'}: [{memory.pk}] {memory.text}"


async def recall(scope: Scope, input: dict[str, Any]) -> str:
    rows = await in_db(memories.recall, scope.owner_id, str(input.get("query", "")))
    told = scope.fitting((f"[{row.pk}] {row.text}" for row in rows), RECALL_TOKENS)
    if len(told) < len(rows):
        told.append(f"[{len(rows) - len(told)} more: recall with a query finds them]")
    return "\n".join(told) or "Nothing is remembered of this."


async def forget(scope: Scope, input: dict[str, Any]) -> str:
    number = input["id"]
    try:
        if not isinstance(number, int):
            raise ToolError("The id is a whole number; recall lists them.")
        text = await in_db(memories.forget, scope.owner_id, number)
    except (Memory.DoesNotExist, OverflowError) as error:
        raise ToolError(f"Nothing is remembered under {number}; recall lists the ids.") from error
    return f"Forgotten: {text}"
