"""The data. `docs/architecture.md` says how the rows of one turn and one compaction come about.

Message content is immutable: an edit or a retry makes a sibling and switches which one is `active`.
Only `chat.services` writes.
"""

from chat.models.announcement import Announcement
from chat.models.attachment import Attachment
from chat.models.compaction import Compaction
from chat.models.conversation import Conversation
from chat.models.imports import ImportFile, ImportJob, ImportOffer, MessageOrigin, Origin
from chat.models.mcp_server import McpServer
from chat.models.memory import Memory, MemoryProposal
from chat.models.message import CallEnd, Message
from chat.models.model_profile import ModelProfile
from chat.models.project import Project
from chat.models.provider import Provider
from chat.models.queued_prompt import QueuedPrompt
from chat.models.scheduled_prompt import ScheduledPrompt
from chat.models.search_entry import SearchEntry
from chat.models.share import Share
from chat.models.slack import (
    SlackConnection,
    SlackEvent,
    SlackMessage,
    SlackPost,
    SlackThread,
)
from chat.models.turn import Turn

__all__ = [
    "Announcement",
    "Attachment",
    "CallEnd",
    "Compaction",
    "Conversation",
    "ImportFile",
    "ImportJob",
    "ImportOffer",
    "McpServer",
    "Memory",
    "MemoryProposal",
    "Message",
    "MessageOrigin",
    "ModelProfile",
    "Origin",
    "Project",
    "Provider",
    "QueuedPrompt",
    "ScheduledPrompt",
    "SearchEntry",
    "Share",
    "SlackConnection",
    "SlackEvent",
    "SlackMessage",
    "SlackPost",
    "SlackThread",
    "Turn",
]
