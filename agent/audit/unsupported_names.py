"""Names in a statement that the messages that it cites do not have, or not in this place."""

import re
from collections.abc import Sequence
from itertools import takewhile

from agent.audit.evidence import Evidence, Source
from agent.audit.facts.alignment import BESIDE, Replaced, find_replaced
from agent.audit.facts.clauses import ALIKE, Clause
from agent.audit.facts.denial import is_denied
from agent.audit.facts.function_words import FUNCTION_WORDS
from agent.audit.facts.lexicon import Lexicon
from agent.audit.facts.modality import is_modal
from agent.audit.facts.names import (
    complete_cjk_name,
    find_caseless,
    find_names,
    find_titled,
    has_surname,
    is_german,
    is_hiragana,
    is_label,
    stands_in,
)
from agent.audit.facts.opposites import ANY_OF_THEM, DENYING_WORDS
from agent.audit.facts.speakers import SPEAKERS
from agent.audit.facts.tables import CJK_DIGITS
from agent.audit.facts.values import find_values
from agent.audit.facts.words import (
    IDEOGRAPH,
    TOKEN,
    find_content_words,
    is_caseless,
    is_cjk,
    is_same_word,
    strip_article,
)

SAMPLE = 500  # characters of a message that show its language
_AT = re.compile(r"\b(in|aus|nach|bei|von|mit|für) ([A-ZÄÖÜ]\w+)")
_HINDI = re.compile("[\u0900-\u097f]")
# Before these a Hindi verb stands, as at the end of a sentence.
_AUXILIARIES = Lexicon.parse("चाहिए जाए जाएँ दें दे लें ले रखें रहा रही रहे सके सकें हो हों होगा होगी")
_LABEL = re.compile(r"^\s*[^\W\d]+\s?[:：]\s*")  # "Plan: …"
_WEAK = re.compile("[اأإآءىيوةتنسم]")  # Arabic letters that forms of one root have or have not
_PARTICIPLES = re.compile("ال.{3,}(?:ين|ون|ات)$")  # "those who left"
_NEGATION = re.compile("n['’]t$")
_PARTICLES = "のはがをにでともへや"  # with which no Japanese name begins
_AFTER_NAME = frozenset("はがをにへと")
CLOSE = 2  # words that a statement and a sentence share for it to be about the same
MOST_WORDS = 2  # of a name in a script without capitals
MOST_CHARACTERS = 4
BESIDE_END = 3  # equal words that fix a place at a sentence's end; twice as many characters


def find_foreign_names(
    body: str, nearest: Clause | None, said: Evidence, source: Source
) -> list[str]:
    """Those that are absent or took the place of something else of the nearest sentence, as they
    are written."""
    values = [value for value in find_values(body) if not value.loose]
    replaced = find_replaced(_LABEL.sub("", body), nearest.text) if nearest else []
    if nearest and len(Clause(body).words & nearest.words) < CLOSE:
        replaced = [each for each in replaced if len(each.old) == len(each.new) == 1]
    for value in reversed(values):
        body = f"{body[: value.start]} # {body[value.end :]}"
    words = find_content_words(body)
    alike = len(words & said.words) >= ALIKE * len(words)
    found = _find_with_capitals(body, replaced, said, source, alike)
    # Scripts without capitals show a name only by the place that it has taken, or where it is from.
    measured = {token for value in values for token in TOKEN.findall(value.text.lower())}
    for each in replaced:
        if not measured.issuperset(each.new) and (name := _read_caseless(each, said, source)):
            found.append(name)
    found += [each for each in find_titled(body) if each not in said.text and each not in found]
    others = find_caseless(body, said.text) if alike else []
    found += [
        each
        for each in others
        if each not in found and _may_name(each) and source.is_rare(each)
        if not (is_hiragana(each) or each[0] in CJK_DIGITS or each[-1] in CJK_DIGITS)
        if not (_HINDI.match(each) and _is_verb_place(TOKEN.findall(body.partition(each)[2])))
    ]
    return [each for each in found if each not in SPEAKERS and not is_denied(each)]


def _may_name(word: str) -> bool:
    """Whether a word of a script without capitals may be a part of a name."""
    if word.isdigit() or word in FUNCTION_WORDS or word in SPEAKERS or is_modal(word):
        return False
    return _PARTICIPLES.match(word) is None


def _find_with_capitals(
    body: str, replaced: list[Replaced], said: Evidence, source: Source, alike: bool
) -> list[str]:
    german = is_german(body, said.text[:SAMPLE])
    words = set(TOKEN.findall(body.lower())) - FUNCTION_WORDS
    # What was there before may only have moved.
    exchanged = {each.text for each in replaced if each.old and words.isdisjoint(each.old)}
    placed = {word for each in replaced for word in each.new}
    found = []
    for word, begins in find_names(body):
        lowered = _NEGATION.sub("", word.lower())
        absent = not (said.names(word) or (german and said.has_parts(word)))
        if begins and (
            lowered in FUNCTION_WORDS or is_modal(lowered) or _denies_or_affirms(lowered)
        ):
            continue
        if begins:  # its capital says nothing
            after = body[body.find(word) + len(word) :]
            instead = lowered in placed and not is_label(word, after)
            foreign = absent and (source.all.knows_name(word) or instead)
            foreign = foreign and not said.has_stem(word)
        elif german:
            rare = alike and source.is_rare(word)
            foreign = absent and (
                rare or source.all.knows_name(word) or _is_elsewhere(word, body, said)
            )
            foreign = foreign or lowered in exchanged
        else:
            foreign = absent or lowered in exchanged
        if foreign:
            found.append(word)
    return found


def _is_elsewhere(word: str, body: str, said: Evidence) -> bool:
    """Whether it stands behind a preposition behind which the messages have another name."""
    return any(
        match[2] == word
        and (other := re.search(rf"\b{match[1]} ([A-ZÄÖÜ]\w+)", said.text))
        and other[1] not in body
        for match in _AT.finditer(body)
    )


def _read_caseless(replaced: Replaced, said: Evidence, source: Source) -> str:
    """What may be a name in the place of another one, "" for nothing."""
    if not replaced.old or not is_caseless(replaced.text):
        return ""
    new = [word for word in replaced.new if _may_name(word)]
    new = [word for word in new if not any(_is_inflected(word, old) for old in replaced.old)]
    if not new or is_modal(replaced.text) or is_modal("".join(replaced.old)):
        return ""
    if is_cjk(new[0]):
        name = replaced.text
        if name[0] in _PARTICLES or len(IDEOGRAPH.findall(name)) < len(name):
            return ""
        if len(name) == 1:
            name = complete_cjk_name(
                replaced.before, name, replaced.after
            ) or _complete_in_japanese(replaced)
        least = 2 * BESIDE_END
        likely = 0 < len(name) <= MOST_CHARACTERS and not is_hiragana(name)
    else:
        name, least = " ".join(new), BESIDE_END
        likely = len(new) <= MOST_WORDS and all(len(word) > 1 for word in new)
    if not likely or stands_in(name, said.text) or _denies_or_affirms(name):
        return ""
    if _HINDI.match(name) and _is_verb_place(replaced.after):
        return ""
    around = len(replaced.before) + len(replaced.after)
    # A Chinese surname shows a person's name in the place of another one.
    person = has_surname(name) and has_surname("".join(replaced.old))
    alone = replaced.alone and around >= BESIDE
    fixed = not replaced.ends or around >= least or person or alone
    return name if fixed or source.is_rare(name) else ""


def _is_verb_place(after: Sequence[str]) -> bool:
    return not after or _AUXILIARIES.has(after[0])


def _denies_or_affirms(word: str) -> bool:
    return DENYING_WORDS.has(word) or ANY_OF_THEM.has(word)


def _complete_in_japanese(replaced: Replaced) -> str:
    """A name of which one character changed: it stands between a particle and another one, and all
    else is equal."""
    if not replaced.alone or len(replaced.before) + len(replaced.after) < 2 * BESIDE_END:
        return ""
    before = [*takewhile(_is_kanji, reversed(replaced.before))][::-1]
    after = [*takewhile(_is_kanji, replaced.after)]
    follows = "".join(replaced.after[len(after) :][:1])
    name = "".join([*before, replaced.text, *after])
    return name if 0 < len(name) <= MOST_CHARACTERS and follows in _AFTER_NAME else ""


def _is_kanji(character: str) -> bool:
    return is_cjk(character) and not is_hiragana(character)


def _is_inflected(one: str, other: str) -> bool:
    """Whether two words are forms of one."""
    one, other = strip_article(one), strip_article(other)
    holds = one in other or other in one
    if "\u0620" <= one[0] <= "\u06ff":
        roots = _WEAK.sub("", one), _WEAK.sub("", other)
        holds = holds or (roots[0] == roots[1] and len(roots[0]) > 1)
    return is_same_word(one, other) or (holds and min(len(one), len(other)) > 2)
