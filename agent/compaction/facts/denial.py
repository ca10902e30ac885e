"""Whether a sentence affirms or denies what another one says."""

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

from agent.compaction.facts.clauses import ALIKE, Clause, Near
from agent.compaction.facts.modal_words import EXCEPT, INTENDED, NOT_YET
from agent.compaction.facts.opposites import ANY_OF_THEM, DENYING_WORDS, OPPOSITES
from agent.compaction.facts.tables import DENIALS, DENYING, NOT_DENYING
from agent.compaction.facts.words import find_words, is_same_word

_PORTUGUESE = re.compile(r"[ãõç]|\b(?:em|do|da|dos|das|para o|é)\b", re.I)
_ADVICE = re.compile(r"\b(?:would|should|must|may|can|do)(?:n['’]t| not)\b", re.I)
AROUND = 0.6  # share of a statement's words that a denied clause and what is around it have


@lru_cache(1_000)
def is_denied(text: str, around: str = "") -> bool:
    """Whether something in it is denied, in any of the languages; `around` shows which one it is
    in, where it is short."""
    if DENYING.search(NOT_DENYING.sub("", text)):
        return True
    denials = DENIALS.intersection(find_words(text))
    # In Portuguese "no" is "in the".
    return bool(denials - {"no"}) or (
        bool(denials) and not _PORTUGUESE.search(text) and not _PORTUGUESE.search(around)
    )


def contradicts(statement: Clause, sentences: Sequence[Clause]) -> bool:
    """Whether a clause denies what the statement affirms, or the other way round."""
    if find_denied(statement, sentences):
        return True
    near = Near.find(statement, sentences)
    if near and (_is_due(statement, near.nearest) or near.nearest.find(EXCEPT)):
        return False
    if near is None or _agree(statement, near.nearest) or _is_mixed(statement, near.nearest):
        return False
    return not any(_agree(statement, each) for each in near.others)


def _is_due(statement: Clause, said: Clause) -> bool:
    """Whether it says as a task what has not been done yet: "not yet checked", "must be checked"."""
    return bool(said.find(NOT_YET) and statement.find(INTENDED) and not _ADVICE.search(said.text))


def find_denied(statement: Clause, sentences: Sequence[Clause]) -> Sequence[str]:
    """The words that only a denied clause has, where a statement without a denial has them all:
    "covers theft" of "covers accidents, but not theft". Its other words may be those of the
    sentence around the clause, or of the one before, which a pronoun stands for."""
    if statement.find(DENYING_WORDS):
        return []
    said = statement.meaning
    for index, sentence in enumerate(sentences):
        if not is_denied(sentence.text) or is_denied(statement.text, sentence.text):
            continue
        parts = sentence.parts[1:] or [sentence]
        denied = [is_denied(part.text, sentence.text) for part in parts]
        affirmed = [part for part, no in zip(parts, denied, strict=True) if not no]
        before = [sentences[index - 1]] if index else []
        for part in (part for part, no in zip(parts, denied, strict=True) if no):
            own = [each for each in part.meaning if not _has_any(affirmed, each)]
            if not own or not all(has_form(said, each) for each in own):
                continue
            if _is_due(statement, part):
                continue
            shared = sum(_has_any([sentence, *before], each) for each in said)
            elsewhere = (each for each in sentences if not is_denied(each.text))
            if shared >= AROUND * len(said) and not any(
                all(has_form(each.meaning, word) for word in own) for each in elsewhere
            ):
                return own
    return []


def _has_any(clauses: Iterable[Clause], word: str) -> bool:
    return any(has_form(each.meaning, word) for each in clauses)


def has_form(words: Collection[str], word: str) -> bool:
    """Whether a word or another form of it is among some."""
    return word in words or any(is_same_word(word, each) for each in words)


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
