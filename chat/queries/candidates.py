"""What a search ranks: all messages of one conversation, or the best candidates of all of a user's.

In all conversations what is read does not grow with the number of messages. The newest `RECENT` are
looked through for every term; all are looked through for a term, and for all words together, that
fewer than `FREQUENT` of the newest hold. Of what is found, the `RANKED` messages with the heaviest
terms are ranked, together with their neighbours.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from itertools import chain
from typing import NamedTuple
from uuid import UUID

from django.db.models import F, Q, QuerySet, Sum

from agent.search.lexical import NEIGHBOURS, Documents, Query, Term, weigh_terms
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
READ = 1_000  # to see whether signs stand there as they are looked for
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


def load_of_conversation(owner_id: int, terms: Sequence[Term], conversation_id: UUID) -> Candidates:
    """All messages of a conversation."""
    # By its id, not as one of a set: so the index has them in order.
    entries = SearchEntry.objects.filter(
        conversation=conversation_id, conversation__owner=owner_id, conversation__deleted_at=None
    )
    hidden = Message.objects.filter(conversation=conversation_id, active=False)
    scope = entries.filter(length__gt=0).exclude(message__in=hidden).order_by("position")
    ids, lengths, typed = load_columns(scope, "message_id", "length", "typed")
    found = find_holders(owner_id, terms, min(ids), max(ids)) if ids else {}
    return Candidates(ids, Documents(lengths, typed), place(ids, found))


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
    return Candidates(ids, Documents(lengths, typed), place(ids, found))


def load_best(owner_id: int, query: Query) -> Candidates:
    """Of all conversations the messages with the heaviest terms, and their neighbours."""
    hidden = _find_hidden(owner_id)
    since = find_recent(owner_id)
    found = look_up(owner_id, [*query.terms, *chain.from_iterable(query.words)], query.words, since)
    worth = _weigh(owner_id, query, found)
    near = {
        f"{_NEAR}position__range": (F("position") - NEIGHBOURS, F("position") + NEIGHBOURS),
        f"{_NEAR}length__gt": 0,
    }
    around = SearchEntry.objects.filter(message__in=_choose(found, worth, hidden), **near)
    rows = around.order_by("conversation", f"{_NEAR}position").values_list(*_COLUMNS).distinct()
    shown = _separate(row for row in rows if row[0] not in hidden)
    ids, lengths, typed = zip(*shown, strict=True) if shown else ((), (), ())
    older = [each for each in ids if 0 < each < since]
    missing = find_holders_among(owner_id, [*found.frequent], older) if older else {}
    holding = {term: [*held, *missing.get(term, ())] for term, held in found.holding.items()}
    return Candidates(ids, Documents(lengths, typed), place(ids, holding), worth)


def find_by_signs(owner_id: int, signs: Sequence[str]) -> Iterator[list[int]]:
    """Of all conversations the newest `READ` messages that hold all of these signs: first those
    among the newest of all, then, where they are not enough, the older ones."""
    together: Condition = [[(sign,)] for sign in signs]
    since = find_recent(owner_id)
    (recent,) = find_matches(owner_id, [together], since)
    yield nlargest(READ, recent)
    if since and len(recent) < READ:
        (found,) = find_matches(owner_id, [together])
        yield nlargest(READ - len(recent), (message for message in found if message < since))


def _separate(rows: Iterable[tuple[int, int, bool, UUID, int]]) -> list[tuple[int, int, bool]]:
    """The first three columns, with a gap where messages are no neighbours."""
    separated: list[tuple[int, int, bool]] = []
    before: tuple[UUID | None, int] = None, 0
    for message, length, typed, conversation, position in rows:
        if conversation != before[0] or position - before[1] > NEIGHBOURS:
            separated += [_GAP] * NEIGHBOURS
        separated.append((message, length, typed))
        before = conversation, position
    return separated


class _Found(NamedTuple):
    """Which messages hold each term, of `frequent` ones the newest only; and which all words."""

    holding: Mapping[Term, list[int]]
    frequent: Collection[Term]
    together: Collection[int]


def look_up(owner_id: int, terms: Iterable[Term], words: Condition, since: int) -> _Found:
    """Look for each term, and for all words together, among the newest messages, from `since` on;
    for what few of them hold, among all."""
    terms = [*dict.fromkeys(terms)]
    holding = dict(zip(terms, find_matches(owner_id, _each(terms), since), strict=True))
    together: Collection[int] = meet(words, holding)
    if not since:
        return _Found(holding, (), together)
    scarce = [term for term in terms if len(holding[term]) < FREQUENT]
    frequent = set(terms).difference(scarce)
    holding |= zip(scarce, find_matches(owner_id, _each(scarce)), strict=True)
    if len(together) < FREQUENT:
        known = frequent.isdisjoint(chain.from_iterable(words))
        together = meet(words, holding) if known else find_matches(owner_id, [words])[0]
    return _Found(holding, frequent, together)


def _each(terms: Iterable[Term]) -> list[Condition]:
    return [[[term]] for term in terms]


def meet(words: Condition, holding: Mapping[Term, Iterable[int]]) -> set[int]:
    """The messages that hold all words."""
    return set.intersection(*({id for term in word for id in holding[term]} for word in words))


def _weigh(owner_id: int, query: Query, found: _Found) -> dict[Term, float]:
    """What each term is worth; of a frequent one the newest messages tell how rare it is."""
    number = _count_messages(owner_id)
    share = number / RECENT
    frequencies = {
        term: len(found.holding[term]) * (share if term in found.frequent else 1)
        for term in query.terms
    }
    return weigh_terms(frequencies, number)


def _choose(found: _Found, worth: Mapping[Term, float], hidden: Collection[int]) -> list[int]:
    """The messages with the heaviest terms, the newest of equals."""
    held: dict[int, float] = defaultdict(float)
    for term, weight in worth.items():
        for message in found.holding[term]:
            held[message] += weight
    held |= dict.fromkeys(found.together, sum(worth.values()))
    ids = held.keys() - hidden
    return nlargest(RANKED, ids, key=lambda message: (held[message], message))


def _visible(conversations: QuerySet[Conversation]) -> QuerySet[SearchEntry]:
    """The entries of messages with words, on the branches that are shown."""
    hidden = Message.objects.filter(conversation__in=conversations, active=False)
    entries = SearchEntry.objects.filter(conversation__in=conversations, length__gt=0)
    return entries.exclude(message__in=hidden)


def place(ids: Sequence[int], found: Mapping[Term, Sequence[int]]) -> dict[Term, list[int]]:
    """Where in `ids` the messages stand that hold each term."""
    at_place = dict(zip(ids, range(len(ids)), strict=True)).get
    return {
        term: [at for at in map(at_place, messages) if at is not None]
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
    return {*branches.values_list("pk", flat=True), *find_left(owner_id)}


def find_left(owner_id: int) -> set[int]:
    """The messages in temporary conversations or in deleted ones."""
    owned = Conversation.objects.filter(owner=owner_id)
    left = owned.filter(Q(temporary=True) | Q(deleted_at__isnull=False))
    return set(SearchEntry.objects.filter(conversation__in=left).values_list("pk", flat=True))
