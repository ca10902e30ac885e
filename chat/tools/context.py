"""compact_context."""

from typing import Any

from agent.compaction.policy import Trigger
from agent.errors import ToolError
from chat.db.threads import in_tool_db
from chat.engine.state import load_state
from chat.protocol.frames import MAX_FOCUS
from chat.queries import summary_versions
from chat.services.turns import rounds
from chat.tools.scope import Scope


async def compact_context(scope: Scope, input: dict[str, Any]) -> str:
    def ask() -> None:
        if summary_versions.plan_for(load_state(scope.conversation_id), Trigger.TOOL) is None:
            raise ToolError("There is too little to compact yet.")
        rounds.request_compaction(scope.conversation_id, str(input.get("focus", ""))[:MAX_FOCUS])

    await in_tool_db(ask)
    return "The older part will be summarised before your next step."
