"""The conversations that a user used last, as the start page offers them. Writes nothing."""

from dataclasses import dataclass

from django.db.models import OuterRef, Q, Subquery
from django.db.models.functions import Left

from accounts.models import User
from agent.compaction.chapters.outlook import Outlook, read_opening, read_outlook
from agent.context.summary import Summary
from chat.models import Conversation, Message

RECENT = 3
OPENING = 1_000  # characters of an answer in which a line of prose is looked for


@dataclass(frozen=True, slots=True)
class Recent:
    """A conversation, and where it stands: what its summary says, else a line of its last answer,
    "" for none."""

    conversation: Conversation
    outlook: Outlook
    opening: str


def list_recent(user: User) -> list[Recent]:
    """Newest first, without temporary and archived ones, and those of archived projects. One query,
    whatever they hold."""
    answers = Message.objects.filter(
        conversation=OuterRef("pk"), active=True, role=Message.Role.ASSISTANT
    ).exclude(text="")
    rows = (
        Conversation.objects.of(user)
        .filter(Q(project=None) | Q(project__archived=False), archived=False, temporary=False)
        .only("title", "updated_at", "compressed_context")
        .annotate(
            answer=Subquery(answers.order_by("-position").values(start=Left("text", OPENING))[:1])
        )
        .order_by("-updated_at")
    )
    return [_describe(row, row.answer or "") for row in rows[:RECENT]]


def _describe(row: Conversation, answer: str) -> Recent:
    outlook = read_outlook(Summary.from_text(row.compressed_context or ""))
    return Recent(row, outlook, "" if outlook else read_opening(answer))
