"""What a person types into a search box: the messages that hold it, and none for their neighbours.

The model's search takes what stands around a hit along, because an answer is found by its question
(`chat.queries.search`). A person who looks for a number wants the messages with that number. Those
on other branches are found too.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from heapq import nlargest
from typing import NamedTuple
from uuid import UUID

from django.db.models import QuerySet

from agent.search import lexical
from agent.search.lexical import Documents, Term
from chat.models import Conversation, Message, SearchEntry
from chat.queries.candidates import RANKED, find_left, find_recent, look_up, meet, place
from chat.queries.fulltext import Condition, find_holders, load_columns
from chat.queries.search import Hit, find_containing, find_scope, read_hits

ALONE = replace(lexical.WEIGHTS, near=0.0, far=0.0)


def find_typed(
    owner_id: int,
    text: str,
    *,
    conversation_id: UUID | None = None,
    project_ids: Collection[UUID] | None = None,
    limit: int,
) -> list[Hit]:
    """The messages with all of the words, best first, those of shown branches before others; where
    there is room, those with some of them (`whole` is False). In one conversation, in those of
    projects, or in all of the owner's but temporary ones.

    What stands together has to stand together there, and the last word may be only begun. A text
    without a word is looked for letter by letter, newest first.
    """
    if project_ids is not None and not project_ids:
        return []
    query, asked = lexical.parse_query(text, typing=True), lexical.list_asked(text)
    within = find_scope(owner_id, conversation_id, project_ids)
    if not asked:
        return find_containing(owner_id, query.literal, within, limit, other_branches=True)
    found = _look_everywhere(owner_id, asked) if within is None else _look(owner_id, asked, within)
    together, counted = found.together, found.counted
    best = nlargest(RANKED, counted, key=lambda each: (each in together, counted[each], each))
    scores = _score(best, found.holding)
    hits = [
        hit._replace(
            score=scores[hit.message_id] * lexical.score_verbatim(query, hit.text),
            whole=hit.message_id in together,
        )
        for hit in read_hits(Message.objects.filter(pk__in=scores))
    ]
    hits.sort(key=lambda hit: (not hit.whole, not hit.active, -hit.score, -hit.message_id))
    return hits[:limit]


class _Found(NamedTuple):
    """Which messages hold each term, which hold all of the words, and how many of them each."""

    holding: Mapping[Term, Sequence[int]]
    together: set[int]
    counted: Counter[int]


def _look_everywhere(owner_id: int, asked: Condition) -> _Found:
    """In all conversations; as far as `chat.queries.candidates` goes."""
    holding, _, together = look_up(owner_id, _list_terms(asked), asked, find_recent(owner_id))
    left = find_left(owner_id)
    counted = _count(asked, holding, lambda message: message not in left)
    together = set(together) - left
    counted.update(dict.fromkeys(together - counted.keys(), len(asked)))
    return _Found(holding, together, counted)


def _look(owner_id: int, asked: Condition, within: QuerySet[Conversation]) -> _Found:
    entries = SearchEntry.objects.filter(conversation__in=within, length__gt=0)
    ids = set(load_columns(entries, "message_id")[0])
    if not ids:
        return _Found({}, set(), Counter())
    holding = find_holders(owner_id, _list_terms(asked), min(ids), max(ids))
    together = ids.intersection(meet(asked, holding))
    return _Found(holding, together, _count(asked, holding, ids.__contains__))


def _list_terms(asked: Condition) -> list[Term]:
    return list(dict.fromkeys(term for terms in asked for term in terms))


def _count(
    asked: Condition, holding: Mapping[Term, Sequence[int]], is_in: Callable[[int], bool]
) -> Counter[int]:
    """How many of the words each message holds."""
    counted: Counter[int] = Counter()
    for terms in asked:
        counted.update({each for term in terms for each in holding.get(term, ())})
    return Counter({message: count for message, count in counted.items() if is_in(message)})


def _score(messages: Sequence[int], holding: Mapping[Term, Sequence[int]]) -> dict[int, float]:
    entries = SearchEntry.objects.filter(message__in=messages)
    rows = list(entries.values_list("message_id", "length", "typed"))
    ids, lengths, typed = zip(*rows, strict=True) if rows else ((), (), ())
    best = lexical.rank(Documents(lengths, typed), place(ids, holding), RANKED, ALONE)
    return {ids[index]: score for index, score in best}
