"""Whether a sentence affirms or denies, and which sentence of a text it is to be compared with."""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

from agent.compaction.facts.tables import DENIALS, DENYING, NOT_DENYING
from agent.compaction.facts.words import TOKEN, find_content_words, find_words, is_cjk

ALIKE = 0.6  # share of a bullet's content words that a sentence about the same thing has
CLEARLY = 0.2  # by how much it is nearer than a sentence that says the opposite
MOST_COMPARED = 400  # tokens of two sentences, in all
MOST_NEAR = 40  # sentences whose clauses are compared
MOST_REPLACED = 4  # of them in one place
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|[。！？；।؟\n]+")
_CLAUSE = re.compile(
    r"[,;:،、，：—]|\s[–-]\s|\b(?:but|aber|sondern|mais|pero|mas|но|а|لكن|लेकिन)\b|但是?"
)
_PORTUGUESE = re.compile(r"[ãõç]|\b(?:em|do|da|dos|das|para o|é)\b", re.I)


@dataclass(frozen=True)
class Clause:
    """A sentence, or a part of one."""

    text: str

    @cached_property
    def words(self) -> set[str]:
        return find_content_words(self.text)

    @cached_property
    def denies(self) -> bool:
        return is_denied(self.text)

    @cached_property
    def parts(self) -> list["Clause"]:
        """The sentence itself, and its clauses."""
        parts = _CLAUSE.split(self.text)
        return [self, *map(Clause, filter(str.strip, parts))] if len(parts) > 1 else [self]


def split_sentences(text: str) -> list[Clause]:
    """The sentences of a text, each once."""
    return [Clause(part) for part in dict.fromkeys(_SENTENCE.split(text)) if part.strip()]


def is_denied(text: str) -> bool:
    """Whether something in it is denied, in any of the languages."""
    if DENYING.search(NOT_DENYING.sub("", text)):
        return True
    denials = DENIALS.intersection(find_words(text))
    # In Portuguese "no" is "in the".
    return bool(denials - {"no"}) or (bool(denials) and not _PORTUGUESE.search(text))


def contradicts(bullet: Clause, sentences: list[Clause]) -> bool:
    """Whether the nearest clause denies what the bullet affirms, or the other way round."""
    shared = [len(bullet.words & sentence.words) for sentence in sentences]
    most = max(shared, default=0)
    if most < 2 or most < ALIKE * len(bullet.words):
        return False
    enough = most - CLEARLY * len(bullet.words)
    near = [each for n, each in zip(shared, sentences, strict=True) if n >= max(enough, 1)]
    clauses = [part for each in near[:MOST_NEAR] for part in each.parts]
    # A clause of equally many shared words is nearer than the sentence around it.
    nearest = max(clauses, key=lambda each: (len(bullet.words & each.words), -len(each.text)))
    if nearest.denies == bullet.denies:
        return False
    return not any(
        each.denies == bullet.denies and enough <= len(bullet.words & each.words) < most
        for each in clauses
    )


def find_replaced(bullet: Clause, sentences: list[Clause]) -> dict[str, bool]:
    """What stands in the bullet in the place of something else of the nearest sentence, beside the
    same words, in lower case; True where these are on both sides."""
    nearest = max(sentences, key=lambda each: len(bullet.words & each.words), default=None)
    if nearest is None or len(bullet.words & nearest.words) < 2:
        return {}
    old, new = (TOKEN.findall(text.lower()) for text in (nearest.text, bullet.text))
    if len(old) + len(new) > MOST_COMPARED:
        return {}
    found: dict[str, bool] = {}
    changes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for index, (kind, a0, a1, b0, b1) in enumerate(changes):
        beside = [
            end - start for _, start, end, _, _ in changes[index - 1 if index else 0 : index + 2]
        ]
        beside.remove(a1 - a0)
        short = max(a1 - a0, b1 - b0) <= MOST_REPLACED and min(beside, default=0) >= 2
        if kind == "replace" and short and set(old[a0:a1]).isdisjoint(new):
            between = "" if is_cjk(new[b0]) else " "
            found[between.join(new[b0:b1])] = len(beside) == 2
    return found
