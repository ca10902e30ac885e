"""What a rule doubts may be borne out by a quote: words of a message that the model gives for it.

Code looks whether the words stand there, whole, and judges the statement once more with nothing but
them and their sentences as its source. So what is certain wins over a quote: a number, a unit, an
identifier or a name that the quote lacks, or a sentence that says the opposite.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from agent.audit.derived_values import follows_from
from agent.audit.evidence import (
    GOALS,
    Evidence,
    Source,
    find_citations,
    remove_citations,
    strip_citations,
)
from agent.audit.facts.clauses import Clause
from agent.audit.facts.denial import find_denied, has_form
from agent.audit.facts.languages import are_in_one_language
from agent.audit.facts.names import find_names
from agent.audit.facts.values import find_values
from agent.audit.facts.words import clean, find_content_words, is_cjk
from agent.audit.grounding import (
    BULLET,
    OPPOSITE,
    UNRELATED,
    Verdict,
    check_bullet,
    check_sentence,
    find_claims,
)
from agent.audit.rewording import denies_in_its_words, list_reworded, remove_words
from agent.audit.word_runs import LONGEST, WordRuns
from agent.authorship.typed import read_typed_words
from agent.context.api_messages import text_block
from agent.messages import AgentMessage, plain_text

SHORTEST = 3  # words of a quote
MOST_QUOTES = 4  # for one statement
AS_NEAR = 0.6  # of the words that a statement shares with the sentence it is doubted for
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=\S)|(?<=[。！？])(?=\S)")


class Given(NamedTuple):
    """Words that are given for a statement, and the numbers of the messages that are said to have
    them."""

    numbers: tuple[int, ...]
    words: str


class Quote(NamedTuple):
    """A statement as it stands in a summary's text, and what bears it out: the number of a message,
    and words as that message has them."""

    said: str
    number: int
    words: str


class Found(NamedTuple):
    """Words in the message where they stand, and the sentences there that they are of."""

    message: AgentMessage
    words: str
    passage: str


class GivenQuotes:
    """What is given for statements, by their texts, and the messages where it is looked for."""

    def __init__(
        self,
        given: Mapping[str, Sequence[Given]] | None = None,
        messages: Sequence[AgentMessage] = (),
    ) -> None:
        self._given = given or {}
        self._messages = {message.number: message for message in messages}
        self._texts: dict[tuple[int, bool], WordRuns] = {}

    @classmethod
    def of(cls, quotes: Iterable[Quote], messages: Sequence[AgentMessage]) -> "GivenQuotes":
        """Those that were found before, for another look at the same statements."""
        given: dict[str, list[Given]] = {}
        for said, number, words in quotes:
            given.setdefault(said, []).append(Given((number,), words))
        return cls(given, messages)

    def __contains__(self, said: object) -> bool:
        return said in self._given

    def find_support(
        self, said: str, heading: str, verdict: Verdict, source: Source
    ) -> list[Found]:
        """The quotes that bear a statement out which a rule doubts, with what it lacks as the
        verdict has it; none where they do not. What no rule doubted may stand elsewhere in the
        messages that it cites. A goal has to be in words that the user typed."""
        found = [] if verdict.supported else self._find_given(said, typed=heading == GOALS)
        if not found:
            return []
        quoted, around = self._make_source(found), self._make_source(found, whole=True)
        numbers = [each.message.number for each in found]
        body = clean(strip_citations(BULLET.sub("", said, count=1)))
        cited = source.look_up(said)
        texts = (plain_text(each.message.blocks) for each in found)
        translated = not are_in_one_language(body, "\n".join(texts))
        computed = _list_computed(body, verdict, quoted.all)
        if not (translated or computed or _is_about(body, verdict, cited, around.all)):
            return []
        there = f"{around.all.text}\n{cited.text}"
        borne = [
            *_list_said_elsewhere(
                body, verdict, cited if BULLET.match(said) else source.all, quoted.all
            ),
            *computed,
            *list_reworded(body, _list_names(body, verdict.missing), there),
        ]
        doubted = remove_words(clean(remove_citations(said)), borne)
        missing = [each for each in verdict.missing if each not in borne]
        lacks = _judge(doubted, heading, quoted, numbers).missing
        names = (each for each in _list_names(body, missing) if not _names(quoted.all, each))
        if not set(missing).isdisjoint([*lacks, *names]):
            return []
        again = _judge(doubted, heading, around, numbers)
        if again.missing and set(again.missing).isdisjoint(verdict.missing):
            # Names only where less is looked at: no rule doubted them in the whole messages.
            again = _judge(remove_words(doubted, again.missing), heading, around, numbers)
        if again.wrong == OPPOSITE:
            return found if denies_in_its_words(remove_words(body, borne), there) else []
        # Lists of words tell nothing of a translation.
        decides = again.wrong == UNRELATED or (translated and not again.missing)
        return found if again.supported or decides else []

    def _make_source(self, found: Sequence[Found], *, whole: bool = False) -> Source:
        """What is quoted, or the `whole` sentences that it is of, as all that the messages say."""
        texts: dict[int, list[str]] = {}
        for message, words, passage in found:
            texts.setdefault(message.number, []).append(passage if whole else words)
        return Source(
            [
                replace(self._messages[n], blocks=[text_block("\n".join(each))], pasted=())
                for n, each in texts.items()
            ]
        )

    def _find_given(self, said: str, *, typed: bool) -> list[Found]:
        """The quotes that stand where they may, and are long enough or have a value of what is
        said."""
        cited = find_citations(said)
        values, exact = find_claims(clean(strip_citations(said)))
        found = []
        for given in self._given.get(said, ())[:MOST_QUOTES]:
            each = self._find(given, cited, typed=typed)
            if each is None:
                continue
            there = Evidence([each.words])
            long = WordRuns(each.words).length >= SHORTEST
            if long or any(map(there.backs, values)) or any(map(there.holds, exact)):
                found.append(each)
        return found

    def _find(self, given: Given, cited: Sequence[int], *, typed: bool) -> Found | None:
        """Where words stand, whole: in a message that is named with them, in one that the statement
        cites, or else in the only one that has them."""
        wanted = WordRuns(given.words).tokens
        if not wanted or len(given.words) > LONGEST:
            return None
        named = [n for n in dict.fromkeys([*given.numbers, *cited]) if n in self._messages]
        for number in named:
            if found := self._read(number, typed).find(wanted):
                return Found(self._messages[number], *found)
        places = (
            Found(message, *found)
            for number, message in self._messages.items()
            if (found := self._read(number, typed).find(wanted))
        )
        first, second = next(places, None), next(places, None)
        return first if second is None else None

    def _read(self, number: int, typed: bool) -> "WordRuns":
        if (number, typed) not in self._texts:
            message = self._messages[number]
            text = plain_text(message.blocks)
            if typed:
                text = read_typed_words(message) if message.is_prompt else ""
            self._texts[number, typed] = WordRuns(text)
        return self._texts[number, typed]


NO_QUOTES = GivenQuotes()


def _list_said_elsewhere(
    body: str, verdict: Verdict, cited: Evidence, quoted: Evidence
) -> Iterable[str]:
    """The claims of a statement that the quotes lack, but the messages that it cites do not."""
    values, exact = find_claims(body)
    elsewhere = [v.text for v in values if cited.backs(v) and not quoted.backs(v)]
    elsewhere += [each for each in exact if cited.holds(each) and not quoted.holds(each)]
    names = (name for name, _ in find_names(body))
    elsewhere += [each for each in names if cited.names(each) and not quoted.names(each)]
    return [each for each in elsewhere if each not in verdict.missing]


def _list_computed(body: str, verdict: Verdict, quoted: Evidence) -> Sequence[str]:
    """The doubted values that follow from the numbers in the quotes. Who chose the quotes chose the
    numbers."""
    values, _ = find_claims(body)
    numbers = [
        value
        for value in find_values(quoted.text)
        if not (value.loose or quoted.text[value.start - 1 : value.start].isupper())  # P2
    ]
    doubted = (value for value in values if value.text in verdict.missing)
    return [each.text for each in doubted if follows_from(each, numbers)]


def _judge(said: str, heading: str, quoted: Source, numbers: Iterable[int]) -> Verdict:
    if not BULLET.match(said):
        return check_sentence(said, quoted)
    return check_bullet(f"{said} [{' '.join(f'#{n}' for n in numbers)}]", quoted, heading)


def _list_names(body: str, missing: Iterable[str]) -> Sequence[str]:
    """Those of what a statement's messages lack that are no values: what is a name, only the whole
    conversation shows."""
    values, exact = find_claims(body)
    claims = {*(value.text for value in values), *exact}
    return [each for each in missing if each not in claims]


def _names(quoted: Evidence, word: str) -> bool:
    """Whether quotes have a name, or of a run of Chinese or Japanese more than half: where a word
    ends in it, code can only guess."""
    there = sum(each in quoted.text for each in word) if is_cjk(word) else 0
    return quoted.names(word) or 2 * there > len(word)


def _is_about(body: str, verdict: Verdict, cited: Evidence, quoted: Evidence) -> bool:
    """Whether quotes are about what a statement is about: they have a word or a name of it, and
    where it is doubted for what the nearest sentence of its messages says, most words that it has
    in common with that one."""
    words = find_content_words(body)
    shared = sum(has_form(quoted.words, word) for word in words)
    if verdict.missing:
        names = (name for name, begins in find_names(body) if not begins)
        return not words or shared > 0 or any(map(quoted.names, names))
    if verdict.wrong == UNRELATED:  # nothing in it is certain: the quote decides
        return True
    denied = find_denied(Clause(body), cited.sentences)
    if not all(has_form(Clause(quoted.text).meaning, each) for each in denied):
        return False
    values, _ = find_claims(body)
    if any(cited.backs(each) and not quoted.backs(each) for each in values):
        return False
    nearest = max((len(words & each.words) for each in cited.sentences), default=0)
    return shared >= AS_NEAR * nearest


def keep_quotes_in(quotes: Iterable[Quote], *texts: str) -> tuple[Quote, ...]:
    """The quotes whose statements stand in one of the texts, word for word."""
    quotes = tuple(quotes)
    stand = {said for text in texts for said in _list_said(text)} if quotes else set()
    return tuple(each for each in dict.fromkeys(quotes) if each.said in stand)


def _list_said(text: str) -> Iterable[str]:
    """The lines of a text, and the sentences of each."""
    for line in text.splitlines():
        stripped = line.strip()
        yield stripped
        yield from SENTENCE_END.split(stripped)
