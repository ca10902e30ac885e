"""Finding messages again: in one conversation, or in all of a user's. Reads only."""

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db.models import QuerySet

from agent.search import lexical
from agent.search.lexical import Query
from agent.search.signs import find_signs
from chat.engine.attachment_contents import append_file_texts, find_text_file_ids
from chat.models import Conversation, Message
from chat.queries.candidates import find_by_signs, load_all, load_best, load_of_conversation

# Read in full, to put exact values first.
CANDIDATES = 60


class Hit(NamedTuple):
    """A message that was found, its score, and whether it has all that was looked for."""

    message_id: int
    number: int
    role: str
    text: str
    created_at: datetime
    turn_id: int | None
    conversation_id: UUID
    title: str
    left_out: bool
    active: bool
    time_zone: str
    score: float = 0.0
    whole: bool = True


_FIELDS = (
    *("pk", "number", "role", "text", "created_at", "turn"),
    *("conversation", "conversation__title", "left_out", "active", "time_zone"),
)


def find_messages(
    owner_id: int,
    query: Query,
    *,
    conversation_id: UUID | None = None,
    project_ids: Collection[UUID] | None = None,
    limit: int = CANDIDATES,
) -> list[Hit]:
    """The messages on shown branches that fit best, best first: in one conversation, in those of
    projects, or in all of the owner's but temporary ones.

    Empty for somebody else's conversation. A query without a single word is looked for letter by
    letter, newest first.
    """
    within = find_scope(owner_id, conversation_id, project_ids)
    if not query.terms:
        return find_containing(owner_id, query.literal, within, limit)
    ids, documents, holding, worth = (
        load_of_conversation(owner_id, query.terms, conversation_id)
        if conversation_id
        else load_best(owner_id, query)
        if within is None
        else load_all(owner_id, query.terms, within)
    )
    best = lexical.rank(documents, holding, max(limit, CANDIDATES), worth=worth)
    scores = {ids[index]: score for index, score in best}
    hits = [
        hit._replace(score=scores[hit.message_id] * lexical.score_verbatim(query, hit.text))
        for hit in read_hits(Message.objects.filter(pk__in=scores))
    ]
    hits.sort(key=lambda hit: (-hit.score, hit.message_id))
    return hits[:limit]


def find_scope(
    owner_id: int, conversation_id: UUID | None, project_ids: Collection[UUID] | None
) -> QuerySet[Conversation] | None:
    """The conversations that are searched; None for all but temporary ones."""
    owned = Conversation.objects.of(owner_id)
    if conversation_id:
        return owned.filter(pk=conversation_id)
    if project_ids is None:
        return None
    return owned.filter(temporary=False, project__in=project_ids)


def read_hits(rows: QuerySet[Message]) -> list[Hit]:
    hits = [Hit(*values) for values in rows.values_list(*_FIELDS)]
    files = find_text_file_ids([hit.message_id for hit in hits])
    return [
        hit._replace(text=append_file_texts(hit.text, files.get(hit.message_id, ())))
        for hit in hits
    ]


def find_containing(
    owner_id: int,
    text: str,
    within: QuerySet[Conversation] | None,
    limit: int,
    *,
    other_branches: bool = False,
) -> list[Hit]:
    """The newest messages with exactly this text in them, on shown branches or on all. Of all
    conversations only those are read that have its signs."""
    signs = find_signs(text)[: lexical.MOST_TERMS]
    if not signs:
        return []
    searched = Conversation.objects.of(owner_id).filter(temporary=False)
    rows: QuerySet[Message] = Message.objects.filter(
        conversation__in=searched if within is None else within,
        text__contains=text,
    ).exclude(status=Message.Status.STREAMING)
    rows = rows.order_by("-pk")
    if not other_branches:
        rows = rows.filter(active=True)
    if within is not None:
        return read_hits(rows[:limit])
    found: list[Hit] = []
    for ids in find_by_signs(owner_id, signs):
        found += read_hits(rows.filter(pk__in=ids)[: limit - len(found)])
        if len(found) == limit:
            break
    return found
