"""What a rule doubts may be borne out by a quote: words of a message that the model gives for it.

Code looks whether the words stand there, whole, and judges the statement once more with nothing but
them and their sentences as its source. So what is certain wins over a quote: a number, a unit, an
identifier or a name that the quote lacks, or a sentence that says the opposite.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from agent.compaction.computed import follows_from
from agent.compaction.evidence import (
    GOALS,
    Evidence,
    Source,
    find_citations,
    remove_citations,
    strip_citations,
)
from agent.compaction.facts.clauses import Clause
from agent.compaction.facts.denial import find_denied, has_form, is_denied
from agent.compaction.facts.function_words import FUNCTION_WORDS
from agent.compaction.facts.languages import are_in_one_language, are_in_one_script
from agent.compaction.facts.modality import is_modal
from agent.compaction.facts.names import find_names, find_titled, is_german
from agent.compaction.facts.speakers import SPEAKERS, remove_speakers, says
from agent.compaction.facts.values import find_values
from agent.compaction.facts.words import (
    IDEOGRAPH,
    STOP_WORDS,
    clean,
    find_content_words,
    find_words,
    is_cjk,
)
from agent.compaction.judge import (
    BULLET,
    OPPOSITE,
    UNRELATED,
    Verdict,
    find_claims,
    judge_bullet,
    judge_sentence,
)
from agent.compaction.pins import read_own_words
from agent.compaction.word_runs import LONGEST, WordRuns
from agent.context.history import text_block
from agent.messages import Message, plain_text

SHORTEST = 3  # words of a quote
MOST_QUOTES = 4  # for one statement
AS_NEAR = 0.6  # of the words that a statement shares with the sentence it is doubted for
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=\S)|(?<=[。！？])(?=\S)")
STEM_PART = 4  # letters that two forms of a word have in common; a script without vowels has fewer
_PAIR = re.compile(rf"(?=({IDEOGRAPH.pattern})({IDEOGRAPH.pattern}))")
_DENYING_PREFIX = re.compile("(?:dis|un|in|im|ir|il|mis|miss|dés|des|не|ना)(.{3,})")


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

    message: Message
    words: str
    passage: str


class GivenQuotes:
    """What is given for statements, by their texts, and the messages where it is looked for."""

    def __init__(
        self, given: Mapping[str, Sequence[Given]] | None = None, messages: Sequence[Message] = ()
    ) -> None:
        self._given = given or {}
        self._messages = {message.number: message for message in messages}
        self._texts: dict[tuple[int, bool], WordRuns] = {}

    @classmethod
    def of(cls, quotes: Iterable[Quote], messages: Sequence[Message]) -> "GivenQuotes":
        """Those that were found before, for another look at the same statements."""
        given: dict[str, list[Given]] = {}
        for said, number, words in quotes:
            given.setdefault(said, []).append(Given((number,), words))
        return cls(given, messages)

    def __contains__(self, said: object) -> bool:
        return said in self._given

    def bear_out(self, said: str, heading: str, verdict: Verdict, source: Source) -> list[Found]:
        """The quotes that bear a statement out which a rule doubts, with what it lacks as the
        verdict has it; none where they do not. What no rule doubted may stand elsewhere in the
        messages that it cites. A goal has to be in words that the user typed."""
        found = [] if verdict.supported else self._find_given(said, typed=heading == GOALS)
        if not found:
            return []
        quoted, around = self._make_source(found), self._make_source(found, whole=True)
        numbers = [each.message.number for each in found]
        body = clean(strip_citations(BULLET.sub("", said, count=1)))
        translated = not are_in_one_language(body, around.all.text)
        if not (translated or _is_about(said, verdict, source, around.all)):
            return []
        borne = [
            *_list_said_elsewhere(said, verdict, source, quoted.all),
            *_list_computed(body, verdict, quoted.all),
            *_list_reworded(body, verdict, around.all.text, source.look_up(said).text),
        ]
        doubted = _leave_out(said, borne)
        lacks = _judge(doubted, heading, quoted, numbers).missing
        missing = [each for each in verdict.missing if each not in borne]
        lacks = [*lacks, *_list_names_not_in(body, missing, quoted.all)]
        if not set(lacks).isdisjoint(missing):
            return []
        again = _judge(doubted, heading, around, numbers)
        in_own_words = again.wrong == OPPOSITE and _denies_in_its_words(
            doubted, f"{around.all.text}\n{source.look_up(said).text}"
        )
        return found if again.supported or again.wrong == UNRELATED or in_own_words else []

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
                text = read_own_words(message) if message.is_prompt else ""
            self._texts[number, typed] = WordRuns(text)
        return self._texts[number, typed]


NO_QUOTES = GivenQuotes()


def _leave_out(said: str, borne: Iterable[str]) -> str:
    """A statement without its citations and without what is borne out already."""
    left = clean(remove_citations(said))
    for each in borne:
        part = re.escape(each)
        left = re.sub(part if is_cjk(each) else rf"(?<!\w){part}(?!\w)", " ", left)
    return left


def _list_said_elsewhere(
    said: str, verdict: Verdict, source: Source, quoted: Evidence
) -> Iterable[str]:
    """The claims of a statement that the quotes lack, but the messages that it cites do not."""
    body = clean(strip_citations(BULLET.sub("", said, count=1)))
    around = source.look_up(said) if BULLET.match(said) else source.all
    values, exact = find_claims(body)
    elsewhere = [v.text for v in values if around.backs(v) and not quoted.backs(v)]
    elsewhere += [each for each in exact if around.holds(each) and not quoted.holds(each)]
    names = (name for name, _ in find_names(body))
    elsewhere += [each for each in names if around.names(each) and not quoted.names(each)]
    return [each for each in elsewhere if each not in verdict.missing]


def _list_computed(body: str, verdict: Verdict, quoted: Evidence) -> Iterable[str]:
    """The doubted values that follow from the numbers in the quotes. Who chose the quotes chose the
    numbers."""
    values, _ = find_claims(body)
    numbers = [value for value in find_values(quoted.text) if not value.loose]
    doubted = (value for value in values if value.text in verdict.missing)
    return [each.text for each in doubted if follows_from(each, numbers)]


def _list_reworded(body: str, verdict: Verdict, quoted: str, cited: str) -> Iterable[str]:
    """The doubted words that may be no names, in a statement that has other words too than the
    quotes and the messages that it cites: where it has none, a word that they lack took the place
    of one."""
    names = set(find_titled(body))
    # In German all nouns have capitals, and another script writes a name otherwise.
    if are_in_one_script(body, quoted) and not is_german(body, quoted):
        names |= {name for name, begins in find_names(body) if not begins}
    claims = _list_claims(body)
    words = [each for each in verdict.missing if each not in names and each not in claims]
    return words if _has_own_words(_leave_out(body, words), f"{quoted}\n{cited}") else []


def _judge(said: str, heading: str, quoted: Source, numbers: Iterable[int]) -> Verdict:
    if not BULLET.match(said):
        return judge_sentence(said, quoted)
    return judge_bullet(f"{said} [{' '.join(f'#{n}' for n in numbers)}]", quoted, heading)


def _list_names_not_in(body: str, missing: Sequence[str], quoted: Evidence) -> list[str]:
    """The doubted names that quotes lack: what is a name, only the whole conversation shows."""
    claims = _list_claims(body)
    return [each for each in missing if each not in claims and not _names(quoted, each)]


def _list_claims(body: str) -> set[str]:
    values, exact = find_claims(body)
    return {*(value.text for value in values), *exact}


def _names(quoted: Evidence, word: str) -> bool:
    """Whether quotes have a name, or of a run of Chinese or Japanese more than half: where a word
    ends in it, code can only guess."""
    there = sum(each in quoted.text for each in word) if is_cjk(word) else 0
    return quoted.names(word) or 2 * there > len(word)


def _is_about(said: str, verdict: Verdict, source: Source, quoted: Evidence) -> bool:
    """Whether quotes are about what a statement is about: they have a word or a name of it, and
    where it is doubted for what the nearest sentence of its messages says, most words that it has
    in common with that one."""
    body = clean(strip_citations(BULLET.sub("", said, count=1)))
    words = find_content_words(body)
    shared = sum(has_form(quoted.words, word) for word in words)
    if verdict.missing or verdict.wrong == UNRELATED:
        names = (name for name, begins in find_names(body) if not begins)
        return not words or shared > 0 or any(map(quoted.names, names))
    said_there = source.look_up(said)
    denied = find_denied(Clause(body), said_there.sentences)
    if not all(has_form(Clause(quoted.text).meaning, each) for each in denied):
        return False
    values, _ = find_claims(body)
    if any(said_there.backs(each) and not quoted.backs(each) for each in values):
        return False
    nearest = max((len(words & each.words) for each in said_there.sentences), default=0)
    return shared >= AS_NEAR * nearest


def _denies_in_its_words(said: str, text: str) -> bool:
    """Whether a statement may deny in a word of its own, such as “refused”, what a text denies by a
    “not”: the text has that word in no form."""
    body = clean(strip_citations(said))
    return not is_denied(body) and is_denied(text) and _has_own_words(body, text)


def _has_own_words(body: str, text: str) -> bool:
    """Whether a text has a content word that another one has in no form; of Chinese and Japanese
    two characters."""
    text = text.casefold()
    there = find_words(text)
    words = (part for word in find_words(body) for part in re.split("['’]", word))
    others = (word for word in words if len(word) >= STEM_PART and not _is_grammar(word))
    pairs = (
        one + two
        for one, two in _PAIR.findall(remove_speakers(body))
        if one not in text and two not in text
    )
    return not all(map(_is_grammar, pairs)) or any(
        _has_prefix(word, there)
        or (not any(part in text for part in _split_stems(word)) and not has_form(there, word))
        for word in others
    )


def _has_prefix(word: str, there: Sequence[str]) -> bool:
    """Whether it denies by its beginning a word that stands there: "dislikes" of "not like"."""
    match = _DENYING_PREFIX.match(word)
    return match is not None and has_form(there, match[1])


def _is_grammar(word: str) -> bool:
    """Whether it says nothing of its own, or only who said it."""
    return (
        word in STOP_WORDS
        or word in FUNCTION_WORDS
        or word in SPEAKERS
        or says(word)
        or is_modal(word)
    )


def _split_stems(word: str) -> Iterator[str]:
    """The parts of a word of which its other forms have one."""
    size = STEM_PART if word[0] < "\u0590" else STEM_PART - 1
    return (word[at : at + size] for at in range(max(1, len(word) - size + 1)))


def keep_standing(quotes: Iterable[Quote], *texts: str) -> tuple[Quote, ...]:
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
