"""How a statement is meant: as certain or not, of all or some, as planned or done.

What is compared are closed lists, so that each finding is cheap and can be said in a few words.
None is a proof: who wrote the statement is asked again.
"""

import re
from collections.abc import Sequence

from agent.audit.facts.clauses import Clause, Near
from agent.audit.facts.denial import is_denied
from agent.audit.facts.lexicon import Lexicon
from agent.audit.facts.modal_words import (
    ABOUT,
    ALL,
    DONE,
    DONE_ENDINGS,
    EXCEPT,
    FEW,
    FRENCH_FUTURE,
    FUTURE_ENDINGS,
    FUTURE_VERB,
    HALF,
    HAVING,
    HEDGES,
    INTENDED,
    MANY,
    MAY,
    MOST,
    NOT_DONE,
    ONLY,
    PARTICIPLE,
    ROMANCE_FUTURE,
    SHORTEST_DONE,
    SOME,
    UNSURE,
)
from agent.audit.facts.numerals import FIGURES
from agent.audit.facts.speakers import says
from agent.audit.facts.words import find_words, is_cjk

ALIKE = 0.5  # share of content words: a changed verb takes a few of them
ALIKE_PAIRS = 0.3  # where no spaces tell words apart: each changed character breaks two pairs
LEAST_CHARACTERS = 3  # of a Chinese or Japanese statement, for them to be compared alone
LEAST_SHARED = 3  # words that only a hedged clause has
MOST_NEAR = 20  # clauses
# In this order: "almost all" is most, and "a few" is some.
_QUANTITIES = (HALF, MOST, ALL, MANY, SOME, FEW)
_ALL = (*_QUANTITIES, ONLY, HEDGES, UNSURE, INTENDED, DONE)
# "It would be good to": who says so recommends it.
_ADVICE = re.compile("(?:と|ば|たら)(?:よい|いい|良い)(?:でしょう|と思います|かもしれません)")
_HAS_DIGIT = re.compile(r"\d").search


def is_modal(word: str) -> bool:
    """Whether a word in lower case says only how a statement is meant."""
    return any(lexicon.has(word) for lexicon in _ALL)


def find_shift(statement: Clause, sentences: Sequence[Clause]) -> str:
    """What messages say whose sentences are given, where a statement changes it: "say it with
    “might”"; "" for nothing."""
    parts = statement.parts[1:]
    if not parts or any(len(part.words) < 2 for part in parts):
        parts = [*parts, statement]
    for part in parts:
        near = Near.find(part, sentences, ALIKE_PAIRS if is_cjk(part.text) else ALIKE)
        near = near or _find_by_characters(part, sentences)
        if near and (found := _compare(part, statement, near)):
            return found
    hedge = "" if _is_unsure(statement) else _find_only_hedged(statement, sentences)
    return f"say it with “{hedge}”" if hedge else ""


def _find_by_characters(part: Clause, sentences: Sequence[Clause]) -> Near | None:
    """The sentence that has most characters of a Chinese or Japanese statement, wherever they
    stand in it."""
    said = part.meaning
    if not is_cjk(part.text.strip()) or len(said) < LEAST_CHARACTERS:
        return None
    nearest = max(sentences, key=lambda each: len(said & each.meaning), default=None)
    alike = nearest is not None and len(said & nearest.meaning) >= ALIKE * len(said)
    return Near(nearest, ()) if nearest and alike else None


def _find_only_hedged(statement: Clause, sentences: Sequence[Clause]) -> str:
    """The hedge of a clause that alone has a number of the statement, or some of its words: of
    several sentences that it joins not only the nearest counts."""
    numbers, words = set(FIGURES.findall(statement.text)), statement.meaning
    near = [each for each in sentences if not statement.words.isdisjoint(each.words)]
    if numbers:
        shown = [each for each in sentences if not numbers.isdisjoint(each.figures)]
        near += [each for each in shown if each not in near]
    clauses = [part for each in near for part in each.parts[1:] or [each]]
    for clause in clauses if len(clauses) <= MOST_NEAR else ():
        others = [each for each in clauses if each is not clause]
        own = words & clause.meaning - {word for each in others for word in each.meaning}
        counted = numbers & clause.figures - {n for each in others for n in each.figures}
        alone = counted and (own or len(numbers) == 1)
        if (alone or len(own) >= LEAST_SHARED) and (hedge := _find_hedge(clause)):
            return hedge
    return ""


def _compare(part: Clause, whole: Clause, near: Near) -> str:
    said = near.nearest
    hedge = _find_hedge(said) if all(map(_find_hedge, near.others)) else ""
    if hedge and not _is_unsure(whole):
        return f"say it with “{hedge}”"
    if quantity := _find_quantity_shift(part, whole, said):
        return quantity
    said = _remove_advice(said)
    intended = "" if is_denied(said.text) else said.find(INTENDED) or _find_future(said)
    if intended and _is_done(part, said) and not whole.find(INTENDED) and not _is_done(said, part):
        return f"say it as not done yet (“{intended}”)"
    return ""


def _remove_advice(clause: Clause) -> Clause:
    """A clause without the words that only recommend what it says."""
    text = _ADVICE.sub("", clause.text)
    return clause if text == clause.text else Clause(text, _ADVICE.sub("", clause.around))


def _find_hedge(clause: Clause) -> str:
    clause = _remove_advice(clause)
    # "Nobody may" forbids.
    may = None if is_denied(clause.text) else MAY.search(clause.text)
    return clause.find(HEDGES) or (may[0] if may else "")


def _is_unsure(clause: Clause) -> bool:
    about = ABOUT.search(clause.text)
    return about is not None or bool(_find_hedge(clause) or clause.find(UNSURE))


def _find_quantity_shift(part: Clause, whole: Clause, said: Clause) -> str:
    """All, most, some or only, where the nearest clause has another one of them."""
    claimed, given = (_find_quantity(each) for each in (part, said))
    excepted = said.find(EXCEPT)
    if claimed is ALL and excepted and not whole.find(EXCEPT):
        return f"say it with “{excepted}”"
    only = said.find(ONLY)
    if claimed is SOME and not SOME.find(*part.beginning):
        claimed = None  # in the middle of a sentence it is often no more than an article
    if given and given is not claimed and not whole.find(given):
        # A number may say how many they are.
        dropped = given is not ALL and given.find(*said.beginning) and not _HAS_DIGIT(part.text)
        if (claimed or dropped) and is_denied(part.text) == is_denied(said.text):
            return f"say it of “{said.find(given)}”"
    elif only and claimed in (ALL, MOST):
        return f"say it of “{only}”"
    elif part.find(ONLY) and not only:
        return f"do not say “{part.find(ONLY)}”"
    return ""


def _find_future(clause: Clause) -> str:
    """A verb that its form shows to be in the future: of Arabic the beginning, else the ending."""
    by_ending = (
        word for word in clause.all_words if word.endswith(FUTURE_ENDINGS) or ROMANCE_FUTURE(word)
    )
    form = FUTURE_VERB.search(clause.text) or FRENCH_FUTURE.search(clause.text)
    return next(by_ending, "") or (form[0] if form else "")


def _find_quantity(clause: Clause) -> Lexicon | None:
    return next((each for each in _QUANTITIES if clause.find(each)), None)


def _is_done(clause: Clause, other: Clause) -> bool:
    """Whether it tells of what has come about, in words that the other has not."""
    if clause.find(DONE) or clause.text.rstrip(" 」)）。").endswith("た"):  # Japanese
        return True
    words = set(find_words(clause.text))
    own = words.difference(other.all_words)
    if not HAVING.isdisjoint(words) and any(map(PARTICIPLE.fullmatch, own)):
        return True
    return any(
        len(word) >= SHORTEST_DONE
        and word.endswith(DONE_ENDINGS)
        and word not in NOT_DONE
        and not (INTENDED.has(word) or says(word))
        for word in own
    )
