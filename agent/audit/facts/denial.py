"""Whether a sentence affirms or denies what another one says."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from agent.audit.facts.clauses import ALIKE, Clause, Near
from agent.audit.facts.modal_words import EXCEPT, INTENDED, NOT_YET
from agent.audit.facts.opposites import ANY_OF_THEM, DENYING_WORDS, OPPOSITES, WITHOUT
from agent.audit.facts.tables import DENIALS, DENYING, DENYING_VERBS, NOT_DENYING, PORTUGUESE
from agent.audit.facts.words import (
    IDEOGRAPH,
    find_content_words,
    find_words,
    is_japanese,
    is_same_word,
    make_stem,
)

_NO = re.compile(r"\bno\b", re.I)
_ADVICE = re.compile(r"\b(?:would|should|must|may|can|do)(?:n['’]t| not)\b", re.I)
AROUND = 0.6  # share of a statement's words that a denied clause and what is around it have


@lru_cache(1_000)
def is_denied(text: str, around: str = "") -> bool:
    """Whether something in it is denied, in any of the languages; `around` shows which one it is
    in, where it is short."""
    if around:
        return is_denied(text) and not (
            PORTUGUESE.search(around) and not is_denied(_NO.sub("", text))
        )
    words = find_words(text)
    if DENIALS.isdisjoint(words) and not (DENYING.search(text) or DENYING_VERBS.search(text)):
        return False  # most texts, seen at once
    text = NOT_DENYING.sub("", text)
    denials = DENIALS.intersection(find_words(text))
    if denials == {"no"} and PORTUGUESE.search(text):  # "in the"
        denials = frozenset()
    return bool(denials or DENYING.search(text)) != bool(DENYING_VERBS.search(text))


def contradicts(statement: Clause, sentences: Sequence[Clause]) -> bool:
    """Whether a clause denies what the statement affirms, or the other way round."""
    if find_denied(statement, sentences) or _has_opposite(statement, sentences):
        return True
    if _is_affirmed(statement, sentences):
        return True
    near = Near.find(statement, sentences)
    if near and (_is_due(statement, near.nearest) or near.nearest.find(EXCEPT)):
        return False
    if near and statement.find(WITHOUT) and is_denied(near.nearest.text):
        return False
    if near is None or _agree(statement, near.nearest) or _is_mixed(statement, near.nearest):
        return False
    return not any(_agree(statement, each) for each in near.others)


def _has_opposite(statement: Clause, sentences: Sequence[Clause]) -> bool:
    """Whether it has all words of a sentence but for one, which says the opposite: "allowed" where
    that one says "forbidden"."""
    if not statement.find(ANY_OF_THEM):
        return False
    near = [each for each in sentences if not statement.words.isdisjoint(each.words)]
    for affirming, denying in OPPOSITES:
        for one, other in ((affirming, denying), (denying, affirming)):
            if not (word := statement.find(one)) or statement.find(other):
                continue
            rest = statement.words - find_content_words(word)
            for each in near:
                if rest and rest <= each.words and each.find(other) and not each.find(one):
                    return _denies(statement) == _denies(each)
    return False


def _is_due(statement: Clause, said: Clause) -> bool:
    """Whether it says as a task what has not been done yet: "must be checked"."""
    return bool(said.find(NOT_YET) and statement.find(INTENDED) and not _ADVICE.search(said.text))


def find_denied(statement: Clause, sentences: Sequence[Clause]) -> Collection[str]:
    """The words that only a denied clause has, where a statement without a denial has them all:
    "covers theft" of "covers accidents, but not theft". Its other words may be those of the
    sentence around the clause, or of the one before, which a pronoun stands for."""
    for index, sentence in enumerate(sentences):
        if statement.words.isdisjoint(sentence.words) or not is_denied(sentence.text):
            continue
        if is_denied(statement.text, sentence.text) or statement.find(DENYING_WORDS):
            continue
        around = [sentence, *sentences[max(0, index - 1) : index]]
        shared = sum(_has_any(around, each) for each in statement.meaning)
        if shared < AROUND * len(statement.meaning):
            continue
        for own in _list_denied(statement, sentence):
            affirmed = (each for each in sentences if not is_denied(each.text))
            if not any(_has_all(each, own) for each in affirmed):
                return own
    return ()


def _is_affirmed(statement: Clause, sentences: Sequence[Clause]) -> bool:
    """Whether a clause affirms what the statement denies: the word behind its “not” stands in it,
    and all others beside it or in the sentence before, which a pronoun stands for. Not where any
    clause denies that word."""
    if not is_denied(statement.text) or statement.find(ANY_OF_THEM):
        return False
    denied = find_denied_word(statement)
    clauses = [part for each in sentences for part in each.parts[1:] or [each]]
    having = [each for each in clauses if denied and _has_any([each], denied)]
    if any(is_denied(each.text) or each.find(ANY_OF_THEM) or each.find(WITHOUT) for each in having):
        return False
    return bool(having) and any(
        _has_any([sentence], denied)
        and all(_has_any([sentence, before], each) for each in statement.meaning)
        for before, sentence in pairwise([Clause(""), *sentences])
    )


def find_denied_word(statement: Clause) -> str:
    """The word of a statement that its denial is about: the first one with a meaning behind it; in
    Japanese the last character before it."""
    words = find_words(statement.text)
    places = [n for n, word in enumerate(words) if is_denied(word)]
    behind = words[places[0] :] if len(places) == 1 else ()
    found = (stem for word in behind if (stem := make_stem(word)) in statement.meaning)
    denying = DENYING.search(statement.text)
    if denying and is_japanese(denying[0]):
        return next(reversed(IDEOGRAPH.findall(statement.text[: denying.start()])), "")
    return next(found, "")


def _list_denied(statement: Clause, sentence: Clause) -> Iterator[Collection[str]]:
    """The words of each denied clause of a sentence that its other clauses have not, where a
    statement has them."""
    parts = sentence.parts[1:] or [sentence]
    affirmed = [part for part in parts if not is_denied(part.text, sentence.text)]
    for part in parts:
        if part in affirmed or _is_due(statement, part):
            continue
        yet = {make_stem(word) for word in part.all_words if NOT_YET.has(word)}
        own = [each for each in part.meaning - yet if not _has_any(affirmed, each)]
        if own and _has_all(statement, own):
            yield own


def _denies(clause: Clause) -> bool:
    """With the asides, in which `Clause.find` looks too."""
    return is_denied(clause.around or clause.text)


def _has_all(clause: Clause, words: Iterable[str]) -> bool:
    return all(has_form(clause.meaning, each) for each in words)


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
            return _denies(one) != _denies(other)
    return agree
