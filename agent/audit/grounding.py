"""Whether the messages bear a statement of a summary out."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil

from agent.audit.derived_values import PRICES
from agent.audit.evidence import (
    GOALS,
    SHARED_WORDS,
    Evidence,
    Source,
    find_citations,
    strip_citations,
)
from agent.audit.facts.alignment import find_nearest
from agent.audit.facts.clauses import Clause, split_sentences
from agent.audit.facts.denial import contradicts
from agent.audit.facts.exchanged import find_swapped
from agent.audit.facts.modality import find_shift
from agent.audit.facts.speakers import find_speaker
from agent.audit.facts.values import Value, find_values
from agent.audit.facts.words import clean, find_content_words
from agent.audit.unsupported_names import find_foreign_names
from agent.messages import AgentMessage, plain_text
from agent.search.exact_values import find_identifiers, is_serial

BULLET = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")
# What no longer holds, and may only have stood in an earlier chapter, is said before the arrow.
REPLACED = re.compile(r"\s*[-*+] Replaced: .*?(?:→|->|=>)")
_TIMES = re.compile(r"\b(?:once|twice|times|thrice) $", re.I)
_INITIALS = re.compile(r"[^\W\d_](?:\.[^\W\d_])+")
LONGEST = 4_000  # characters of one statement: what is longer is none
OPPOSITE = "the messages that it cites say the opposite"
UNRELATED = "it has too few words of the messages that it cites"
SHORTEST_NAME = 20  # characters of an exact name without a letter, such as a telephone number


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found about one statement. `wrong` says what a correction could mend, "" for
    nothing; `held` whether anything supports it; `typed` is False for what is no goal of the
    user's; `missing` are the values and names that are not where they should be."""

    supported: bool
    wrong: str = ""
    held: bool = True
    typed: bool = True
    missing: Sequence[str] = ()


def check_bullet(line: str, source: Source, heading: str) -> Verdict:
    """A bullet under a heading, looked up in the messages that it cites."""
    replaced = REPLACED.match(line)
    holds = line[replaced.end() :] if replaced else BULLET.sub("", line, count=1)
    body = clean(strip_citations(holds))
    cited = [number for number in find_citations(line) if number in source]
    if len(body) > LONGEST:
        return Verdict(False, "it is too long for one statement")
    said = source.look_up(line)
    if heading == GOALS and cited:
        typed = source.look_up_typed(line)
        if not _is_backed(body, typed) and _is_backed(body, said):
            why = "the user did not type it in a message that it cites"
            return Verdict(False, why, typed=False)
        said = typed
    values, exact = find_claims(body)
    missing = list(_find_missing(body, said))
    if not source.unreadable.isdisjoint(cited):
        return Verdict(not missing and _is_backed(body, said))
    statement = Clause(body)
    nearest = None if replaced else find_nearest(statement, said.sentences)
    if not nearest:  # short names are no words
        nearest = find_nearest(statement, said.sentences, least=1)
    names = [] if replaced else find_foreign_names(body, nearest, said, source)
    held = _is_held(body, missing, said, source)
    if not cited:
        return Verdict(False, "it cites no message that you were given", held)
    if lacks := [*missing, *names]:
        why = f"not in the messages that it cites: {', '.join(lacks)}"
        return Verdict(False, why, held, missing=lacks)
    if not replaced and (changed := _find_change(statement, nearest, said, line, source)):
        return Verdict(False, changed)
    if values or exact or _shares_words(body, said):
        return Verdict(True)
    return Verdict(False, UNRELATED, held)


def _find_change(
    statement: Clause, nearest: Clause | None, said: Evidence, line: str, source: Source
) -> str:
    """What a statement changes of the sentence that is nearest to it, "" for nothing."""
    if _is_question(statement.text):  # it claims nothing that could be otherwise
        return ""
    # A statement of several clauses is compared clause by clause.
    clauses = statement.parts[1:] or [statement]
    if any(contradicts(each, said.sentences) for each in clauses):
        return OPPOSITE
    if nearest and (swapped := find_swapped(statement.text, nearest.text)):
        return f"the messages that it cites say it the other way round: {swapped}"
    speaker, writer = find_speaker(statement.text), source.find_writer(line)
    if speaker and writer and speaker != writer:
        return f"the {writer} wrote the messages that it cites, not the {speaker}"
    shift = find_shift(statement, said.sentences)
    return f"the messages that it cites {shift}" if shift else ""


def _is_question(text: str) -> bool:
    return text.rstrip().endswith(("?", "？", "؟")) and len(split_sentences(text)) == 1


def check_sentence(sentence: str, source: Source) -> Verdict:
    """A sentence that cites nothing, looked up in all messages."""
    body = clean(sentence)
    values, exact = find_claims(body[:LONGEST])
    missing = [value.text for value in values if not source.all.says(value)]
    missing += [each for each in exact if not source.all.holds(each)]
    if not missing:
        return Verdict(True)
    some = len(missing) < len(values) + len(exact) or _shares_words(body, source.all)
    return Verdict(False, f"in no message: {', '.join(missing)}", some, missing=missing)


def shares_content(line: str, message: AgentMessage) -> bool:
    """Whether a line shares a value or content words with a message."""
    said, body = Evidence([plain_text(message.blocks)]), clean(strip_citations(line))
    return _is_backed(body, said) or any(map(said.holds, find_identifiers(body)))


@lru_cache(1)  # one bullet is looked up in up to three places
def find_claims(body: str) -> tuple[Sequence[Value], Sequence[str]]:
    """The values of a statement, and what has to stand in a message exactly as it is."""
    found = find_values(body)
    ends = {value.end + 1 for value in found}
    # The article in "$90 a year" is no number of years.
    values = [
        value
        for value in found
        if not (value.loose and (value.is_bare or value.start in ends))
        if not (value.loose and _is_period(value, found, body))
    ]
    exact = [
        each
        for each in find_identifiers(body)
        if not any(each in value.text for value in values) and _is_name(each)
    ]
    return [value for value in values if not any(value.text in each for each in exact)], exact


def _is_period(value: Value, others: Sequence[Value], body: str) -> bool:
    """Whether "a year" beside an amount of money, or after "twice", only says for how long it
    is."""
    units = {unit for unit, _ in value.readings}
    return units <= {"s", "month"} and (
        any(unit in PRICES for other in others for unit, _ in other.readings)
        or _TIMES.search(body, 0, value.start) is not None
    )


def _is_name(exact: str) -> bool:
    """Whether it is more than a part of a value, or a number that is read as one."""
    if _INITIALS.fullmatch(exact):  # "i.e", "z.B"
        return False
    return any(map(str.isalpha, exact)) or len(exact) >= SHORTEST_NAME or is_serial(exact)


def _find_missing(body: str, said: Evidence) -> Iterable[str]:
    values, exact = find_claims(body)
    for value in values:
        if not said.backs(value, body) and not _is_multiplier(value, values, said, body):
            yield value.text
    yield from (each for each in exact if not said.holds(each))


def _is_multiplier(period: Value, values: Sequence[Value], said: Evidence, body: str) -> bool:
    """Whether an amount of money of the statement follows from a period that it names itself, as
    in "half a year costs 5,400" of 900 a month."""
    if not {unit for unit, _ in period.readings} <= {"s", "month"}:
        return False
    prices = [v for v in values if any(unit in PRICES for unit, _ in v.readings)]
    return any(said.backs(each, body) and not said.backs(each) for each in prices)


def _is_held(body: str, missing: list[str], said: Evidence, source: Source) -> bool:
    """Whether anything supports a bullet: a value of it, a word in a cited message, or any message
    that has what the cited ones lack."""
    values, exact = find_claims(body)
    # A small number may be one that the model counted: it supports nothing.
    known = [*(value.text for value in values if not value.is_bare), *exact]
    return (
        not missing
        or any(value.text in missing and said.shares_unit(value) for value in values)
        or any(each not in missing for each in known)
        or not said.words.isdisjoint(find_content_words(body))
        or any(map(source.all.holds, missing))
    )


def _is_backed(body: str, said: Evidence) -> bool:
    """Whether a text shares a value or words with a statement."""
    values, exact = find_claims(body)
    return (
        any(said.backs(value) for value in values if not value.is_bare)
        or any(map(said.holds, exact))
        or _shares_words(body, said)
    )


def _shares_words(body: str, said: Evidence) -> bool:
    words = find_content_words(body)
    return len(words & said.words) >= min(SHARED_WORDS, max(1, ceil(len(words) / 2)))
