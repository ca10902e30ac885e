"""Finding messages again: in one conversation, or in all of a user's. Reads only."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db.models import QuerySet

from agent.search import lexical
from agent.search.lexical import Documents, Query, Term
from chat.models import Conversation, Message, SearchEntry
from chat.queries.attachments import append_file_texts, find_text_file_ids
from chat.queries.fulltext import find_holders, load_columns

# Read in full, to put exact values first.
CANDIDATES = 60
GAP = [0] * lexical.APART  # between two conversations


class Hit(NamedTuple):
    """A message that was found, and its score."""

    message_id: int
    number: int
    role: str
    text: str
    created_at: datetime
    turn_id: int | None
    conversation_id: UUID
    title: str
    score: float = 0.0


_FIELDS = (
    *("pk", "number", "role", "text", "created_at", "turn"),
    *("conversation", "conversation__title"),
)


def find_messages(
    owner_id: int, query: Query, *, conversation_id: UUID | None = None, limit: int = CANDIDATES
) -> list[Hit]:
    """The messages on shown branches that fit best, best first; without `conversation_id` in all
    of the owner's conversations but temporary ones.

    Empty for somebody else's conversation. A query without a single word is looked for letter by
    letter, newest first.
    """
    if not query.terms:
        return _containing(owner_id, query.literal, conversation_id, limit)
    ids, documents, holding = _documents(owner_id, query.terms, conversation_id)
    best = lexical.rank(documents, holding, max(limit, CANDIDATES))
    scores = {ids[index]: score for index, score in best}
    hits = [
        hit._replace(score=scores[hit.message_id] * lexical.score_verbatim(query, hit.text))
        for hit in _hits(Message.objects.filter(pk__in=scores))
    ]
    hits.sort(key=lambda hit: (-hit.score, hit.message_id))
    return hits[:limit]


def _conversations(owner_id: int, conversation_id: UUID | None) -> QuerySet[Conversation]:
    """The conversations that are searched."""
    owned = Conversation.objects.filter(owner=owner_id)
    return owned.filter(pk=conversation_id) if conversation_id else owned.filter(temporary=False)


def _hits(rows: QuerySet[Message]) -> list[Hit]:
    hits = [Hit(*values) for values in rows.values_list(*_FIELDS)]
    files = find_text_file_ids([hit.message_id for hit in hits])
    return [
        hit._replace(text=append_file_texts(hit.text, files.get(hit.message_id, ())))
        for hit in hits
    ]


def _documents(
    owner_id: int, terms: Sequence[Term], conversation_id: UUID | None
) -> tuple[Sequence[int], Documents, dict[Term, list[int]]]:
    """What is searched: message ids, their columns, and which of them hold each term."""
    conversations = _conversations(owner_id, conversation_id)
    hidden = Message.objects.filter(conversation__in=conversations, active=False)
    scope = SearchEntry.objects.filter(conversation__in=conversations)
    scope = scope.exclude(message__in=hidden).order_by("conversation", "position")
    ids, lengths, typed = load_columns(scope, "message_id", "length", "typed")
    if not ids:
        return (), Documents((), ()), {}
    found = find_holders(owner_id, terms, min(ids), max(ids))
    for start in [] if conversation_id else reversed(_starts(scope)):
        for column in (ids, lengths, typed):
            column[start:start] = GAP
    place = {message: index for index, message in enumerate(ids)}
    holding = {
        term: [place[message] for message in messages if message in place]
        for term, messages in found.items()
    }
    return ids, Documents(lengths, typed), holding


def _starts(scope: QuerySet[SearchEntry]) -> list[int]:
    """Where another conversation begins."""
    (positions,) = load_columns(scope, "position")
    return [at for at in range(1, len(positions)) if positions[at] <= positions[at - 1]]


def _containing(owner_id: int, text: str, conversation_id: UUID | None, limit: int) -> list[Hit]:
    """The newest messages with exactly this text in them."""
    if not text:
        return []
    rows: QuerySet[Message] = Message.objects.filter(
        active=True,
        conversation__in=_conversations(owner_id, conversation_id),
        text__contains=text,
    ).exclude(status=Message.Status.STREAMING)
    return _hits(rows.order_by("-pk")[:limit])
