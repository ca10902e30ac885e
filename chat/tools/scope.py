"""Whose data a tool call may touch."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from agent.context.shortening.previews import RESULT_TOKENS
from chat.engine.model_server import get_counter


@dataclass(frozen=True, slots=True)
class Scope:
    """The conversation that a tool was called in, its owner, and the raw tokens that the result may
    have to be sent whole."""

    conversation_id: UUID
    owner_id: int
    room: int = RESULT_TOKENS

    def fit(self, parts: Iterable[str], most: int) -> list[str]:
        """As many parts as have `most` raw tokens together, and room; but at least one."""
        left = min(most, self.room)
        taken: list[str] = []
        for part in parts:
            left -= get_counter().count(part)
            if taken and left < 0:
                break
            taken.append(part)
        return taken
