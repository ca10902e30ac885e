"""How soon the statements of a record go where not all of them fit. Pure."""

import re
from collections import defaultdict
from collections.abc import Sequence, Set
from enum import IntEnum

from agent.audit.evidence import UNVERIFIED, find_citations, strip_citations
from agent.audit.facts.words import find_content_words
from agent.audit.grounding import REPLACED
from agent.compaction.chapters.chapter import Chapter
from agent.compaction.chapters.statements import Statement
from agent.compaction.chapters.superseding import ChapterLine, find_replacement
from agent.search.exact_values import IndexEntry, Weight, normalise

_DONE = re.compile(r"\s*[-*+]\s+\W*(?:done|cancelled|canceled)\b", re.I)
_VALUE = re.compile(r"\d|`")
_WORD = re.compile(r"\w+")
# Two statements that differ in these say the same.
_ARTICLES = frozenset(
    ("a", "an", "the", "der", "die", "das", "den", "el", "la", "los", "le", "les", "o")
)
SHARED = 0.5  # of a decision's words, for a statement to be of it


class Rank(IntEnum):
    """How soon a statement goes."""

    REPLACED = 0
    DONE = 1
    DOUBLED = 2
    UNVERIFIED = 3
    PROSE = 4
    FACT = 5
    VALUE = 6
    TASK = 7
    DECISION = 8
    GOAL = 9
    CHANGE = 10  # what replaced what
    OWN = 11  # a person's


_RANKS = {
    "## goal and constraints": Rank.GOAL,
    "## decisions": Rank.DECISION,
    "## progress": Rank.TASK,
    "## open tasks": Rank.TASK,
    "## open questions": Rank.TASK,
    "## current work and next step": Rank.TASK,
    "## facts and values": Rank.FACT,
    "## files and artifacts": Rank.FACT,
    "## errors and fixes": Rank.FACT,
}


def rank_statements(
    said: Sequence[Statement], of: Sequence[int], chapters: Sequence[Chapter]
) -> list[Rank]:
    """The ranks of statements in the order of the record, each of the chapter in a place `of`
    them."""
    own = [set(chapter.own) for chapter in chapters]
    replaced = _find_replaced(said, of)
    settled = _Settled(chapters)
    said_later: set[tuple[str, ...]] = set()
    ranks: list[Rank] = []
    for at in reversed(range(len(said))):
        text = said[at].text
        spoken = _WORD.findall(strip_citations(text).casefold())
        words = tuple(word for word in spoken if word not in _ARTICLES)
        if text in own[of[at]]:
            rank = Rank.OWN
        elif at in replaced:
            rank = Rank.REPLACED
        elif words in said_later:
            rank = Rank.DOUBLED
        else:
            rank = _rank_by_kind(said[at])
            if Rank.UNVERIFIED < rank < Rank.DECISION and settled.has(text):
                rank = Rank.DECISION
        ranks.append(rank)
        said_later.add(words)
    return ranks[::-1]


class _Settled:
    """What users settled in their own words, by the numbers of the messages."""

    def __init__(self, chapters: Sequence[Chapter]) -> None:
        self._entries: dict[int, list[IndexEntry]] = defaultdict(list)
        for entry in (entry for chapter in chapters for entry in chapter.index):
            if entry.weight:
                self._entries[entry.number].append(entry)

    def has(self, text: str) -> bool:
        """Whether a statement is of it: it has the value, or most words of a decision without."""
        cited = [each for number in find_citations(text) for each in self._entries.get(number, ())]
        said = normalise(strip_citations(text)) if cited else ""
        words = find_content_words(text) if cited else set()
        for entry in cited:
            asked = find_content_words(entry.words)
            if normalise(entry.value) in said or (
                entry.weight == Weight.AGREED and len(words & asked) > SHARED * len(asked)
            ):
                return True
        return False


def _rank_by_kind(said: Statement) -> Rank:
    if UNVERIFIED in said.text:
        return Rank.UNVERIFIED
    if REPLACED.match(said.text):
        return Rank.CHANGE  # without it an older statement would seem to hold
    rank = _RANKS.get(said.heading.casefold(), Rank.PROSE)
    if rank == Rank.TASK and _DONE.match(said.text):
        return Rank.DONE
    if rank == Rank.FACT and _VALUE.search(strip_citations(said.text)):
        return Rank.VALUE
    return rank


def _find_replaced(said: Sequence[Statement], of: Sequence[int]) -> Set[int]:
    """The places of those that say what a later chapter replaced."""
    lines = [ChapterLine.parse(each.text) for each in said]
    found = [(at, find_replacement(line)) for at, line in zip(of, lines, strict=True)]
    later = [(at, each) for at, each in found if each]
    return {
        place
        for place, line in enumerate(lines)
        if any(at > of[place] and line.is_said_by(each) for at, each in later)
    }
