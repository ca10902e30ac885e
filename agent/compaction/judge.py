"""Whether the messages bear a statement of a summary out."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from agent.compaction.evidence import (
    GOALS,
    SHARED_WORDS,
    Evidence,
    Source,
    find_citations,
    strip_citations,
)
from agent.compaction.facts.denial import ALIKE, Clause, contradicts, find_replaced
from agent.compaction.facts.names import SPEAKERS, find_caseless, find_names, is_caseless, is_german
from agent.compaction.facts.values import Value, find_values
from agent.compaction.facts.words import clean, find_content_words
from agent.messages import Message, plain_text
from agent.search.values import find_identifiers

BULLET = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")
# What no longer holds, and may only have stood in an earlier chapter, is said before the arrow.
REPLACED = re.compile(r"\s*[-*+] Replaced: .*?(?:→|->|=>)")
LONGEST = 4_000  # characters of one statement: what is longer is none
OPPOSITE = "the messages that it cites say the opposite"
UNRELATED = "it shares no words with the messages that it cites"
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


def judge_bullet(line: str, source: Source, heading: str) -> Verdict:
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
    missing = list(_find_missing(values, exact, said))
    if not source.unreadable.isdisjoint(cited):
        return Verdict(not missing and _is_backed(body, said))
    names = [] if replaced else _find_foreign_names(body, said, source)
    held = _is_held(body, missing, said, source)
    if not cited:
        return Verdict(False, "it cites no message that you were given", held)
    if lacks := [*missing, *names]:
        why = f"not in the messages that it cites: {', '.join(lacks)}"
        return Verdict(False, why, held, missing=lacks)
    # A statement of several clauses is compared clause by clause.
    clauses = Clause(body).parts
    if not replaced and any(contradicts(c, said.sentences) for c in clauses[1:] or clauses):
        return Verdict(False, OPPOSITE)
    related = bool(values or exact) or _shares_words(body, said)
    return Verdict(related, "" if related else UNRELATED)


def judge_sentence(sentence: str, source: Source) -> Verdict:
    """A sentence that cites nothing, looked up in all messages."""
    body = clean(sentence)
    values, exact = find_claims(body[:LONGEST])
    missing = [value.text for value in values if not source.all.says(value)]
    missing += [each for each in exact if not source.all.holds(each)]
    if not missing:
        return Verdict(True)
    some = len(missing) < len(values) + len(exact) or _shares_words(body, source.all)
    return Verdict(False, f"in no message: {', '.join(missing)}", some, missing=missing)


def may_tell(line: str, message: Message) -> bool:
    """Whether a line shares a value or content words with a message."""
    said, body = Evidence([plain_text(message.blocks)]), clean(strip_citations(line))
    return _is_backed(body, said) or any(map(said.holds, find_identifiers(body)))


@lru_cache(1)  # one bullet is looked up in up to three places
def find_claims(body: str) -> tuple[Sequence[Value], Sequence[str]]:
    """The values of a statement, and what has to stand in a message exactly as it is."""
    values = [value for value in find_values(body) if not (value.loose and value.is_bare)]
    exact = [
        each
        for each in find_identifiers(body)
        if not any(each in value.text for value in values) and _is_name(each)
    ]
    return [value for value in values if not any(value.text in each for each in exact)], exact


def _is_name(exact: str) -> bool:
    """Whether it is more than a part of a value, or a number that is read as one."""
    return any(map(str.isalpha, exact)) or len(exact) >= SHORTEST_NAME


def _find_missing(values: Sequence[Value], exact: Sequence[str], said: Evidence) -> Iterable[str]:
    yield from (value.text for value in values if not said.backs(value))
    yield from (each for each in exact if not said.holds(each))


def _is_held(body: str, missing: list[str], said: Evidence, source: Source) -> bool:
    """Whether anything supports a bullet: a value of it, a word in a cited message, or any message
    that has what the cited ones lack."""
    values, exact = find_claims(body)
    # A small number may be one that the model counted: it supports nothing.
    known = [*(value.text for value in values if not value.is_bare), *exact]
    return (
        not missing
        or any(each not in missing for each in known)
        or not said.words.isdisjoint(find_content_words(body))
        or any(map(source.all.holds, missing))
    )


def _find_foreign_names(body: str, said: Evidence, source: Source) -> list[str]:
    """The names that the cited messages do not have, or not in this place."""
    for value in reversed(find_values(body)):
        body = f"{body[: value.start]} # {body[value.end :]}"
    clause = Clause(body)
    replaced = find_replaced(clause, said.sentences)
    alike = len(clause.words & said.words) >= ALIKE * len(clause.words)
    german = is_german(body)
    found = []
    for word, begins in find_names(body):
        capital_says_nothing = begins or german
        absent = not said.names(word) and (
            not capital_says_nothing
            or (german and alike and source.is_rare(word))
            or source.all.knows_name(word)
        )
        if absent or word.lower() in replaced:
            found.append(word)
    # Scripts without capitals show a name only by the place that it has taken, or where it is from.
    found += [
        each
        for each, between in replaced.items()
        if len(each) > 1
        and is_caseless(each)
        and each not in said.text
        and (between or source.is_rare(each))
    ]
    others = find_caseless(body, said.text) if alike else []
    found += [each for each in others if each not in found and source.is_rare(each)]
    return [each for each in found if each not in SPEAKERS]


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
    return len(words & said.words) >= min(SHARED_WORDS, max(1, len(words)))
