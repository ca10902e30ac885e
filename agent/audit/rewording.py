"""The words of a statement that messages have in no form: it says in its own words what they say,
or something else."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from agent.audit.facts.clauses import Clause, split_sentences
from agent.audit.facts.denial import find_denied_word, has_form, is_denied
from agent.audit.facts.function_words import FUNCTION_WORDS
from agent.audit.facts.languages import are_in_one_script
from agent.audit.facts.modality import is_modal
from agent.audit.facts.names import find_names, find_titled, is_german
from agent.audit.facts.speakers import SPEAKERS, remove_speakers, says
from agent.audit.facts.words import IDEOGRAPH, STOP_WORDS, find_words, is_caseless, is_cjk

STEM_PART = 4  # letters that two forms of a word share; one fewer in a script without vowels
_PAIR = re.compile(rf"(?=({IDEOGRAPH.pattern})({IDEOGRAPH.pattern}))")
_GERMAN_ARTICLE = re.compile(
    "(?:d(?:er|ie|as|en|em|es)|(?:k?ein|[mds]ein|ihr|unser)(?:e[nmrs]?)?|[ai]m|[ai]ns|beim|vom|zu[mr])"
)
_DENYING_PREFIX = re.compile("(?:dis|un|in|im|ir|il|mis|miss|dés|des|не|ना)(.{3,})")


def list_reworded(body: str, doubted: Sequence[str], text: str) -> Sequence[str]:
    """The doubted words of a statement that may be no names, where it has other words too that a
    text has not. Where it has none, a word that the text lacks took the place of one. Another
    script writes each name otherwise."""
    if not are_in_one_script(body, text):
        return doubted
    if is_german(body, text):  # whose nouns all have capitals, and mostly an article
        nouns = [each for each in doubted if _has_article(each, body)]
        return nouns or _list_unlike_names(body, doubted, text, find_titled(body))
    names = [name for name, begins in find_names(body) if not begins]
    return _list_unlike_names(body, doubted, text, [*names, *find_titled(body)])


def _list_unlike_names(
    body: str, doubted: Sequence[str], text: str, names: Collection[str]
) -> Sequence[str]:
    words = [each for each in doubted if each not in names]
    return words if _has_own_words(remove_words(body, words), text) else []


def _has_article(noun: str, body: str) -> bool:
    before = body[: body.find(noun)].split()
    return bool(before) and _GERMAN_ARTICLE.fullmatch(before[-1].lower()) is not None


def denies_in_its_words(body: str, text: str) -> bool:
    """Whether one of a statement and a text may deny in a word of its own, such as “refused”, what
    the other one denies by a “not”: the other one has that word in no form."""
    if is_denied(body) == is_denied(text):
        return False
    statement = Clause(body)
    clauses = [part for each in split_sentences(text) for part in each.parts[1:] or [each]]
    if is_denied(text):
        denied = filter(None, map(find_denied_word, clauses))
        same = any(has_form(statement.meaning, each) for each in denied)
        return not same and _has_own_words(body, text)
    nearest = max(clauses, key=lambda each: len(statement.words & each.words))
    return _has_own_words(nearest.text, body)


def _has_own_words(body: str, text: str) -> bool:
    """Whether a text has a content word that another one has in no form; of Chinese and Japanese
    two characters."""
    text = text.casefold()
    there = find_words(text)
    words = (part for word in find_words(body) for part in re.split("['’]", word))
    others = (word for word in words if len(word) >= _size_part(word) and not _is_grammar(word))
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
    size = _size_part(word)
    return (word[at : at + size] for at in range(max(1, len(word) - size + 1)))


def _size_part(word: str) -> int:
    return STEM_PART - is_caseless(word)


def remove_words(text: str, words: Iterable[str]) -> str:
    """A text without some words."""
    for each in words:
        part = re.escape(each)
        text = re.sub(part if is_cjk(each) else rf"(?<!\w){part}(?!\w)", " ", text)
    return text
