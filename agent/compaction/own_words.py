"""The words of a statement that messages have in no form: it says in its own words what they say,
or something else."""

import re
from collections.abc import Iterable, Iterator, Sequence

from agent.compaction.facts.denial import has_form, is_denied
from agent.compaction.facts.function_words import FUNCTION_WORDS
from agent.compaction.facts.languages import are_in_one_script
from agent.compaction.facts.modality import is_modal
from agent.compaction.facts.names import find_names, find_titled, is_german
from agent.compaction.facts.speakers import SPEAKERS, remove_speakers, says
from agent.compaction.facts.words import IDEOGRAPH, STOP_WORDS, find_words, is_cjk

STEM_PART = 4  # letters that two forms of a word have in common; a script without vowels has fewer
_PAIR = re.compile(rf"(?=({IDEOGRAPH.pattern})({IDEOGRAPH.pattern}))")
_DENYING_PREFIX = re.compile("(?:dis|un|in|im|ir|il|mis|miss|dés|des|не|ना)(.{3,})")


def list_reworded(body: str, doubted: Sequence[str], text: str) -> Iterable[str]:
    """The doubted words of a statement that may be no names, where it has other words too that a
    text has not. Where it has none, a word that the text lacks took the place of one. Another
    script writes each name otherwise."""
    if not are_in_one_script(body, text):
        return doubted
    names = set(find_titled(body))
    if not is_german(body, text):  # whose nouns all have capitals
        names |= {name for name, begins in find_names(body) if not begins}
    words = [each for each in doubted if each not in names]
    return words if _has_own_words(leave_out(body, words), text) else []


def denies_in_its_words(body: str, text: str) -> bool:
    """Whether a statement may deny in a word of its own, such as “refused”, what a text denies by a
    “not”: the text has that word in no form."""
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


def leave_out(text: str, words: Iterable[str]) -> str:
    """A text without some words."""
    for each in words:
        part = re.escape(each)
        text = re.sub(part if is_cjk(each) else rf"(?<!\w){part}(?!\w)", " ", text)
    return text
