"""What a search ranks: all messages of one conversation, or the best candidates of all of a user's.

In all conversations what is read does not grow with the number of messages. The newest `RECENT` are
looked through for every term; all are looked through for a term, and for all words together, that
fewer than `FREQUENT` of the newest hold. Of what is found, the `RANKED` messages with the heaviest
terms are ranked, together with their neighbours.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import nlargest
from typing import NamedTuple
from uuid import UUID

from django.db.models import F, Q, QuerySet, Sum

from agent.search.lexical import APART, Documents, Query, Term, weigh_terms
from chat.models import Conversation, Message, SearchEntry
from chat.queries.fulltext import (
    Condition,
    find_holders,
    find_holders_among,
    find_matches,
    load_columns,
)

RECENT = 10_000
FREQUENT = 100
RANKED = 200
_NEAR = "conversation__searchentry__"
_COLUMNS = (
    *(f"{_NEAR}message_id", f"{_NEAR}length", f"{_NEAR}typed"),
    *("conversation_id", f"{_NEAR}position"),
)
_GAP = (0, 0, False)  # message, length, typed: between messages that are not neighbours


class Candidates(NamedTuple):
    """Message ids, their columns, which of them hold each term, and what a term is worth (None:
    what its frequency here makes of it)."""

    ids: Sequence[int]
    documents: Documents
    holding: Mapping[Term, Sequence[int]]
    worth: Mapping[Term, float] | None = None


def find_recent(owner_id: int) -> int:
    """The id of the message with which the owner's newest begin; 0 where all belong to them."""
    # As a range: for one owner PostgreSQL would walk through everybody's newest.
    of_owner = SearchEntry.objects.filter(owner__gte=owner_id, owner__lte=owner_id)
    ids = of_owner.order_by("-owner_id", "-message_id")
    return ids.values_list("message_id", flat=True)[RECENT - 1 : RECENT].first() or 0


def load_conversation(owner_id: int, terms: Sequence[Term], conversation_id: UUID) -> Candidates:
    """All messages of a conversation."""
    mine = Conversation.objects.of(owner_id).filter(pk=conversation_id)
    scope = _visible(mine).order_by("position")
    ids, lengths, typed = load_columns(scope, "message_id", "length", "typed")
    found = find_holders(owner_id, terms, min(ids), max(ids)) if ids else {}
    return Candidates(ids, Documents(lengths, typed), _place(ids, found))


def load_all(
    owner_id: int, terms: Sequence[Term], conversations: QuerySet[Conversation]
) -> Candidates:
    """All messages of several conversations."""
    scope = _visible(conversations).order_by("conversation", "position")
    columns = ("message_id", "length", "typed", "conversation_id", "position")
    shown = _separate(scope.values_list(*columns).iterator(chunk_size=2000))
    if not shown:
        return Candidates((), Documents((), ()), {})
    ids, lengths, typed = zip(*shown, strict=True)
    found = find_holders(owner_id, terms, min(filter(None, ids)), max(ids))
    return Candidates(ids, Documents(lengths, typed), _place(ids, found))


def load_best(owner_id: int, query: Query) -> Candidates:
    """Of all conversations the messages with the heaviest terms, and their neighbours."""
    hidden = _find_hidden(owner_id)
    best, worth = _choose(owner_id, query, hidden)
    near = f"{_NEAR}position__range"
    around = SearchEntry.objects.filter(
        message__in=best, **{near: (F("position") - APART, F("position") + APART)}
    )
    rows = around.order_by("conversation", f"{_NEAR}position").values_list(*_COLUMNS).distinct()
    shown = _separate(row for row in rows if row[0] not in hidden)
    ids, lengths, typed = zip(*shown, strict=True) if shown else ((), (), ())
    found = find_holders_among(owner_id, query.terms, [each for each in ids if each])
    return Candidates(ids, Documents(lengths, typed), _place(ids, found), worth)


def _separate(rows: Iterable[tuple[int, int, bool, UUID, int]]) -> list[tuple[int, int, bool]]:
    """The first three columns, with a gap where messages are no neighbours."""
    separated: list[tuple[int, int, bool]] = []
    before: tuple[UUID | None, int] = None, 0
    for message, length, typed, conversation, position in rows:
        if conversation != before[0] or position - before[1] > APART:
            separated += [_GAP] * APART
        separated.append((message, length, typed))
        before = conversation, position
    return separated


def _choose(
    owner_id: int, query: Query, hidden: Collection[int]
) -> tuple[list[int], dict[Term, float]]:
    """The messages with the heaviest terms, the newest of equals; and what each term is worth."""
    conditions: list[Condition] = [[[term]] for term in query.terms]
    since = find_recent(owner_id)
    recent = find_matches(owner_id, [*conditions, query.words], since)
    scarce = [index for index, ids in enumerate(recent) if len(ids) < FREQUENT] if since else []
    everywhere = find_matches(owner_id, [[*conditions, query.words][index] for index in scarce])
    found = dict(enumerate(recent)) | dict(zip(scarce, everywhere, strict=True))
    number = _count_messages(owner_id)
    share = number / RECENT if since else 1
    frequencies = {
        term: len(found[index]) * (1 if index in scarce else share)
        for index, term in enumerate(query.terms)
    }
    worth = weigh_terms(frequencies, number)
    held: dict[int, float] = defaultdict(float)
    for index, term in enumerate(query.terms):
        for message in found[index]:
            held[message] += worth[term]
    for message in found[len(query.terms)]:
        held[message] = sum(worth.values())
    ids = held.keys() - hidden
    return nlargest(RANKED, ids, key=lambda message: (held[message], message)), worth


def _visible(conversations: QuerySet[Conversation]) -> QuerySet[SearchEntry]:
    """The entries of messages on the branches that are shown."""
    hidden = Message.objects.filter(conversation__in=conversations, active=False)
    return SearchEntry.objects.filter(conversation__in=conversations).exclude(message__in=hidden)


def _place(ids: Sequence[int], found: Mapping[Term, Sequence[int]]) -> dict[Term, list[int]]:
    """Where in `ids` the messages stand that hold each term."""
    place = {message: index for index, message in enumerate(ids)}
    return {
        term: [place[message] for message in messages if message in place]
        for term, messages in found.items()
    }


def _count_messages(owner_id: int) -> int:
    """About how many messages an owner has: deleted ones and other branches count too."""
    total = Conversation.objects.filter(owner=owner_id).aggregate(all=Sum(F("next_number") - 1))
    return total["all"] or 0


def _find_hidden(owner_id: int) -> set[int]:
    """The messages that no search in all conversations finds: on other branches, in temporary
    conversations or in deleted ones."""
    owned = Conversation.objects.filter(owner=owner_id)
    branches = Message.objects.filter(conversation__in=owned, active=False)
    left = owned.filter(Q(temporary=True) | Q(deleted_at__isnull=False))
    passing = SearchEntry.objects.filter(conversation__in=left)
    return {*branches.values_list("pk", flat=True), *passing.values_list("pk", flat=True)}
