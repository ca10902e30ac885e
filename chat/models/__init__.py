"""The data. `docs/architecture.md` says how the rows of one turn and one compaction come about.

Message content is immutable: an edit or a retry makes a sibling and switches which one is `active`.
Only `chat.services` writes.
"""

from chat.models.attachments import Attachment
from chat.models.compactions import Compaction
from chat.models.conversations import Conversation, Message, Turn
from chat.models.mcp import McpServer
from chat.models.memory import Memory, MemoryProposal
from chat.models.profiles import ModelProfile
from chat.models.search import SearchEntry

__all__ = [
    "Attachment",
    "Compaction",
    "Conversation",
    "McpServer",
    "Memory",
    "MemoryProposal",
    "Message",
    "ModelProfile",
    "SearchEntry",
    "Turn",
]
