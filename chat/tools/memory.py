"""remember, recall and forget."""

from typing import Any

from django.conf import settings

from agent.clock import to_local
from agent.errors import ToolError
from chat.db.threads import in_tool_db
from chat.errors import Refused
from chat.models import Memory
from chat.services.library import memories
from chat.tools.said import load_user_words
from chat.tools.scope import Scope

RECALL_TOKENS = 4_000  # of a result at most, raw
ASKED = (
    "{done} yet: the user did not say this themselves in the message that you answer, so the page "
    "asks them now. It has no effect until they agree; do not tell them that it was done."
)


async def remember(scope: Scope, input: dict[str, Any]) -> str:
    """Keep what the user said; propose to keep anything else."""
    try:
        return await in_tool_db(_remember, scope, str(input["text"]))
    except Refused as refusal:
        raise ToolError(refusal.message) from refusal


def _remember(scope: Scope, text: str) -> str:
    said = load_user_words(scope.conversation_id)
    if not said.has_all_of(text):
        place = scope.conversation_id, said.number
        proposal = memories.propose_fact(scope.owner_id, text, *place)
        return ASKED.format(done="Not remembered") if proposal else "Known already."
    memory, new = memories.remember_fact(
        scope.owner_id,
        text,
        Memory.Source.AGENT,
        project_id=memories.find_project_of(scope.conversation_id),
        conversation_id=scope.conversation_id,
        message_number=said.number,
    )
    return f"{'Remembered' if new else 'Known already'}: [{memory.pk}] {memory.text}"


async def recall(scope: Scope, input: dict[str, Any]) -> str:
    rows = await in_tool_db(_recall, scope, str(input.get("query", "")))
    told = scope.fit(map(_told, rows), RECALL_TOKENS)
    if len(told) < len(rows):
        told.append(f"[{len(rows) - len(told)} more: recall with a query finds them]")
    return "\n".join(told) or "Nothing is remembered about this."


def _told(memory: Memory) -> str:
    """A fact, and the day on which it was remembered."""
    day = to_local(memory.created_at.timestamp(), settings.TIME_ZONE).date()
    return f"[{memory.pk}] {memory.text} ({day.isoformat()})"


def _recall(scope: Scope, query: str) -> list[Memory]:
    project_id = memories.find_project_of(scope.conversation_id)
    return memories.recall_facts(scope.owner_id, query, project_id)


async def forget(scope: Scope, input: dict[str, Any]) -> str:
    """Delete what the user named; propose to delete anything else."""
    number = input["id"]
    try:
        if not isinstance(number, int):
            raise ToolError("The id is a whole number; recall lists them.")
        return await in_tool_db(_forget, scope, number)
    except (Memory.DoesNotExist, OverflowError) as error:
        raise ToolError(f"Nothing is remembered under {number}; recall lists the ids.") from error
    except Refused as refusal:
        raise ToolError(refusal.message) from refusal


def _forget(scope: Scope, number: int) -> str:
    project_id = memories.find_project_of(scope.conversation_id)
    memory = memories.list_told(scope.owner_id, project_id).get(pk=number)
    said = load_user_words(scope.conversation_id)
    if said.has_any_of(memory.text):
        return f"Forgotten: {memories.forget_fact(scope.owner_id, number)}"
    memories.propose_to_forget(memory, scope.conversation_id, said.number)
    return ASKED.format(done="Not forgotten")
