"""Whether a sentence affirms or denies what another one says."""

import re
from collections.abc import Sequence
from functools import lru_cache

from agent.compaction.facts.clauses import ALIKE, Clause, Near
from agent.compaction.facts.opposites import ANY_OF_THEM, OPPOSITES
from agent.compaction.facts.tables import DENIALS, DENYING, NOT_DENYING
from agent.compaction.facts.words import find_words

_PORTUGUESE = re.compile(r"[ãõç]|\b(?:em|do|da|dos|das|para o|é)\b", re.I)


@lru_cache(1_000)
def is_denied(text: str) -> bool:
    """Whether something in it is denied, in any of the languages."""
    if DENYING.search(NOT_DENYING.sub("", text)):
        return True
    denials = DENIALS.intersection(find_words(text))
    # In Portuguese "no" is "in the".
    return bool(denials - {"no"}) or (bool(denials) and not _PORTUGUESE.search(text))


def contradicts(statement: Clause, sentences: Sequence[Clause]) -> bool:
    """Whether the nearest clause denies what the statement affirms, or the other way round."""
    near = Near.find(statement, sentences)
    if near is None or _agree(statement, near.nearest) or _is_mixed(statement, near.nearest):
        return False
    return not any(_agree(statement, each) for each in near.others)


def _is_mixed(statement: Clause, said: Clause) -> bool:
    """Whether only a part of a sentence denies, and not the one that the statement is about."""
    parts = said.parts[1:]
    if len({is_denied(part.text) for part in parts}) < 2:
        return False
    nearest = max(parts, key=lambda part: len(statement.words & part.words))
    return _agree(statement, nearest) or (
        len(statement.words & nearest.words) < ALIKE * len(statement.words)
    )


def _agree(one: Clause, other: Clause) -> bool:
    """Whether both affirm or both deny; "refused" denies beside "agreed"."""
    agree = is_denied(one.text) == is_denied(other.text)
    if not (one.find(ANY_OF_THEM) and other.find(ANY_OF_THEM)):
        return agree
    for affirming, denying in OPPOSITES:
        sides = [(bool(each.find(affirming)), bool(each.find(denying))) for each in (one, other)]
        if all(a != b for a, b in sides) and sides[0] != sides[1]:
            return not agree
    return agree
